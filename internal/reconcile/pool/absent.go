package pool

import "time"

// absence is something that was not listed, or was listed without a slot.
type absence struct {
	pool int64
	kind absenceKind
	name string
}

type absenceKind int

const (
	noPod absenceKind = iota
	noRegistration
	silent
	jobless
	strayPod
	strayRegistration
	askedToEnd // it is still there for all we know, and we are waiting for its absence
)

const (
	// goneAfter is how long something must have been missing from whole lists before it
	// counts as gone.
	goneAfter = 20 * time.Second
	// silentAfter is how long an idle runner may be offline: its node may come back.
	silentAfter = time.Minute
	// joblessAfter is how long whole lists must have shown a busy runner without a job until
	// that is believed. The forge's word on it is late and may be wrong for a minute; a job
	// whose deliveries were lost is found within ten, when the forge is asked for its jobs.
	joblessAfter = 15 * time.Minute
	// strayAfter is how long something without a slot is left alone. What is younger may
	// have been made between a list and the look at the slots.
	strayAfter = time.Minute
)

// since notes whether a list, asked for at a time, shows an absence, and returns for how
// long lists have shown it without a break. A process that is new has seen none yet, and
// begins anew.
func (r *Reconciler) since(a absence, shown bool, at time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !shown {
		delete(r.absent, a)
		return 0
	}
	first, ok := r.absent[a]
	if !ok || at.Before(first) {
		r.absent[a], first = at, at
	}
	return at.Sub(first)
}

// forgetAbsences drops what was noted of names that are of no interest any more.
func (r *Reconciler) forgetAbsences(pool int64, keep func(absence) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a := range r.absent {
		if a.pool == pool && !keep(a) {
			delete(r.absent, a)
		}
	}
}
