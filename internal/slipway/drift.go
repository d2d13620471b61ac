package slipway

import "time"

// Drift is what the last looks at the cluster found of an application: where it differs
// from what Slipway last applied. Package observe alone writes it.
//
// A difference is said when two looks in a row have seen it. A look that told nothing
// leaves what was found before as it was, and says why.
type Drift struct {
	ApplicationID int64
	Revision      int64     // the applied revision that was compared with
	LookedAt      time.Time // when the last look began, whatever came of it; zero: never
	CheckedAt     time.Time // when the last look began that told something; zero: never
	Missed        string    // why the last look told nothing; empty: it told something
	Found         []Difference
	Suspected     []Difference // seen once
	Unable        []string     // what could not be compared, and why
	Since         time.Time    // since when something differs; zero when nothing does
}

// The kinds of events about drift; both name the application.
const (
	EventDrift   = "application.drift"   // what is known of its drift changed
	EventChecked = "application.checked" // it was looked at, and nothing else is new
)

// Settled reports whether a look that began at a time or later has had its say: what it
// has seen once was looked for again.
func (d Drift) Settled(since time.Time) bool {
	return !d.LookedAt.IsZero() && !d.LookedAt.Before(since) && (d.Missed != "" || len(d.Suspected) == 0)
}

// DriftState sums a Drift up in one word.
type DriftState string

const (
	DriftUnknown DriftState = "unknown" // nobody has looked yet, or no look has told anything
	DriftNone    DriftState = "none"
	Drifted      DriftState = "drifted"
)

// State is what the last look that told something says.
func (d Drift) State() DriftState {
	switch {
	case len(d.Found) > 0:
		return Drifted
	case d.CheckedAt.IsZero():
		return DriftUnknown
	}
	return DriftNone
}

// DifferenceKind says in what way an object differs.
type DifferenceKind string

const (
	DiffMissing DifferenceKind = "missing" // it was applied and is gone
	DiffChanged DifferenceKind = "changed" // a field is not as it was applied
	DiffExtra   DifferenceKind = "extra"   // it carries our labels and no change made it
)

// Difference is one thing that is not as it was applied. Values are for people: cut, and
// without secrets.
type Difference struct {
	Object    string         `json:"object"` // Deployment web
	Component string         `json:"component,omitempty"`
	Kind      DifferenceKind `json:"kind"`
	Path      string         `json:"path,omitempty"` // in words: image of container web
	Applied   string         `json:"applied,omitempty"`
	Live      string         `json:"live,omitempty"`
	Hidden    bool           `json:"hidden,omitempty"` // the values are secret, and are not shown
	By        string         `json:"by,omitempty"`     // which program wrote the object last: kubectl-edit
}

// Repairable reports whether a repair puts it right. An object that no change made may be
// anybody's, so it is shown and left alone.
func (d Difference) Repairable() bool { return d.Kind != DiffExtra }

// Text says the difference in one line, without the object's name.
func (d Difference) Text() string {
	none := func(s string) string {
		if s == "" {
			return "not set"
		}
		return s
	}
	switch {
	case d.Kind == DiffMissing:
		return "is missing"
	case d.Kind == DiffExtra:
		return "was made by no change"
	case d.Hidden:
		return d.Path + " differs"
	}
	return d.Path + ": " + none(d.Applied) + " → " + none(d.Live)
}
