package api

import "time"

// when returns a time for the wire, nil for the zero time that says "not yet".
func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
