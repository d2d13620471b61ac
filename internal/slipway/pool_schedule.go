package slipway

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Effective is the pool's minimum and spare at a moment: its own, or those of the
// schedules that hold then. Of several the highest value counts. It is an error when a
// schedule cannot be read; what could be read counts all the same.
//
// A window goes by the clock on the wall of its time zone. In the hour that is skipped in
// spring it is later at once; in the hour that comes twice in autumn it holds twice.
func (s PoolSpec) Effective(now time.Time) (minimum, spare int, err error) {
	minimum, spare = s.Minimum, s.Spare
	held := false
	for _, w := range s.Schedules {
		in, fault := holds(w, now)
		if fault != nil {
			err = fault
			continue
		}
		if !in {
			continue
		}
		if !held {
			minimum, spare, held = w.Minimum, w.Spare, true
			continue
		}
		minimum, spare = max(minimum, w.Minimum), max(spare, w.Spare)
	}
	return min(minimum, s.Replicas), min(spare, s.Replicas), err
}

// holds reports whether a window of the week is open.
func holds(s PoolSchedule, now time.Time) (bool, error) {
	zone, err := zone(s.TimeZone)
	if err != nil {
		return false, err
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

// zones are the time zones that were read, by name. Under a ceiling each look at a pool asks
// for the schedules of all, and reading a zone from disk takes longer than the rest of that.
var zones sync.Map

func zone(name string) (*time.Location, error) {
	if known, ok := zones.Load(name); ok {
		if z, ok := known.(*time.Location); ok {
			return z, nil
		}
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("schedule: the time zone %q is not known: %w", name, err)
	}
	zones.Store(name, z)
	return z, nil
}

func onDay(s PoolSchedule, d time.Weekday) bool { return slices.Contains(s.Days, d) }

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
