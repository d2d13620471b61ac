package slipway

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// SameRunners reports whether runners that were made for s serve o as they are: whatever
// differs is how many there are and when. Another token differs as well, so that the old
// one is soon needed no more.
func (s PoolSpec) SameRunners(o PoolSpec) bool {
	return reflect.DeepEqual(s.runner(), o.runner())
}

// runner is the spec without what no runner has in itself.
func (s PoolSpec) runner() PoolSpec {
	out := PoolSpec{
		Scope: s.Scope, Credential: s.Credential, Architecture: s.Architecture, Timeout: s.Timeout,
		Resources: s.Resources, WorkspaceGiB: s.WorkspaceGiB, NodeName: s.NodeName, Cache: s.Cache,
	}
	out.Scope.Owner, out.Scope.Repository = strings.ToLower(s.Scope.Owner), strings.ToLower(s.Scope.Repository)
	for _, l := range s.RunnerLabels() {
		if s.Scope.Forge != GitLab { // which tells tags apart by their case
			l = strings.ToLower(l)
		}
		out.Labels = append(out.Labels, l)
	}
	slices.Sort(out.Labels)
	return out
}

// maxNamespace is Kubernetes' limit.
const maxNamespace = 63

// RunnerNamespace is the namespace of a runner application, which is its own: what its
// pods may reach is closed off for all of it.
func RunnerNamespace(environment string, application int64) string {
	end := "-runners-" + strconv.FormatInt(application, 10)
	return strings.TrimRight(environment[:min(len(environment), maxNamespace-len(end))], "-") + end
}

var runnerNamespace = regexp.MustCompile(`-runners-[0-9]+$`)

// IsRunnerNamespace reports whether a name is of the form that RunnerNamespace gives.
func IsRunnerNamespace(name string) bool { return runnerNamespace.MatchString(name) }

// DriverOnly refuses, for a runner application, what only one with a driver has; nil for
// the latter. What is a sentence's end: "nothing to back up: its runners keep nothing".
func (a Application) DriverOnly(what, hint string) error {
	if a.Kind != RunnerApplication {
		return nil
	}
	e := Errorf(Conflict, "%s holds runner pools and has %s", a.Ref(), what)
	if hint != "" {
		return e.WithHint("%s", hint)
	}
	return e
}

// RunnerCount is how the open slots of a pool stand, counted.
type RunnerCount struct {
	Free    int // that have, or will have, a runner for one more job
	Busy    int
	Leaving int
}

// CountRunners counts open slots.
func CountRunners(slots []Slot) (n RunnerCount) {
	for _, s := range slots {
		switch {
		case s.State.Free():
			n.Free++
		case s.State == SlotBusy:
			n.Busy++
		case s.State != SlotClosed:
			n.Leaving++
		}
	}
	return n
}
