package pool

import (
	"fmt"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// Sighting is what is known of one slot outside. What could not be looked at is nil, and
// proves nothing.
type Sighting struct {
	Pod       *Pod
	PodGone   bool // the pod was not listed, time and again
	Runner    *forge.Runner
	RunnerOut bool // the registration was not listed, time and again
	RunnerOff bool // the registration was listed as offline, time and again
	Jobless   bool // the registration was listed as online without a job, time and again; or once, where that ends its runner
	Job       *slipway.Job
}

// jobSettles is how long a pod may take to end after its job did.
const jobSettles = time.Minute

// Judge is a slot after what was seen of it. It calls nobody. It never takes a slot for
// free that has or may have a job: a busy one stays busy until its job, its pod or its
// time has ended, whatever the forge's list says, which is late and sometimes wrong. Only
// one that nobody ever named a job for, and that was called busy by the list alone, is
// free again when the list has taken it back for long; and it is asked to end as every
// free one is, which the forge refuses while there is a job after all.
//
// A slot that is found registering or launching is left of a run that broke off: its
// configuration is lost, because nobody keeps it, and it must go.
func Judge(s slipway.Slot, see Sighting, now time.Time) slipway.Slot {
	s = facts(s, see)
	switch s.State {
	case slipway.SlotRegistering:
		if s.Failure == "" {
			return drain(s, "it is not known whether the forge registered its runner")
		}
	case slipway.SlotLaunching:
		if see.Pod != nil && see.Pod.Running {
			s.State = slipway.SlotStarting
			return Judge(s, see, now)
		}
		return drain(s, "its configuration was lost before its pod began")
	case slipway.SlotStarting, slipway.SlotIdle, slipway.SlotBusy:
		return judgeRunner(s, see, now)
	}
	return s
}

// facts are what was seen, without what follows from it.
func facts(s slipway.Slot, see Sighting) slipway.Slot {
	if p := see.Pod; p != nil {
		s.Seen = p.Seen
		for to, v := range map[*string]string{&s.Pod: p.UID, &s.Node: p.Node, &s.Image: p.Image, &s.Result: p.Result} {
			if v != "" {
				*to = v
			}
		}
	}
	if r := see.Runner; r != nil {
		s.RunnerID = r.ID
		if r.Version != "" {
			s.Version = r.Version
		}
	}
	return s
}

func judgeRunner(s slipway.Slot, see Sighting, now time.Time) slipway.Slot {
	over := see.PodGone || see.Pod != nil && see.Pod.Over
	online := see.Runner != nil && (see.Runner.Online || see.Runner.Busy)
	if j := see.Job; j != nil {
		s.Job = j.ID
		if s.BusyAt.IsZero() {
			s.BusyAt = earlier(j.StartedAt, now)
		}
		online = true
	}
	if online && s.OnlineAt.IsZero() {
		s.OnlineAt = earlier(s.BusyAt, now)
	}
	if !s.Scope.Forge.TellsJobs() && s.Scope.Forge.EndsByItself() && see.Pod != nil && see.Pod.Over && !see.Pod.Fault && s.BusyAt.IsZero() {
		s.BusyAt = now // its program ends by itself after a job only
	}
	switch {
	case see.Job != nil && see.Job.State == slipway.JobCompleted && (over || now.Sub(see.Job.SeenAt) > jobSettles):
		return ended(s, "its job has ended", now)
	case over:
		return ended(s, overWords(s, see), now)
	case !s.Scope.Forge.EndsByItself() && see.Runner != nil && see.Runner.Busy && s.State != slipway.SlotBusy:
		// Asked to end, it is kept from another step, and is busy after all until this one ends.
		if s.BusyAt.IsZero() {
			s.BusyAt = now
		}
		return drain(s, "it takes one step, and no other")
	case see.Job != nil && s.State != slipway.SlotBusy, see.Runner != nil && see.Runner.Busy && s.State != slipway.SlotBusy:
		s.State = slipway.SlotBusy
		if s.BusyAt.IsZero() {
			s.BusyAt = now
		}
	case s.State == slipway.SlotBusy && see.Jobless && !s.Scope.Forge.EndsByItself():
		return drain(s, "its step has ended")
	case s.State == slipway.SlotBusy && see.Jobless && s.Job == 0 && see.Pod != nil && see.Pod.Running:
		s.State, s.BusyAt = slipway.SlotIdle, time.Time{}
	case s.State == slipway.SlotStarting && online:
		s.State = slipway.SlotIdle
	case see.RunnerOut && s.State != slipway.SlotBusy:
		return ended(s, "its registration is gone", now)
	case see.RunnerOff && s.State == slipway.SlotIdle && !s.Scope.Forge.TellsJobs():
		return drain(s, "the forge has not heard of its runner for a while") // which may have a job all the same
	case see.RunnerOff && s.State == slipway.SlotIdle:
		return ended(s, withSeen("the forge has not heard of its runner for a while", s), now)
	}
	return s
}

func overWords(s slipway.Slot, see Sighting) string {
	switch {
	case see.Pod == nil:
		return "its pod is gone"
	case s.OnlineAt.IsZero() && see.Pod.Result != "":
		return "it ended before its runner registered: " + see.Pod.Result
	case see.Pod.Result != "":
		return "its runner has ended: " + see.Pod.Result
	}
	return "its runner has ended"
}

func ended(s slipway.Slot, why string, now time.Time) slipway.Slot {
	if s.EndedAt.IsZero() {
		s.EndedAt = now
	}
	return drain(s, why)
}

func drain(s slipway.Slot, why string) slipway.Slot {
	s.State, s.Reason = slipway.SlotDraining, why
	return s
}

func earlier(t, now time.Time) time.Time {
	if t.IsZero() || t.After(now) {
		return now
	}
	return t
}

// Failed says why a slot that leaves counts as a launch that failed; it is empty for one
// that does not. A runner that ends by itself without a job is no success: launched again
// and again it would never serve anybody.
func Failed(before, after slipway.Slot, timeout time.Duration) string {
	if after.State != slipway.SlotDraining || before.State == slipway.SlotDraining || after.EndedAt.IsZero() || !after.BusyAt.IsZero() {
		return ""
	}
	if timeout > 0 && after.EndedAt.Sub(after.StartedAt) >= timeout-time.Minute {
		return "" // its time was up
	}
	return fmt.Sprintf("a runner never got to a job: %s", after.Reason)
}
