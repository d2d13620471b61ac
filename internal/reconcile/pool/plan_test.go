package pool

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure.

var noon = time.Date(2027, 3, 4, 12, 0, 0, 0, time.UTC)

// sleeper is a pool that scales to zero, with four runners at most.
func sleeper(change ...func(*slipway.RunnerPool)) slipway.RunnerPool {
	p := slipway.RunnerPool{
		ID: 1, Generation: 1,
		Spec: slipway.PoolSpec{
			Scope: slipway.ForgeScope{Owner: "acme"}, Labels: []string{"slipway"}, Architecture: slipway.AMD64,
			Replicas: 4, Idle: 5 * time.Minute, Timeout: time.Hour,
		},
		LastJobEvent: noon.Add(-time.Hour),
	}
	for _, f := range change {
		f(&p)
	}
	return p
}

func fixed(p *slipway.RunnerPool)    { p.Spec.Idle = 0 }
func paused(p *slipway.RunnerPool)   { p.Paused = true }
func deleting(p *slipway.RunnerPool) { p.Deleting = true }
func recent(p *slipway.RunnerPool)   { p.LastJobEvent = noon.Add(-time.Minute) }
func minimum(n int) func(*slipway.RunnerPool) {
	return func(p *slipway.RunnerPool) { p.Spec.Minimum = n }
}
func spare(n int) func(*slipway.RunnerPool) {
	return func(p *slipway.RunnerPool) { p.Spec.Spare = n }
}

// slots makes slots 1, 2, … that have been in their states for some time.
func slots(since time.Duration, states ...slipway.SlotState) (out []slipway.Slot) {
	for i, state := range states {
		out = append(out, slipway.Slot{
			ID: int64(i + 1), PoolID: 1, Generation: 1, State: state,
			Since: noon.Add(-since), StartedAt: noon.Add(-since), CreatedAt: noon.Add(-since),
		})
	}
	return out
}

const (
	wanted, launching, starting = slipway.SlotWanted, slipway.SlotLaunching, slipway.SlotStarting
	idle, busy                  = slipway.SlotIdle, slipway.SlotBusy
	draining, removing          = slipway.SlotDraining, slipway.SlotRemoving
)

func TestPlan(t *testing.T) {
	t.Parallel()
	const plenty = 1000
	for _, c := range []struct {
		name   string
		s      Snapshot
		launch int
		drain  []int64
		close  []int64
		state  slipway.PoolState
	}{
		{"nothing to do is sleep", Snapshot{Pool: sleeper(), Room: plenty}, 0, nil, nil, slipway.PoolSleeping},
		{"each queued job wakes a runner", Snapshot{Pool: sleeper(), Demand: 2, Room: plenty}, 2, nil, nil, slipway.PoolScaling},
		{"up to the limit, and the rest wait", Snapshot{Pool: sleeper(), Demand: 9, Room: plenty}, 4, nil, nil, slipway.PoolFull},
		{"free and starting runners serve demand; nobody waits for a delay (garm#270)", Snapshot{Pool: sleeper(), Slots: slots(time.Second, idle, starting), Demand: 3, Room: plenty}, 1, nil, nil, slipway.PoolScaling},
		{"a job that came while the pool was full is served when a runner ends (garm#47)", Snapshot{Pool: sleeper(), Slots: slots(time.Second, busy, busy, busy), Demand: 1, Room: plenty}, 1, nil, nil, slipway.PoolScaling},
		{"what leaves counts against the limit", Snapshot{Pool: sleeper(), Slots: slots(time.Second, busy, busy, draining, removing), Demand: 3, Room: plenty}, 0, nil, nil, slipway.PoolFull},
		{"idle runners stay for the idle time after the last job event", Snapshot{Pool: sleeper(recent), Slots: slots(time.Hour/4, idle, idle), Room: plenty}, 0, nil, nil, slipway.PoolReady},
		{"then all of them go", Snapshot{Pool: sleeper(), Slots: slots(10*time.Minute, idle, idle), Room: plenty}, 0, []int64{1, 2}, nil, slipway.PoolScaling},
		{"but for the minimum", Snapshot{Pool: sleeper(minimum(1)), Slots: slots(10*time.Minute, idle, idle), Room: plenty}, 0, []int64{1}, nil, slipway.PoolScaling},
		{"a minimum counts all runners", Snapshot{Pool: sleeper(minimum(2)), Slots: slots(time.Minute, busy), Room: plenty}, 1, nil, nil, slipway.PoolScaling},
		{"spare counts free ones", Snapshot{Pool: sleeper(spare(2)), Slots: slots(time.Minute, busy), Room: plenty}, 2, nil, nil, slipway.PoolScaling},
		{"a runner that ended its job is not replaced without demand", Snapshot{Pool: sleeper(), Slots: slots(time.Second, removing), Room: plenty}, 0, nil, nil, slipway.PoolScaling},
		{"a fixed pool keeps all its runners", Snapshot{Pool: sleeper(fixed), Slots: slots(time.Second, busy, idle), Room: plenty}, 2, nil, nil, slipway.PoolScaling},
		{"a fixed pool that is whole is ready", Snapshot{Pool: sleeper(fixed), Slots: slots(time.Second, busy, idle, idle, idle), Room: plenty}, 0, nil, nil, slipway.PoolReady},
		{"what has nothing outside is let go at once when demand falls", Snapshot{Pool: sleeper(recent), Slots: slots(time.Second, idle, wanted, wanted), Demand: 1, Room: plenty}, 0, nil, []int64{2, 3}, slipway.PoolReady},
		{"a runner that starts is let be when demand falls", Snapshot{Pool: sleeper(), Slots: slots(time.Minute, starting), Room: plenty}, 0, nil, nil, slipway.PoolReady},
		{"one that never registers goes, and another comes", Snapshot{Pool: sleeper(), Slots: slots(11*time.Minute, starting), Demand: 1, Room: plenty}, 1, []int64{1}, nil, slipway.PoolScaling},
		{"a configuration near its end is thrown away", Snapshot{Pool: sleeper(), Slots: slots(46*time.Minute, launching), Demand: 1, Room: plenty}, 1, []int64{1}, nil, slipway.PoolScaling},
		{"one that waited for half of its life is replaced before a job takes the rest", Snapshot{Pool: sleeper(minimum(1)), Slots: slots(31*time.Minute, idle), Room: plenty}, 1, []int64{1}, nil, slipway.PoolScaling},
		{"a paused pool lets its jobs end", Snapshot{Pool: sleeper(paused), Slots: slots(time.Second, busy, idle, wanted, starting), Demand: 5, Room: plenty}, 0, []int64{2, 4}, []int64{3}, slipway.PoolPaused},
		{"a deleted pool ends its jobs too", Snapshot{Pool: sleeper(deleting), Slots: slots(time.Second, busy, idle), Demand: 5, Room: plenty}, 0, []int64{1, 2}, nil, slipway.PoolDeleting},
		{"a shared ceiling bounds launching", Snapshot{Pool: sleeper(), Demand: 3, Room: 1}, 1, nil, nil, slipway.PoolFull},
		{"after failures launching rests, and says why", Snapshot{Pool: sleeper(), Demand: 3, Room: plenty, Hold: Hold{noon.Add(time.Minute), "GitHub refused"}}, 0, nil, nil, slipway.PoolHeld},
		{"an outdated runner bars launching and keeps the demand", Snapshot{Pool: sleeper(), Demand: 3, Room: plenty, Barred: "runner 2.300.0 is too old"}, 0, nil, nil, slipway.PoolHeld},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.s.Now = noon
			n := Plan(c.s)
			if n.Launch != c.launch || n.State != c.state {
				t.Errorf("launch %d and be %s (%s); want %d and %s", n.Launch, n.State, n.Why, c.launch, c.state)
			}
			if diff := cmp.Diff(c.drain, ids(n.Drain)); diff != "" {
				t.Errorf("drain (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.close, ids(n.Close)); diff != "" {
				t.Errorf("close (-want +got):\n%s", diff)
			}
			if n.Again <= 0 {
				t.Errorf("look again after %s: a lost event would never be made up for", n.Again)
			}
		})
	}
}

func TestAChangedPoolReplacesRunnersAndLetsJobsEnd(t *testing.T) {
	t.Parallel()
	s := Snapshot{Pool: sleeper(minimum(2)), Slots: slots(time.Second, busy, idle, starting, wanted), Room: 9, Now: noon}
	s.Pool.Generation = 2
	n := Plan(s)
	if diff := cmp.Diff([]int64{2, 3}, ids(n.Drain)); diff != "" {
		t.Errorf("drain (-want +got):\n%s", diff)
	}
	if n.Launch != 1 {
		t.Errorf("launch %d, want 1: the busy one counts, and what leaves fills the limit", n.Launch)
	}
}

func ids(ends []SlotEnd) (out []int64) {
	for _, e := range ends {
		out = append(out, e.Slot)
	}
	return sorted(out)
}

// TestPlanIsSafe throws random pools at the plan. World: pure, property.
func TestPlanIsSafe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t)
		n := Plan(s)

		count := map[slipway.SlotState]int{}
		state := map[int64]slipway.SlotState{}
		for _, slot := range s.Slots {
			count[slot.State]++
			state[slot.ID] = slot.State
		}
		if n.Launch < 0 || n.Launch > max(0, s.Room) {
			t.Fatalf("launch %d with room for %d", n.Launch, s.Room)
		}
		if n.Launch > 0 && len(s.Slots)-len(n.Close)+n.Launch > s.Pool.Spec.Replicas {
			t.Fatalf("%d slots, %d launched: more than the limit of %d", len(s.Slots), n.Launch, s.Pool.Spec.Replicas)
		}
		if n.Launch > 0 && (s.Pool.Paused || s.Pool.Deleting || s.Barred != "" || s.Now.Before(s.Hold.Until)) {
			t.Fatal("launches although it may not")
		}
		for _, e := range n.Drain {
			if state[e.Slot] == busy && !s.Pool.Deleting {
				t.Fatalf("slot %d has a job and would be ended: %s", e.Slot, e.Reason)
			}
			if e.Reason == "" {
				t.Fatalf("slot %d would be ended without a reason", e.Slot)
			}
		}
		for _, e := range n.Close {
			if state[e.Slot] != wanted {
				t.Fatalf("slot %d is %s and would be closed with something left outside", e.Slot, state[e.Slot])
			}
		}
		if n.State == slipway.PoolHeld && n.Why == "" {
			t.Fatal("held without a reason")
		}

		rand.Shuffle(len(s.Slots), func(i, j int) { s.Slots[i], s.Slots[j] = s.Slots[j], s.Slots[i] })
		if diff := cmp.Diff(n, Plan(s)); diff != "" {
			t.Fatalf("the order of slots changes the plan:\n%s", diff)
		}

		// Carried out, the plan is at rest: no slot is made and ended in turn.
		rest := carryOut(s, n)
		if again := Plan(rest); again.Launch > 0 && n.Launch == 0 && len(n.Drain) == 0 && len(n.Close) == 0 {
			t.Fatalf("launches %d after a plan without any change", again.Launch)
		} else if len(again.Close)+len(again.Drain) > 0 {
			t.Fatalf("what it made or kept it ends at once: %+v", again)
		}
	})
}

// TestDemandIsServed: with no bar in the way every job has a free runner, or the pool is at
// its limit. World: pure, property.
func TestDemandIsServed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t)
		s.Pool.Paused, s.Pool.Deleting, s.Barred, s.Hold, s.Room = false, false, "", Hold{}, 1000
		for range 4 { // what leaves is gone after some rounds
			s = carryOut(s, Plan(s))
			s.Slots = without(s.Slots, removing)
		}
		free := 0
		for _, slot := range s.Slots {
			if slot.State.Free() {
				free++
			}
		}
		if free < s.Demand && len(s.Slots) < s.Pool.Spec.Replicas {
			t.Fatalf("%d jobs, %d free runners, and %d of %d slots used", s.Demand, free, len(s.Slots), s.Pool.Spec.Replicas)
		}
	})
}

func anySnapshot(t *rapid.T) Snapshot {
	p := sleeper()
	p.Spec.Replicas = rapid.IntRange(1, 12).Draw(t, "replicas")
	p.Spec.Minimum = rapid.IntRange(0, p.Spec.Replicas).Draw(t, "minimum")
	p.Spec.Spare = rapid.IntRange(0, 4).Draw(t, "spare")
	p.Spec.Idle = rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "idle")
	p.Paused = rapid.IntRange(0, 9).Draw(t, "paused") == 0
	p.Deleting = rapid.IntRange(0, 9).Draw(t, "deleting") == 0
	p.LastJobEvent = noon.Add(-time.Duration(rapid.IntRange(0, 5000).Draw(t, "quiet")) * time.Second)
	s := Snapshot{
		Pool: p, Now: noon,
		Demand: rapid.IntRange(0, 15).Draw(t, "demand"),
		Room:   rapid.IntRange(-1, 15).Draw(t, "room"),
	}
	if rapid.IntRange(0, 5).Draw(t, "held") == 0 {
		s.Hold = Hold{noon.Add(time.Minute), "GitHub does not answer"}
	}
	every := []slipway.SlotState{wanted, slipway.SlotRegistering, launching, starting, idle, busy, draining, removing}
	for i := range rapid.IntRange(0, 14).Draw(t, "slots") { // more than the limit: it may have been lowered
		age := time.Duration(rapid.IntRange(0, 4000).Draw(t, "age")) * time.Second
		s.Slots = append(s.Slots, slipway.Slot{
			ID: int64(i + 1), Generation: rapid.SampledFrom([]int64{1, 1, 1, 0}).Draw(t, "generation"),
			State: rapid.SampledFrom(every).Draw(t, "state"), Since: noon.Add(-age), StartedAt: noon.Add(-age),
		})
	}
	return s
}

// carryOut is the snapshot after a plan, at the same moment.
func carryOut(s Snapshot, n Next) Snapshot {
	gone := map[int64]bool{}
	for _, e := range n.Close {
		gone[e.Slot] = true
	}
	var rest []slipway.Slot
	var last int64
	for _, slot := range s.Slots {
		last = max(last, slot.ID)
		if gone[slot.ID] {
			continue
		}
		for _, e := range n.Drain {
			if e.Slot == slot.ID {
				slot.State, slot.Since = removing, s.Now
			}
		}
		rest = append(rest, slot)
	}
	for range n.Launch {
		last++
		rest = append(rest, slipway.Slot{ID: last, Generation: s.Pool.Generation, State: wanted, Since: s.Now})
	}
	s.Slots = rest
	return s
}

func without(in []slipway.Slot, state slipway.SlotState) (out []slipway.Slot) {
	for _, slot := range in {
		if slot.State != state {
			out = append(out, slot)
		}
	}
	return out
}

func TestTheRunnerThatWaitedLongestGoesFirst(t *testing.T) {
	t.Parallel()
	s := Snapshot{Pool: sleeper(minimum(1)), Slots: slots(10*time.Minute, idle, idle, idle), Now: noon}
	s.Slots[1].Since = noon.Add(-20 * time.Minute)
	s.Slots[2].Since = noon.Add(-15 * time.Minute)
	n := Plan(s)
	if len(n.Drain) != 2 || n.Drain[0].Slot != 2 || n.Drain[1].Slot != 3 {
		t.Errorf("drains %+v, want slots 2 and 3", n.Drain)
	}
}
