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
	Other   Act = "Other"   // another process that lives beside it takes over
	Thaw    Act = "Thaw"    // one that was frozen goes on

	// What people do.
	Queue   Act = "Queue"   // a job is queued
	Matrix  Act = "Matrix"  // four are at once
	Cancel  Act = "Cancel"  // a job is cancelled
	Rerun   Act = "Rerun"   // a run that has ended is run again, under new numbers
	Create  Act = "Create"  // a pool is asked for, or a deleted one once more
	Pause   Act = "Pause"   // a pool is paused, or resumed
	Scale   Act = "Scale"   // a pool gets another limit
	Minimum Act = "Minimum" // a pool gets another minimum and another priority
	Relabel Act = "Relabel" // a pool's runners must be replaced
	Move    Act = "Move"    // a pool's scope becomes another one
	Delete  Act = "Delete"  // a pool is taken out of its file
	Remove  Act = "Remove"  // an application is deleted
	GiveUp  Act = "GiveUp"  // the runners of pools that are going are forgotten
	Invalid Act = "Invalid" // something is asked for that must be refused
	Revoke  Act = "Revoke"  // a forge's credential ends, or is renewed

	// What the world does.
	Pass     Act = "Pass"     // time does
	Pods     Act = "Pods"     // pods move on: start, end, vanish
	Assign   Act = "Assign"   // the forge gives jobs to runners
	Finish   Act = "Finish"   // a job ends
	Steal    Act = "Steal"    // somebody else's runner takes a job
	Kill     Act = "Kill"     // a pod dies
	Node     Act = "Node"     // a node is lost, or comes back
	Drop     Act = "Drop"     // the next deliveries are lost
	Double   Act = "Double"   // a delivery that has arrived arrives once more
	Tight    Act = "Tight"    // the forges' budgets are used up, or are not any more
	ForgeOut Act = "ForgeOut" // a forge goes, or comes back
	KubeOut  Act = "KubeOut"  // the cluster does
	Lie      Act = "Lie"      // the forge tells of a runner that it is busy, or is not
	Leave    Act = "Leave"    // the forge forgets the registration of a runner that is offline
)

// weights say how often each act is drawn.
var weights = []struct {
	act    Act
	weight int
}{
	{Work, 26}, {WorkAll, 14}, {Take, 10}, {TakeAll, 8}, {Restart, 2}, {Ceiling, 1}, {Other, 3}, {Thaw, 4},
	{Queue, 12}, {Matrix, 3}, {Cancel, 2}, {Rerun, 1},
	{Pause, 2}, {Scale, 2}, {Minimum, 1}, {Relabel, 2}, {Move, 1}, {Delete, 2}, {Remove, 1}, {GiveUp, 3}, {Invalid, 1}, {Create, 3}, {Revoke, 1},
	{Pass, 14}, {Pods, 14}, {Assign, 12}, {Finish, 8}, {Steal, 1}, {Kill, 2}, {Node, 1}, {Drop, 5}, {Double, 2}, {Tight, 1},
	{ForgeOut, 2}, {KubeOut, 1}, {Lie, 2}, {Leave, 1},
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

	// Our process stands still before a call, or between it and its reply, and does not know
	// it. Another one goes on with its work.
	Freeze      What = "Freeze"
	FreezeAfter What = "FreezeAfter"
)

var whats = []What{Freeze, FreezeAfter, Crash, Crash, Crash, CrashAfter, CrashAfter, Lost, Lost, Lost, Away, Away, Refused, Throttled, Busy, Partial, Partial, Late, Late, Race, Race, Race, Race}

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
		switch {
		case whether != 0:
		case steps[i].Do.ours():
			steps[i].Fault = Fault{At: point, What: what}
		case steps[i].Do.asked():
			steps[i].Fault = Fault{At: point, What: Crash}
		}
	}
	return steps
}

// ours reports whether our process works in such a step, so that it can be disturbed.
func (a Act) ours() bool {
	switch a {
	case Work, WorkAll, Take, TakeAll, Restart, Ceiling, Other:
		return true
	}
	return false
}

// asked reports whether a person asks our process for something, which may die meanwhile.
func (a Act) asked() bool {
	switch a {
	case Create, Pause, Scale, Minimum, Relabel, Move, Delete, Remove, GiveUp, Invalid:
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
