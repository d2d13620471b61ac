package slipway_test

import (
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure.
func TestEffective(t *testing.T) {
	t.Parallel()
	week := []time.Weekday{time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday}
	office := slipway.PoolSchedule{Days: week, From: "08:00", To: "18:00", TimeZone: "Europe/Berlin", Minimum: 2, Spare: 1}
	night := slipway.PoolSchedule{Days: []time.Weekday{time.Friday}, From: "22:00", To: "06:00", TimeZone: "UTC", Minimum: 3}
	lunch := slipway.PoolSchedule{Days: week, From: "11:00", To: "13:00", TimeZone: "Europe/Berlin", Minimum: 1, Spare: 4}
	early := slipway.PoolSchedule{Days: []time.Weekday{time.Sunday}, From: "02:00", To: "03:00", TimeZone: "Europe/Berlin", Minimum: 5}
	whole := slipway.PoolSchedule{Days: []time.Weekday{time.Saturday}, From: "00:00", To: "00:00", TimeZone: "America/New_York", Minimum: 6}
	at := func(s string) time.Time {
		t.Helper()
		out, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct {
		name           string
		schedules      []slipway.PoolSchedule
		now            string
		minimum, spare int
	}{
		{"none", nil, "2027-03-04T12:00:00Z", 0, 0},
		{"within, by the clock of its zone in winter", []slipway.PoolSchedule{office}, "2027-03-04T07:00:00Z", 2, 1},
		{"before", []slipway.PoolSchedule{office}, "2027-03-04T06:59:59Z", 0, 0},
		{"in summer the same hour is earlier in UTC", []slipway.PoolSchedule{office}, "2027-07-01T06:00:00Z", 2, 1},
		{"its end is outside", []slipway.PoolSchedule{office}, "2027-07-01T16:00:00Z", 0, 0},
		{"not on its day", []slipway.PoolSchedule{office}, "2027-03-06T12:00:00Z", 0, 0},
		{"over midnight, the evening", []slipway.PoolSchedule{night}, "2027-03-05T23:00:00Z", 3, 0},
		{"over midnight, the morning after", []slipway.PoolSchedule{night}, "2027-03-06T05:59:00Z", 3, 0},
		{"but not the morning of its own day", []slipway.PoolSchedule{night}, "2027-03-05T05:00:00Z", 0, 0},
		{"of two the highest value of each", []slipway.PoolSchedule{office, lunch}, "2027-03-04T10:30:00Z", 2, 4},
		{"an hour that spring leaves out never comes", []slipway.PoolSchedule{early}, "2027-03-28T01:00:00Z", 0, 0},
		{"an hour that autumn repeats holds the first time", []slipway.PoolSchedule{early}, "2027-10-31T00:30:00Z", 5, 0},
		{"and the second", []slipway.PoolSchedule{early}, "2027-10-31T01:30:00Z", 5, 0},
		{"from midnight to midnight is the whole day", []slipway.PoolSchedule{whole}, "2027-03-06T17:00:00Z", 6, 0},
		{"to the last minute of its zone", []slipway.PoolSchedule{whole}, "2027-03-07T04:59:00Z", 6, 0},
		{"and not one longer", []slipway.PoolSchedule{whole}, "2027-03-07T05:00:00Z", 0, 0},
		{"never more than the pool may have", []slipway.PoolSchedule{{Days: week, From: "00:00", To: "23:59", TimeZone: "UTC", Minimum: 99, Spare: 99}}, "2027-03-04T12:00:00Z", 8, 8},
	} {
		minimum, spare, err := slipway.PoolSpec{Replicas: 8, Schedules: c.schedules}.Effective(at(c.now))
		if err != nil || minimum != c.minimum || spare != c.spare {
			t.Errorf("%s: %d and %d, %v; want %d and %d", c.name, minimum, spare, err, c.minimum, c.spare)
		}
	}
	broken := slipway.PoolSchedule{Days: week, From: "08:00", To: "18:00", TimeZone: "Mars/Olympus", Minimum: 7}
	minimum, _, err := slipway.PoolSpec{Replicas: 8, Minimum: 1, Schedules: []slipway.PoolSchedule{broken, office}}.Effective(at("2027-03-04T12:00:00Z"))
	if err == nil || minimum != 2 {
		t.Errorf("with one that cannot be read: %d, %v; want the other's 2 and an error", minimum, err)
	}
}
