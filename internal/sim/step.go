package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Step is one thing that happens. A run is nothing but its steps, so that it can be made
// smaller by leaving some out, and be kept as a test that people can read.
type Step struct {
	Do    Act
	N     int   // which of those that there are: the rest of a division, so that it always names one
	Fault Fault // what goes wrong meanwhile
}

// Act is a kind of step.
type Act string

const (
	// What our own process does.
	Work    Act = "Work"    // one due wake-up is handled
	WorkAll Act = "WorkAll" // all that are due are, some times over
	Take    Act = "Take"    // one delivery that has arrived is taken, in any order
	TakeAll Act = "TakeAll" // all are, in the order of their sending
	Restart Act = "Restart" // the process ends and begins anew
	Ceiling Act = "Ceiling" // and this with a ceiling for all pools together, or without

	// What people do.
	Queue   Act = "Queue"   // a job is queued
	Matrix  Act = "Matrix"  // four are at once
	Cancel  Act = "Cancel"  // a job is cancelled
	Rerun   Act = "Rerun"   // a run that has ended is run again, under new numbers
	Create  Act = "Create"  // a pool is asked for, or a deleted one once more
	Pause   Act = "Pause"   // a pool is paused, or resumed
	Scale   Act = "Scale"   // a pool gets another ceiling
	Minimum Act = "Minimum" // a pool gets another minimum
	Relabel Act = "Relabel" // a pool's runners must be replaced
	Move    Act = "Move"    // a pool's scope becomes another one
	Delete  Act = "Delete"  // a pool is deleted
	Revoke  Act = "Revoke"  // the credential ends, or is renewed

	// What the world does.
	Pass     Act = "Pass"     // time does
	Pods     Act = "Pods"     // pods move on: start, end, vanish
	Assign   Act = "Assign"   // the forge gives jobs to runners
	Finish   Act = "Finish"   // a job ends
	Steal    Act = "Steal"    // somebody else's runner takes a job
	Kill     Act = "Kill"     // a pod dies
	Node     Act = "Node"     // a node is lost, or comes back
	Drop     Act = "Drop"     // the next deliveries do not arrive
	Double   Act = "Double"   // a delivery that has arrived arrives once more
	ForgeOut Act = "ForgeOut" // the forge goes, or comes back
	KubeOut  Act = "KubeOut"  // the cluster does
	Lie      Act = "Lie"      // the forge tells of a runner that it is busy, or is not
	Leave    Act = "Leave"    // the forge forgets the registration of a runner that is offline
)

// weights say how often each act is drawn.
var weights = []struct {
	act    Act
	weight int
}{
	{Work, 26}, {WorkAll, 14}, {Take, 10}, {TakeAll, 10}, {Restart, 2}, {Ceiling, 1},
	{Queue, 12}, {Matrix, 3}, {Cancel, 2}, {Rerun, 1},
	{Pause, 2}, {Scale, 2}, {Minimum, 1}, {Relabel, 2}, {Move, 1}, {Delete, 1}, {Create, 2}, {Revoke, 1},
	{Pass, 14}, {Pods, 14}, {Assign, 12}, {Finish, 8}, {Steal, 1}, {Kill, 2}, {Node, 1}, {Drop, 0}, {Double, 2},
	{ForgeOut, 1}, {KubeOut, 1}, {Lie, 2}, {Leave, 1},
}

// Fault is one thing that goes wrong in a step: at the At-th point of it, counted from 1.
// Points are the calls to the outside and, for crashes, the beginnings of transactions
// too. The zero Fault is none.
type Fault struct {
	At   int
	What What
}

// What goes wrong.
type What string

const (
	Crash      What = "Crash"      // our process dies before the call, or before the transaction
	CrashAfter What = "CrashAfter" // it dies once the call has had its effect
	Lost       What = "Lost"       // the call has its effect, and its reply is lost
	Away       What = "Away"       // no answer, and no effect
	Refused    What = "Refused"    // 401 or 403
	Throttled  What = "Throttled"  // 429
	Busy       What = "Busy"       // 422, though it is not
	Partial    What = "Partial"    // a list breaks off: a part of it, and an error
	Late       What = "Late"       // a list does not have what is younger than half a minute
	Race       What = "Race"       // the forge gives out jobs at this very moment
)

var whats = []What{Crash, Crash, Crash, CrashAfter, CrashAfter, Lost, Lost, Lost, Away, Away, Refused, Throttled, Busy, Partial, Partial, Late, Late, Race, Race, Race, Race}

// Draw draws the steps of a run. The same seed always gives the same steps.
func Draw(seed uint64, n int) []Step {
	r := rand.New(rand.NewPCG(seed, 0x5117)) //nolint:gosec // it must be repeatable
	total := 0
	for _, w := range weights {
		total += w.weight
	}
	steps := make([]Step, n)
	for i := range steps {
		if i == 0 && seed%2 == 0 {
			steps[i] = Step{Do: Ceiling}
			continue
		}
		if i < 2+int(seed%3) {
			steps[i] = Step{Do: Create, N: r.IntN(1 << 16)}
			continue
		}
		at := r.IntN(total)
		for _, w := range weights {
			if at -= w.weight; at < 0 {
				steps[i].Do = w.act
				break
			}
		}
		steps[i].N = r.IntN(1 << 16)
		what, point, whether := whats[r.IntN(len(whats))], 1+r.IntN(12), r.IntN(2)
		if steps[i].Do.ours() && whether == 0 {
			steps[i].Fault = Fault{At: point, What: what}
		}
	}
	return steps
}

// ours reports whether our process works in such a step, so that it can be disturbed.
func (a Act) ours() bool {
	switch a {
	case Work, WorkAll, Take, TakeAll, Restart, Ceiling:
		return true
	}
	return false
}

// passes are how long time passes; the short ones more often.
var passes = []time.Duration{
	time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second, 5 * time.Second, 10 * time.Second, 10 * time.Second, 30 * time.Second,
	30 * time.Second, time.Minute, 2 * time.Minute, 6 * time.Minute, 11 * time.Minute, time.Hour, 7 * time.Hour,
}

// Format writes steps as Go, to be kept as a test.
func Format(steps []Step) string {
	var b strings.Builder
	b.WriteString("[]Step{\n")
	for _, s := range steps {
		fmt.Fprintf(&b, "\t{Do: %s", s.Do)
		if s.N != 0 {
			fmt.Fprintf(&b, ", N: %d", s.N)
		}
		if s.Fault.What != "" {
			fmt.Fprintf(&b, ", Fault: Fault{%d, %s}", s.Fault.At, s.Fault.What)
		}
		b.WriteString("},\n")
	}
	b.WriteString("}")
	return b.String()
}
