package pool

import (
	"fmt"
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Effective is the pool's minimum and spare at a moment: its own, or those of the
// schedules that hold then. Of several the highest value counts. It is an error when a
// schedule cannot be read; what could be read counts all the same.
//
// A window goes by the clock on the wall of its time zone. In the hour that is skipped in
// spring it is later at once; in the hour that comes twice in autumn it holds twice.
func Effective(spec slipway.PoolSpec, now time.Time) (minimum, spare int, err error) {
	minimum, spare = spec.Minimum, spec.Spare
	held := false
	for _, s := range spec.Schedules {
		in, fault := holds(s, now)
		if fault != nil {
			err = fault
			continue
		}
		if !in {
			continue
		}
		if !held {
			minimum, spare, held = s.Minimum, s.Spare, true
			continue
		}
		minimum, spare = max(minimum, s.Minimum), max(spare, s.Spare)
	}
	return min(minimum, spec.Replicas), min(spare, spec.Replicas), err
}

// holds reports whether a window of the week is open.
func holds(s slipway.PoolSchedule, now time.Time) (bool, error) {
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		return false, fmt.Errorf("schedule: the time zone %q is not known: %w", s.TimeZone, err)
	}
	from, err := minutes(s.From)
	if err != nil {
		return false, err
	}
	to, err := minutes(s.To)
	if err != nil {
		return false, err
	}
	wall := now.In(zone)
	at := wall.Hour()*60 + wall.Minute()
	today := onDay(s, wall.Weekday())
	if from < to {
		return today && at >= from && at < to, nil
	}
	yesterday := onDay(s, (wall.Weekday()+6)%7)
	return today && at >= from || yesterday && at < to, nil
}

func onDay(s slipway.PoolSchedule, d time.Weekday) bool { return slices.Contains(s.Days, d) }

func minutes(clock string) (int, error) {
	if clock == "24:00" {
		return 24 * 60, nil
	}
	t, err := time.Parse("15:04", clock)
	if err != nil {
		return 0, fmt.Errorf("schedule: %q is no time of day such as 08:00", clock)
	}
	return t.Hour()*60 + t.Minute(), nil
}
