package slipway

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Of a slot's budget this much is the sandbox's own; the rest is halved between the runner
// and its Docker daemon.
const (
	SandboxCPU    = 100              // millicores
	SandboxMemory = int64(512) << 20 // bytes
	GiB           = int64(1) << 30   // bytes
	RunnerDisk    = 1 * GiB          // what the runner may write outside of its workspace, and its log
	DockerDisk    = int64(512) << 20 // the same of its Docker daemon
	ViewFresh     = 5 * time.Minute  // how long what was seen of the nodes counts
	namedNodes    = 10               // in a sentence; more are counted
	noPodsCounted = int64(1) << 40   // of a node that does not say how many pods it takes
)

// Capacity is an amount of what a node has for pods.
type Capacity struct {
	CPU    int64 // millicores
	Memory int64 // bytes
	Disk   int64 // bytes of ephemeral storage
	Pods   int64
}

// Reserved is what one runner of the pool takes of a node from when it is placed.
func (s PoolSpec) Reserved() Capacity {
	return Capacity{
		CPU: s.Resources.CPURequest, Memory: s.Resources.MemoryRequest,
		Disk: int64(s.WorkspaceGiB)*GiB + RunnerDisk + DockerDisk, Pods: 1,
	}
}

func (c Capacity) add(d Capacity, times int64) Capacity {
	return Capacity{c.CPU + times*d.CPU, c.Memory + times*d.Memory, c.Disk + times*d.Disk, c.Pods + times*d.Pods}
}

// holds is how many times d fits into c.
func (c Capacity) holds(d Capacity) int64 {
	n := c.Pods
	for _, r := range [][2]int64{{c.CPU, d.CPU}, {c.Memory, d.Memory}, {c.Disk, d.Disk}} {
		if r[1] > 0 {
			n = min(n, r[0]/r[1])
		}
	}
	return max(0, n)
}

// less is what c lacks of d.
func (c Capacity) less(d Capacity) Capacity {
	return Capacity{max(0, d.CPU-c.CPU), max(0, d.Memory-c.Memory), max(0, d.Disk-c.Disk), max(0, d.Pods-c.Pods)}
}

func (c Capacity) none() bool { return c == Capacity{} }

// String writes the amounts that are not zero: 1200m CPU, 4Gi memory and 9.5Gi disk.
func (c Capacity) String() string {
	var parts []string
	if c.CPU != 0 {
		parts = append(parts, fmt.Sprintf("%dm CPU", c.CPU))
	}
	if c.Memory != 0 {
		parts = append(parts, binary(c.Memory)+" memory")
	}
	if c.Disk != 0 {
		parts = append(parts, binary(c.Disk)+" disk")
	}
	if len(parts) == 0 && c.Pods != 0 {
		return strconv.FormatInt(c.Pods, 10) + " pods"
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return sentence(parts)
}

// binary writes bytes as Kubernetes does, whole where it can be.
func binary(n int64) string {
	const mib = 1 << 20
	switch {
	case n%GiB == 0:
		return fmt.Sprintf("%dGi", n/GiB)
	case n >= 10*GiB:
		return fmt.Sprintf("%.1fGi", float64(n)/float64(GiB))
	}
	return fmt.Sprintf("%dMi", n/mib)
}

func sentence(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// CapacityAsk is one pool that is to have Runners at once.
type CapacityAsk struct {
	Service string // its name in application.toml
	Spec    PoolSpec
	Runners int
	// Held is how many runners of the pool are placed already: their reservations are in
	// what the nodes say, and are not asked for again.
	Held int
}

// Shortage says that some of a pool's runners would find no place.
type Shortage struct {
	Service   string
	Runners   int      // that are asked for beyond those that are placed
	Fit       int      // of them
	Requested Capacity // by all of Runners
	Available Capacity // on all nodes that they may be on
	Missing   Capacity // what Available lacks; nothing when only no single node has room for one more
	Nodes     []string // that they may not be on, with the reason
	Unknown   string   // the node that the pool names and that is not there; empty: none
}

// String says the shortage in one sentence with its numbers.
func (s Shortage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d runners of %s have no place: they reserve %s together", s.Runners-s.Fit, s.Runners, s.Service, s.Requested)
	switch {
	case s.Unknown != "":
		fmt.Fprintf(&b, ", and the cluster has no node %s", s.Unknown)
	case s.Available.none():
		b.WriteString(", and no node is there for them")
	case s.Missing.none():
		fmt.Fprintf(&b, ", and although %s are free, no node has room for another whole runner", s.Available)
	default:
		fmt.Fprintf(&b, ", %s are free, %s are missing", s.Available, s.Missing)
	}
	if len(s.Nodes) > 0 {
		shown := s.Nodes[:min(len(s.Nodes), namedNodes)]
		fmt.Fprintf(&b, "; not usable: %s", strings.Join(shown, ", "))
		if more := len(s.Nodes) - len(shown); more > 0 {
			fmt.Fprintf(&b, " and %d more", more)
		}
	}
	return b.String()
}

// Shortages returns which pools would not get all their runners placed, in the order of
// asks. Pools that name a node choose first; the others take what is left, on the nodes
// with the most room. It looks at reservations and not at use, as the cluster does.
func Shortages(asks []CapacityAsk, nodes []Node) []Shortage {
	free := freeOf(nodes)
	order := make([]int, len(asks))
	for i := range asks {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return strings.Compare(pinned(asks[b]), pinned(asks[a]))
	})
	found := make([]Shortage, len(asks))
	for _, i := range order {
		found[i], _ = place(asks[i], nodes, free)
	}
	return slices.DeleteFunc(found, func(s Shortage) bool { return s.Fit == s.Runners })
}

// Place is what the further runners of a pool reserve, and what is free for them.
type Place struct {
	Service   string
	Runners   int // beyond those that are placed
	Requested Capacity
	Available Capacity // on all nodes that they may be on, before any of them is placed
	Nodes     int      // that they may be on
}

// Places lists what of asks is still to be placed, in their order. Each is told as if it
// came alone; whether they fit together is Shortages' question.
func Places(asks []CapacityAsk, nodes []Node) []Place {
	var out []Place
	for _, a := range asks {
		if s, usable := place(a, nodes, freeOf(nodes)); s.Runners > 0 {
			out = append(out, Place{s.Service, s.Runners, s.Requested, s.Available, usable})
		}
	}
	return out
}

func freeOf(nodes []Node) map[string]Capacity {
	free := map[string]Capacity{}
	for _, n := range nodes {
		free[n.Name] = n.free()
	}
	return free
}

func pinned(a CapacityAsk) string {
	if a.Spec.NodeName != "" {
		return "pinned"
	}
	return ""
}

// place takes the room of one pool from free, and returns what it asks for and lacks, with
// how many nodes its runners may be on.
func place(a CapacityAsk, nodes []Node, free map[string]Capacity) (s Shortage, may int) {
	want := a.Runners - a.Held
	if want <= 0 {
		return s, 0
	}
	one := a.Spec.Reserved()
	s = Shortage{Service: a.Service, Runners: want, Requested: Capacity{}.add(one, int64(want))}
	s.Requested.Pods = int64(want)
	var usable []string
	known := a.Spec.NodeName == ""
	for _, n := range nodes {
		if a.Spec.NodeName != "" && n.Name != a.Spec.NodeName {
			continue
		}
		known = true
		if why := n.Unusable(a.Spec.Architecture); why != "" {
			s.Nodes = append(s.Nodes, n.Name+" ("+why+")")
			continue
		}
		usable = append(usable, n.Name)
		s.Available = s.Available.add(free[n.Name], 1)
	}
	if !known {
		s.Unknown = a.Spec.NodeName
	}
	slices.SortStableFunc(usable, func(x, y string) int { return int(free[y].holds(one) - free[x].holds(one)) })
	left := int64(want)
	for _, name := range usable {
		n := min(left, free[name].holds(one))
		free[name] = free[name].add(one, -n)
		left -= n
	}
	s.Fit = want - int(left)
	if left == 0 {
		return s, len(usable)
	}
	s.Missing = s.Available.less(s.Requested)
	if s.Missing.CPU == 0 && s.Missing.Memory == 0 && s.Missing.Disk == 0 && s.Missing.Pods > 0 {
		s.Missing = Capacity{Pods: s.Missing.Pods}
	}
	return s, len(usable)
}

// Unusable says why no runner of the architecture may be on the node; "" when one may.
func (n Node) Unusable(a Architecture) string {
	switch {
	case !n.Gone.IsZero():
		return "no longer in the cluster"
	case !n.Runners:
		return "not prepared for runners"
	case !n.Ready:
		return "not ready"
	case !n.Schedulable:
		return "cordoned"
	case a != "" && n.Architecture != a:
		return string(n.Architecture)
	case len(n.Taints) > 0:
		return "tainted " + strings.Join(n.Taints, " ")
	}
	return ""
}

func (n Node) free() Capacity {
	c := Capacity{CPU: n.CPU.Free(), Memory: n.Memory.Free(), Disk: n.Disk.Free(), Pods: n.Pods.Free()}
	if n.Pods.Allocatable == 0 {
		c.Pods = noPodsCounted
	}
	return c
}

// CheckCapacity returns an error for people when the pools' runners would not all find a
// place, or when that cannot be told: a view that is older than ViewFresh says nothing.
func CheckCapacity(asks []CapacityAsk, view ClusterView, now time.Time) error {
	if !slices.ContainsFunc(asks, func(a CapacityAsk) bool { return a.Runners > a.Held }) {
		return nil
	}
	if stale := view.Stale(now); stale != "" {
		return Errorf(Unavailable, "whether the runners would find a place cannot be told: %s", stale).
			WithHint("check that the cluster answers (slipway's log and /readyz say what is wrong), then try again")
	}
	if !view.RuntimeClass {
		return Errorf(Conflict, "the cluster has no sandbox for runners: there is no RuntimeClass %s", RunnerRuntimeClass).
			WithHint("prepare a node for runners, which makes the RuntimeClass; runners never run without it")
	}
	short := Shortages(asks, view.Nodes)
	if len(short) == 0 {
		return nil
	}
	e := Errorf(Conflict, "%s", short[0]).
		WithHint("lower replicas or resources.requests, free or add nodes for runners, or choose another node_name")
	for _, s := range short {
		e.Fields = append(e.Fields, FieldError{Path: "services." + s.Service + ".replicas", Msg: s.String()})
	}
	return e
}

// RunnerRuntimeClass is the sandbox that every runner pod runs in.
const RunnerRuntimeClass = "slipway-actions"

// Stale says why the view is too old to be believed; "" when it is not.
func (v ClusterView) Stale(now time.Time) string {
	why := ""
	if v.Missed != "" {
		why = " (" + v.Missed + ")"
	}
	switch age := now.Sub(v.LookedAt); {
	case v.LookedAt.IsZero():
		return "the cluster's nodes have not been seen yet" + why
	case age > ViewFresh:
		return fmt.Sprintf("the cluster's nodes were last seen %s ago%s", age.Round(time.Second), why)
	}
	return ""
}
