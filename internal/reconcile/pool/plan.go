package pool

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Snapshot is what is known of one pool at one moment.
type Snapshot struct {
	Pool   slipway.RunnerPool
	Slots  []slipway.Slot // those that are not closed
	Demand int            // queued jobs that fall to this pool; see Assign
	Oldest time.Time      // since when the job of Demand waits that waits longest
	Room   int            // runners that the ceilings above the pool still allow; see Divide
	Hold   Hold           // launching waits, because it failed
	Barred string         // why nothing can be launched at all, such as an outdated runner; empty: nothing bars
	Now    time.Time
}

// Hold delays launching after failures.
type Hold struct {
	Until time.Time
	Why   string
}

// Next is what a pool's plan says.
type Next struct {
	Launch int       // new slots
	Drain  []SlotEnd // slots whose registration is to be taken away
	Close  []SlotEnd // slots that have nothing outside yet
	State  slipway.PoolState
	Why    string        // what people read beside State; may be empty
	Again  time.Duration // look again after this, though nothing happens; never 0
}

// SlotEnd is a slot that must go, and why.
type SlotEnd struct {
	Slot   int64
	Reason string
}

const (
	// registerWithin is how long a pod or machine may take until its runner is seen.
	registerWithin = 10 * time.Minute
	// configuredWithin is how long a configuration may wait for its pod: GitHub forgets it
	// after an hour.
	configuredWithin = 45 * time.Minute
	// settled is how soon a pool is looked at again when nothing is expected, and expecting
	// when something is.
	settled, expecting = 30 * time.Second, 2 * time.Second
)

// Plan says what a pool needs. It calls nobody: the same snapshot always gives the same
// answer, in whatever order its slots stand.
//
// Need is counted, and no runner belongs to a job: free runners serve whichever job comes.
// A slot that leaves counts against the limit until nothing of it is left outside.
func Plan(s Snapshot) Next {
	var n Next
	slots := slices.SortedFunc(slices.Values(s.Slots), func(a, b slipway.Slot) int { return cmp.Compare(a.ID, b.ID) })
	var busy, leaving int
	var free []slipway.Slot
	for _, slot := range slots {
		reason := s.mustGo(slot)
		switch {
		case slot.State == slipway.SlotDraining || slot.State == slipway.SlotRemoving:
			leaving++
		case reason != "" && slot.State == slipway.SlotWanted:
			n.Close = append(n.Close, SlotEnd{slot.ID, reason})
		case reason != "":
			n.Drain = append(n.Drain, SlotEnd{slot.ID, reason})
			leaving++
		case slot.State == slipway.SlotBusy:
			busy++
		default:
			free = append(free, slot)
		}
	}

	want := s.Pool.FreeWanted(s.Demand, busy, s.Now)
	s.shrink(&n, free, want)
	missing := max(0, want-len(free))
	n.Launch = max(0, min(missing, s.Pool.Spec.Replicas-busy-leaving-len(free), s.Room))
	if s.Barred != "" || s.Now.Before(s.Hold.Until) {
		n.Launch = 0
	}
	n.State, n.Why = s.state(n, busy, len(free), leaving, missing, unbegun(free))
	if n.Why == "" {
		n.Why = s.passedOver(free)
	}
	n.Again = s.again(n, leaving, free)
	return n
}

// mustGo says why a slot cannot stay, whatever the demand; it is empty for one that can.
func (s Snapshot) mustGo(slot slipway.Slot) string {
	age := s.Now.Sub(slot.Since)
	switch {
	case s.Pool.Deleting:
		return "the pool is being deleted"
	case slot.State == slipway.SlotBusy:
		return "" // whatever changed meanwhile: its job ends first
	case s.Pool.Paused:
		return "the pool is paused"
	case slot.Generation != s.Pool.Generation:
		return "the pool was changed"
	case slot.State == slipway.SlotStarting && age > registerWithin:
		return withSeen(fmt.Sprintf("its runner did not register within %s", words(registerWithin)), slot)
	case slot.State == slipway.SlotLaunching && age > configuredWithin:
		return "its configuration is too old to be used"
	case slot.State == slipway.SlotIdle && s.Pool.Spec.Timeout > 0 && s.Now.Sub(slot.StartedAt) > s.Pool.Spec.Timeout/2:
		// A job that it took now might be cut off by the end of the runner's own life.
		return "it waited for half of its life"
	}
	return ""
}

// shrink lets go of free slots that nobody needs: first those that have nothing outside,
// then, after the idle time, runners that wait, the one that waited longest first. Runners
// that are still starting are let be; they are idle soon, and are looked at then.
func (s Snapshot) shrink(n *Next, free []slipway.Slot, want int) {
	surplus := len(free) - want
	for _, slot := range slices.Backward(free) {
		if surplus > 0 && slot.State == slipway.SlotWanted {
			n.Close = append(n.Close, SlotEnd{slot.ID, "it is not needed any more"})
			surplus--
		}
	}
	for _, slot := range slices.Backward(free) {
		if surplus > 0 && slot.State == slipway.SlotRegistering && slot.Failure != "" {
			n.Drain = append(n.Drain, SlotEnd{slot.ID, "it is not needed any more, and was never registered"})
			surplus--
		}
	}
	idle := slices.DeleteFunc(slices.Clone(free), func(slot slipway.Slot) bool {
		return slot.State != slipway.SlotIdle || s.Now.Sub(s.quietSince(slot)) < s.Pool.Spec.Idle
	})
	slices.SortStableFunc(idle, func(a, b slipway.Slot) int { return a.Since.Compare(b.Since) })
	for _, slot := range idle {
		if surplus <= 0 {
			return
		}
		n.Drain = append(n.Drain, SlotEnd{slot.ID, "there are more runners than are needed"})
		surplus--
	}
}

// quietSince is when a slot's idle time began: with the last event of a job that the pool
// serves, or when it became idle itself.
func (s Snapshot) quietSince(slot slipway.Slot) time.Time {
	if s.Pool.LastJobEvent.After(slot.Since) {
		return s.Pool.LastJobEvent
	}
	return slot.Since
}

// passedOverAfter is how long a job and a runner that could have it may both wait until
// people hear of it. GitHub takes seconds.
const passedOverAfter = 3 * time.Minute

// passedOver says that jobs wait although runners with their labels do. Nothing is launched
// for that: one more runner would wait like the others.
func (s Snapshot) passedOver(free []slipway.Slot) string {
	if s.Demand == 0 || s.Oldest.IsZero() || s.Now.Sub(s.Oldest) < passedOverAfter {
		return ""
	}
	waiting := 0
	for _, slot := range free {
		if slot.State == slipway.SlotIdle && s.Now.Sub(slot.OnlineAt) >= passedOverAfter {
			waiting++
		}
	}
	if waiting == 0 {
		return ""
	}
	return fmt.Sprintf("GitHub gives %s to none of the runners that wait for one (%d): see whether their repository may use the runner group, and whether its workflow is allowed there",
		count(s.Demand, "queued job"), waiting)
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// withSeen adds how the pod stands to a reason.
func withSeen(why string, slot slipway.Slot) string {
	if slot.Seen == "" {
		return why
	}
	return why + ": " + slot.Seen
}

// words writes a time as people do: 10 minutes.
func words(d time.Duration) string {
	switch {
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return fmt.Sprintf("%d seconds", d/time.Second)
}

// unbegun counts the slots of which nothing is outside yet.
func unbegun(free []slipway.Slot) (n int) {
	for _, slot := range free {
		if slot.State == slipway.SlotWanted || slot.State == slipway.SlotRegistering {
			n++
		}
	}
	return n
}

// state is the pool in one word and a sentence.
func (s Snapshot) state(n Next, busy, free, leaving, missing, unbegun int) (slipway.PoolState, string) {
	short := missing - n.Launch
	switch {
	case s.Pool.Deleting:
		return slipway.PoolDeleting, fmt.Sprintf("%d of its runners are not gone yet", busy+free+leaving)
	case s.Pool.Paused:
		return slipway.PoolPaused, ""
	case short+unbegun > 0 && s.Barred != "":
		return slipway.PoolHeld, s.Barred
	case short+unbegun > 0 && s.Now.Before(s.Hold.Until):
		return slipway.PoolHeld, s.Hold.Why
	case short > 0 && s.Room < missing && s.Pool.Spec.Replicas-busy-free-leaving > s.Room:
		return slipway.PoolFull, "the ceiling that it shares with other pools is reached"
	case s.Demand > free+n.Launch:
		return slipway.PoolFull, fmt.Sprintf("%s; all %d runners are taken or on their way out", waiting(s.Demand-free-n.Launch), s.Pool.Spec.Replicas)
	case n.Launch > 0 || len(n.Drain) > 0 || leaving > 0:
		return slipway.PoolScaling, ""
	case busy+free == 0:
		return slipway.PoolSleeping, ""
	}
	if f := s.Pool.Spec.Scope.Forge; !f.TellsJobs() {
		why := f.Name() + " hands out jobs itself, and does not tell of those that wait"
		if !f.EndsByItself() {
			why += "; short ones that follow each other may share a runner"
		}
		return slipway.PoolReady, why
	}
	return slipway.PoolReady, ""
}

// retry is when the first of the slots that leave can be tried again.
func (s Snapshot) retry() time.Duration {
	next := settled
	for _, slot := range s.Slots {
		if slot.State == slipway.SlotDraining || slot.State == slipway.SlotRemoving {
			next = min(next, max(expecting, slot.RetryAt.Sub(s.Now)))
		}
	}
	return next
}

// again is when time alone may change the answer.
func (s Snapshot) again(n Next, leaving int, free []slipway.Slot) time.Duration {
	switch {
	case n.Launch > 0 || len(n.Drain)+len(n.Close) > 0:
		return expecting
	case s.Pool.Deleting && len(s.Slots) == 0:
		return settled // only its record is left; see retired
	}
	if leaving > 0 {
		return s.retry()
	}
	resting := s.Barred != "" || s.Now.Before(s.Hold.Until)
	for _, slot := range free {
		begun := slot.State != slipway.SlotWanted && slot.State != slipway.SlotRegistering
		if slot.State != slipway.SlotIdle && (begun || !resting) {
			return expecting
		}
	}
	if wait := s.Hold.Until.Sub(s.Now); wait > 0 {
		return min(wait, settled)
	}
	return settled
}

func waiting(jobs int) string {
	if jobs == 1 {
		return "1 job waits"
	}
	return fmt.Sprintf("%d jobs wait", jobs)
}
