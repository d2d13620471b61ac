package slipway

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The tests of this file stand in the pure world.

func machine(name string, cpu, gib int64) Node {
	return Node{
		Name: name, Ready: true, Schedulable: true, Runners: true, Architecture: AMD64,
		CPU: Amount{Allocatable: cpu}, Memory: Amount{Allocatable: gib * GiB}, Disk: Amount{Allocatable: 100 * GiB}, Pods: Amount{Allocatable: 110},
	}
}

func asking(service string, runners int, change func(*PoolSpec)) CapacityAsk {
	s := PoolSpec{Architecture: AMD64, WorkspaceGiB: 2, Resources: RunnerResources{CPURequest: 1200, CPULimit: 2000, MemoryRequest: 2 * GiB, MemoryLimit: 4 * GiB}}
	if change != nil {
		change(&s)
	}
	return CapacityAsk{Service: service, Spec: s, Runners: runners}
}

func TestShortages(t *testing.T) {
	t.Parallel()
	cordoned, away, arm, bare, tainted, gone := machine("b", 8000, 32), machine("c", 8000, 32), machine("d", 8000, 32), machine("e", 8000, 32), machine("f", 8000, 32), machine("g", 8000, 32)
	cordoned.Schedulable, away.Ready, arm.Architecture, bare.Runners = false, false, ARM64, false
	tainted.Taints, gone.Gone = []string{"gpu=true:NoSchedule"}, time.Unix(1, 0)
	busy := machine("a", 8000, 32)
	busy.CPU.Requested = 7000
	full := machine("a", 8000, 32)
	full.Pods = Amount{Allocatable: 10, Requested: 9}
	held := asking("runner", 5, nil)
	held.Held = 4
	pin := func(name string) func(*PoolSpec) { return func(s *PoolSpec) { s.NodeName = name } }
	for _, tc := range []struct {
		name  string
		asks  []CapacityAsk
		nodes []Node
		want  []string
	}{
		{"six cores hold five runners of 1200m, idle or not", []CapacityAsk{asking("runner", 5, nil)}, []Node{machine("a", 6000, 32)}, nil},
		{
			"what is reserved counts, not what is used", []CapacityAsk{asking("runner", 5, nil)}, []Node{busy},
			[]string{"5 of 5 runners of runner have no place: they reserve 6000m CPU, 10Gi memory and 17.5Gi disk together, 1000m CPU, 32Gi memory and 100Gi disk are free, 5000m CPU are missing"},
		},
		{"runners that are placed are not asked for again", []CapacityAsk{held}, []Node{func() Node { n := machine("a", 6000, 32); n.CPU.Requested = 4800; return n }()}, nil},
		{
			"enough in all, but on no single node", []CapacityAsk{asking("runner", 2, nil)}, []Node{machine("a", 1200, 8), machine("b", 1100, 8), machine("c", 1100, 8)},
			[]string{"1 of 2 runners of runner have no place: they reserve 2400m CPU, 4Gi memory and 7Gi disk together, and although 3400m CPU, 24Gi memory and 300Gi disk are free, no node has room for another whole runner"},
		},
		{
			"every reason why a node does not count is named", []CapacityAsk{asking("runner", 1, nil)}, []Node{cordoned, away, arm, bare, tainted, gone},
			[]string{"1 of 1 runners of runner have no place: they reserve 1200m CPU, 2Gi memory and 3584Mi disk together, and no node is there for them; not usable: b (cordoned), c (not ready), d (arm64), e (not prepared for runners), f (tainted gpu=true:NoSchedule), g (no longer in the cluster)"},
		},
		{
			"a pool on one node does not fall back to another", []CapacityAsk{asking("runner", 1, pin("b"))}, []Node{machine("a", 8000, 32), cordoned},
			[]string{"1 of 1 runners of runner have no place: they reserve 1200m CPU, 2Gi memory and 3584Mi disk together, and no node is there for them; not usable: b (cordoned)"},
		},
		{
			"a node that is not known", []CapacityAsk{asking("runner", 1, pin("z"))}, []Node{machine("a", 8000, 32)},
			[]string{"1 of 1 runners of runner have no place: they reserve 1200m CPU, 2Gi memory and 3584Mi disk together, and the cluster has no node z"},
		},
		{
			"pools take from each other, and one that names its node comes first",
			[]CapacityAsk{asking("wide", 2, nil), asking("narrow", 1, pin("a"))}, []Node{machine("a", 2400, 8)},
			[]string{"1 of 2 runners of wide have no place: they reserve 2400m CPU, 4Gi memory and 7Gi disk together, 1200m CPU, 6Gi memory and 96.5Gi disk are free, 1200m CPU are missing"},
		},
		{
			"a node that takes no more pods", []CapacityAsk{asking("runner", 2, nil)}, []Node{full},
			[]string{"1 of 2 runners of runner have no place: they reserve 2400m CPU, 4Gi memory and 7Gi disk together, 8000m CPU, 32Gi memory and 100Gi disk are free, 1 pods are missing"},
		},
		{
			"the workspace is reserved with its headroom", []CapacityAsk{asking("runner", 6, func(s *PoolSpec) { s.WorkspaceGiB = 16 })}, []Node{machine("a", 80000, 320)},
			[]string{"1 of 6 runners of runner have no place: they reserve 7200m CPU, 12Gi memory and 105Gi disk together, 80000m CPU, 320Gi memory and 100Gi disk are free, 5Gi disk are missing"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range Shortages(tc.asks, tc.nodes) {
				got = append(got, s.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	arm, busy := machine("b", 8000, 32), machine("c", 8000, 32)
	arm.Architecture, busy.CPU.Requested = ARM64, 7000
	held, grown := asking("held", 2, nil), asking("grown", 3, nil)
	held.Held, grown.Held = 2, 1
	got := Places([]CapacityAsk{held, grown, asking("arm", 1, func(s *PoolSpec) { s.Architecture = ARM64 })}, []Node{machine("a", 8000, 32), arm, busy})
	want := []Place{
		{"grown", 2, Capacity{2400, 4 * GiB, 7 * GiB, 2}, Capacity{9000, 64 * GiB, 200 * GiB, 220}, 2},
		{"arm", 1, Capacity{1200, 2 * GiB, 3584 << 20, 1}, Capacity{8000, 32 * GiB, 100 * GiB, 110}, 1},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}
}

func TestCheckCapacity(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	seen := ClusterView{RuntimeClass: true, LookedAt: now.Add(-30 * time.Second), Nodes: []Node{machine("a", 2400, 8)}}
	for _, tc := range []struct {
		name    string
		runners int
		change  func(*ClusterView)
		kind    Kind
		says    string
	}{
		{"there is room", 2, nil, "", ""},
		{"a pool that sleeps needs none, whatever is known", 0, func(v *ClusterView) { *v = ClusterView{} }, "", ""},
		{"one too many", 3, nil, Conflict, "1200m CPU are missing"},
		{"nobody has looked", 1, func(v *ClusterView) { *v = ClusterView{Missed: "no cluster"} }, Unavailable, "have not been seen yet (no cluster)"},
		{"five minutes are still believed", 1, func(v *ClusterView) { v.LookedAt = now.Add(-ViewFresh) }, "", ""},
		{"more are not", 1, func(v *ClusterView) { v.LookedAt, v.Missed = now.Add(-ViewFresh-time.Second), "no answer" }, Unavailable, "last seen 5m1s ago (no answer)"},
		{"no sandbox, no runner", 1, func(v *ClusterView) { v.RuntimeClass = false }, Conflict, "no RuntimeClass slipway-actions"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			view := seen
			if tc.change != nil {
				tc.change(&view)
			}
			err := CheckCapacity([]CapacityAsk{asking("runner", tc.runners, nil)}, view, now)
			if KindOf(err) != tc.kind || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %q (%s), want %q (%s)", err, KindOf(err), tc.says, tc.kind)
			}
		})
	}
}

// What is accepted has a place, runner by runner; and what is refused for numbers lacks them.
func TestShortagesHoldTheirWord(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var nodes []Node
		for i := range rapid.IntRange(0, 4).Draw(t, "nodes") {
			n := machine(string(rune('a'+i)), rapid.Int64Range(0, 9000).Draw(t, "cpu"), rapid.Int64Range(0, 20).Draw(t, "memory"))
			n.Schedulable = rapid.Bool().Draw(t, "schedulable")
			nodes = append(nodes, n)
		}
		ask := asking("runner", rapid.IntRange(0, 12).Draw(t, "runners"), nil)
		one, room := ask.Spec.Reserved(), 0
		for _, n := range nodes {
			if n.Schedulable {
				room += int(min(n.CPU.Free()/one.CPU, n.Memory.Free()/one.Memory, n.Disk.Free()/one.Disk))
			}
		}
		short := Shortages([]CapacityAsk{ask}, nodes)
		switch {
		case room >= ask.Runners && len(short) != 0:
			t.Fatalf("refused %d runners, and there is room for %d: %v", ask.Runners, room, short)
		case room < ask.Runners && (len(short) != 1 || short[0].Fit != room):
			t.Fatalf("%d runners, and there is room for %d: %+v", ask.Runners, room, short)
		}
	})
}
