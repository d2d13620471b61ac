package observe

import (
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Sight is what one look has seen.
type Sight struct {
	Began       time.Time
	Revision    int64 // the applied one, with which the cluster was compared
	Differences []slipway.Difference
	Unable      []string
	Missed      string // why it saw nothing; the rest then says nothing
}

// Judge makes of what was known and what was seen what is known now. It calls nobody.
//
// What is seen for the first time is suspected; seen again, it is found. What is not seen
// any more is forgotten: unlike a list that may be partial, a comparison names each object
// that it looked for. Differences of another revision say nothing of this one.
func Judge(was slipway.Drift, s Sight) slipway.Drift {
	now := was
	now.LookedAt, now.Missed = s.Began, s.Missed
	if s.Missed != "" {
		now.Suspected = nil // two sightings must follow each other
		return now
	}
	before := slices.Concat(was.Found, was.Suspected)
	if was.Revision != s.Revision {
		before, now.Since = nil, time.Time{}
	}
	now.Revision, now.Unable, now.Found, now.Suspected = s.Revision, s.Unable, nil, nil
	for _, d := range s.Differences {
		if slices.ContainsFunc(before, func(b slipway.Difference) bool { return sameThing(b, d) }) {
			now.Found = append(now.Found, d)
		} else {
			now.Suspected = append(now.Suspected, d)
		}
	}
	switch {
	case len(now.Found) == 0:
		now.Since = time.Time{}
	case now.Since.IsZero():
		now.Since = s.Began
	}
	if len(now.Suspected) == 0 {
		now.CheckedAt = s.Began
	}
	return now
}

// sameThing reports whether two differences are in one place, whatever stands there.
func sameThing(a, b slipway.Difference) bool {
	return a.Object == b.Object && a.Kind == b.Kind && a.Path == b.Path
}

// news reports whether readers must be told: a page that only learns that it was looked
// again need not be drawn anew.
func news(was, now slipway.Drift) bool {
	return was.Missed != now.Missed || was.State() != now.State() ||
		!slices.Equal(was.Found, now.Found) || !slices.Equal(was.Unable, now.Unable)
}
