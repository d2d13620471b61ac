package view

import (
	"fmt"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// counted is how a pool's open slots stand.
type counted struct{ idle, starting, busy, leaving int }

// open is how many open slots of the pool are in each state.
func (s Situation) open(p slipway.RunnerPool) map[slipway.SlotState]int {
	if s.Counts != nil {
		return s.Counts[p.ID]
	}
	states := map[slipway.SlotState]int{}
	for _, slot := range s.Slots[p.ID] {
		states[slot.State]++
	}
	return states
}

func (s Situation) counts(p slipway.RunnerPool) (c counted) {
	for state, n := range s.open(p) {
		switch {
		case state == slipway.SlotIdle:
			c.idle += n
		case state == slipway.SlotBusy:
			c.busy += n
		case state == slipway.SlotDraining || state == slipway.SlotRemoving:
			c.leaving += n
		case state.Free():
			c.starting += n
		}
	}
	return c
}

// evidence is what any answer about a pool rests on.
func (s Situation) evidence(j slipway.Job, p slipway.RunnerPool, c counted) []string {
	out := []string{fmt.Sprintf("queued since %s; of %d runners %d are busy, %d wait, %d start, %d leave",
		clock(j.QueuedAt, s.Now), p.Spec.Replicas, c.busy, c.idle, c.starting, c.leaving)}
	status := s.Statuses[p.ID]
	if !status.CheckedAt.IsZero() {
		out = append(out, "the pool was looked at "+clock(status.CheckedAt, s.Now))
	}
	if status.ListError != "" {
		out = append(out, "its runners cannot be listed: "+status.ListError)
	}
	if status.Warning != "" {
		out = append(out, status.Warning)
	}
	return out
}

// clusterFaults says what of the cluster keeps any runner of the pool from starting.
func (s Situation) clusterFaults(p slipway.RunnerPool) (out []string) {
	v := s.Cluster
	switch {
	case v.LookedAt.IsZero():
		return nil // nobody has looked: nothing is known
	case v.Missed != "":
		return []string{"the cluster was last seen " + clock(v.LookedAt, s.Now) + ": " + v.Missed}
	}
	if !v.RuntimeClass {
		out = append(out, "the cluster has no RuntimeClass slipway-actions")
	}
	if faults := slipway.Shortages([]slipway.CapacityAsk{{Service: p.Service, Spec: p.Spec, Runners: 1}}, v.Nodes); len(faults) > 0 {
		out = append(out, faults[0].String())
	}
	return out
}

// outOfReach answers where no pool is of the job's organization or repository.
func (s Situation) outOfReach(j slipway.Job) Why {
	w := Why{Code: WhyNoPool, Since: j.QueuedAt, Sentence: fmt.Sprintf("no pool is of %s/%s on %s, nor of the organization %s", j.Owner, j.Repository, j.Host, j.Owner)}
	if hosted(j) {
		return forgesOwn(j)
	}
	var of []string
	for _, p := range s.Pools {
		if scope := p.Spec.Scope.String() + " on " + p.Spec.Scope.Host(); !slices.Contains(of, scope) {
			of = append(of, scope)
		}
	}
	slices.Sort(of)
	if more := len(of) - 5; more > 0 {
		of = append(of[:5], fmt.Sprintf("%d more", more))
	}
	if len(of) > 0 {
		w.Evidence = []string{"there are pools of " + strings.Join(of, ", ")}
	} else {
		w.Evidence = []string{"there is no pool yet"}
	}
	return w
}

// nearest answers where no pool has all labels, with the one that lacks fewest.
func (s Situation) nearest(j slipway.Job, pools []slipway.RunnerPool) Why {
	if hosted(j) {
		return forgesOwn(j)
	}
	slices.SortStableFunc(pools, func(a, b slipway.RunnerPool) int {
		if d := len(a.Spec.Lacks(j)) - len(b.Spec.Lacks(j)); d != 0 {
			return d
		}
		return slipway.PoolOrder(a, b)
	})
	p := pools[0]
	lacks := p.Spec.Lacks(j)
	word := "the label"
	if len(lacks) > 1 {
		word = "the labels"
	}
	return Why{
		Code: WhyLabels, Pool: p, Since: j.QueuedAt,
		Sentence: fmt.Sprintf("no pool has all of its labels; %s comes nearest and lacks %s %s", p.Ref(), word, quoted(lacks)),
		Evidence: []string{"the job asks for " + quoted(j.Labels), p.Ref() + " has " + quoted(p.Spec.RunnerLabels())},
	}
}

// hosted reports whether a job asks for one of the forge's own machines.
func hosted(j slipway.Job) bool {
	own := false
	for _, l := range j.Labels {
		l = strings.ToLower(l)
		if l == "self-hosted" {
			return false
		}
		own = own || strings.HasPrefix(l, "ubuntu-") || strings.HasPrefix(l, "windows-") || strings.HasPrefix(l, "macos-")
	}
	return own
}

func forgesOwn(j slipway.Job) Why {
	return Why{
		Code: WhyHosted, Since: j.QueuedAt,
		Sentence: fmt.Sprintf("it asks for %s, which is one of GitHub's own runners and no pool's", quoted(j.Labels)),
	}
}

// wrongConnection answers where pools serve the job, and none may be woken by the
// connections that told of it.
func (s Situation) wrongConnection(j slipway.Job, serving []slipway.RunnerPool) Why {
	p := serving[0]
	var of []string
	for _, c := range s.Connections {
		if c.EnvironmentID != 0 && slices.Contains(s.Scopes, c.EnvironmentID) && slipway.ForgeHost(c.BaseURL) == j.Host {
			of = append(of, fmt.Sprintf("%s, which is confined to %s", c.Name, slipway.EnvironmentRef(c.Project, c.Environment)))
		}
	}
	w := Why{
		Code: WhyConnection, Pool: p, Since: j.QueuedAt,
		Sentence: fmt.Sprintf("the pool %s would serve it, but it was heard of only through a connection that may not wake pools of %s", p.Ref(), slipway.EnvironmentRef(p.Project, p.Environment)),
		Evidence: []string{"a connection of the installation, or of " + slipway.EnvironmentRef(p.Project, p.Environment) + ", must receive its deliveries too"},
	}
	if len(of) > 0 {
		w.Evidence = append([]string{"heard through " + strings.Join(of, " and ")}, w.Evidence...)
	}
	return w
}

// shut answers where all pools that serve the job take none.
func (s Situation) shut(j slipway.Job, pools []slipway.RunnerPool) Why {
	for _, p := range pools {
		if !p.Deleting {
			return Why{
				Code: WhyPaused, Pool: p, Since: j.QueuedAt, Sentence: fmt.Sprintf("the pool %s is paused; it starts no runner until it is resumed", p.Ref()),
				Evidence: s.evidence(j, p, s.counts(p)),
			}
		}
	}
	p := pools[0]
	w := Why{
		Code: WhyDeleting, Pool: p, Since: j.QueuedAt, Sentence: fmt.Sprintf("the pool %s is being deleted, and no other serves it", p.Ref()),
		Evidence: s.evidence(j, p, s.counts(p)),
	}
	for _, slot := range s.Slots[p.ID] {
		if slot.Failure != "" {
			w.Evidence = append(w.Evidence, fmt.Sprintf("%s cannot be cleaned up: %s", slot.Runner, slot.Failure))
		}
	}
	return w
}

func ended(j slipway.Job, s Situation) Why {
	result := j.Conclusion
	if result == "" {
		result = "an unknown result"
	}
	w := Why{Code: WhyEnded, Since: j.EndedAt, Sentence: fmt.Sprintf("it does not wait: it ended with %s at %s", result, clock(j.EndedAt, s.Now))}
	w.Evidence = runnerEvidence(j)
	return w
}

func runs(j slipway.Job, s Situation) Why {
	w := Why{Code: WhyRuns, Since: j.StartedAt, Evidence: runnerEvidence(j)}
	on := "a runner"
	if j.Runner != "" {
		on = "the runner " + j.Runner
	}
	for _, p := range s.Pools {
		for _, slot := range s.Slots[p.ID] {
			if slot.Runner == j.Runner && j.Runner != "" {
				w.Slot, w.Pool = slot.ID, p
				on += " of the pool " + p.Ref()
			}
		}
	}
	w.Sentence = fmt.Sprintf("it does not wait: it runs on %s since %s", on, clock(j.StartedAt, s.Now))
	return w
}

func runnerEvidence(j slipway.Job) []string {
	if j.Runner == "" || j.QueuedAt.IsZero() || j.StartedAt.IsZero() {
		return nil
	}
	return []string{fmt.Sprintf("it waited %s for the runner %s", short(j.StartedAt.Sub(j.QueuedAt)), j.Runner)}
}

// Unheard answers for a job of which nothing was heard. Owner may be empty.
func Unheard(host, owner string, s Situation) Why {
	w := Why{Code: WhyUnknown}
	var last slipway.Connection
	n := 0
	for _, c := range s.Connections {
		if slipway.ForgeHost(c.BaseURL) != host {
			continue
		}
		n++
		if last.ID == 0 || c.LastDelivery.After(last.LastDelivery) {
			last = c
		}
		if c.RecoverError != "" {
			w.Evidence = append(w.Evidence, fmt.Sprintf("lost deliveries of %s cannot be looked for: %s", c.Name, c.RecoverError))
		}
	}
	switch {
	case n == 0:
		w.Sentence = fmt.Sprintf("nothing was heard of it, and no connection receives deliveries of %s", host)
		w.Evidence = append(w.Evidence, "make a connection, and send the event Workflow jobs to its address")
	case last.LastDelivery.IsZero():
		w.Sentence = fmt.Sprintf("nothing was heard of it, and no delivery of %s has ever come", host)
		w.Evidence = append(w.Evidence, fmt.Sprintf("is the hook of the connection %s set up, active, and sending the event Workflow jobs?", last.Name))
	default:
		w.Since = last.LastDelivery
		w.Sentence = fmt.Sprintf("nothing is known of it: no delivery of it came, or it asks for runners that no pool has; the last delivery of %s came at %s through the connection %s", host, clock(last.LastDelivery, s.Now), last.Name)
		w.Evidence = append(w.Evidence, "a job without the label self-hosted that no pool serves is not kept: its delivery is then listed as ignored under the connection")
		if !last.RecoveredAt.IsZero() {
			w.Evidence = append(w.Evidence, "lost deliveries were last looked for at "+clock(last.RecoveredAt, s.Now))
		}
		w.Evidence = append(w.Evidence, "the hook's Recent Deliveries page shows whether it was sent")
	}
	if owner != "" && !slices.ContainsFunc(s.Pools, func(p slipway.RunnerPool) bool {
		return p.Spec.Scope.Host() == host && strings.EqualFold(p.Spec.Scope.Owner, owner)
	}) {
		w.Evidence = append(w.Evidence, fmt.Sprintf("no pool is of %s on %s either", owner, host))
	}
	return w
}
