package api

import (
	"cmp"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
	"slipway.dev/slipway/internal/wire"
)

func wirePool(p view.PoolRow) wire.RunnerPool {
	out := wire.RunnerPool{
		ID: p.ID, ApplicationID: p.ApplicationID, Ref: p.Ref(), Service: p.Service,
		Forge: p.Spec.Scope.Forge.Name(), Host: p.Spec.Scope.Host(), Scope: p.Spec.Scope.String(), RunnerGroup: cmp.Or(p.Spec.Scope.Group, p.Status.Group),
		Labels: p.Spec.RunnerLabels(), Architecture: string(p.Spec.Architecture), NodeName: p.Spec.NodeName,
		Replicas: p.Spec.Replicas, Minimum: p.Spec.Minimum, Spare: p.Spec.Spare, IdleSeconds: int(p.Spec.Idle / time.Second),
		TimeoutMinutes: int(p.Spec.Timeout / time.Minute), Priority: p.Spec.Priority, Generation: p.Generation,
		State: cmp.Or(string(p.State()), "unknown"), Why: p.Status.Why, Warning: p.Status.Warning, Demand: p.Status.Demand, Slots: map[string]int{},
		Failures: p.Status.Failures, HoldUntil: when(p.Status.HoldUntil), HoldWhy: p.Status.HoldWhy, CheckedAt: when(p.Status.CheckedAt),
		LastJobEvent: when(p.LastJobEvent),
		Observed:     wire.Observed{At: when(p.Status.ListedAt), Error: p.Status.ListError, Version: p.Status.Version},
		Ledger: wire.Ledger{
			CheckedAt: when(p.Status.Ledger.CheckedAt), Pods: list(p.Status.Ledger.Pods),
			Registrations: list(p.Status.Ledger.Registrations), Slots: list(p.Status.Ledger.Slots),
		},
	}
	for state, n := range p.Slots {
		out.Slots[string(state)] = n
	}
	return out
}

// list is never null on the wire.
func list(in []string) []string {
	if in == nil {
		return []string{}
	}
	return in
}

// observed tells of a slot's registration; false when it has none.
func observed(s view.SlotRow) (r wire.ObservedRunner, registered bool) {
	r = wire.ObservedRunner{Name: s.Runner, ID: s.RunnerID, State: "offline", OnlineAt: when(s.OnlineAt), Version: s.Version, Slot: s.ID}
	switch s.State {
	case slipway.SlotIdle:
		r.State = "online"
	case slipway.SlotBusy:
		r.State = "busy"
	case slipway.SlotDraining:
		r.State = "leaving"
	case slipway.SlotWanted, slipway.SlotRemoving, slipway.SlotClosed:
		return r, false
	}
	return r, !s.RegisteredAt.IsZero()
}

func wireSlot(s view.SlotRow) wire.Slot {
	return wire.Slot{
		ID: s.ID, Service: s.Service, Generation: s.Generation, State: string(s.State), Since: s.Since, Reason: s.Reason, Failure: s.Failure,
		Failures: s.Failures, RetryAt: when(s.RetryAt), Runner: s.Runner, RunnerID: s.RunnerID, Scope: s.Scope.String(),
		Job: cmp.Or(s.Job, s.Runs.ID), JobName: s.Runs.Name, JobURL: s.Runs.URL, Pod: s.Pod, Node: s.Node, Seen: s.Seen, Image: s.Image, Version: s.Version, Result: s.Result,
		CreatedAt: s.CreatedAt, Registered: when(s.RegisteredAt), Started: when(s.StartedAt), Online: when(s.OnlineAt), Busy: when(s.BusyAt),
		Ended: when(s.EndedAt), Closed: when(s.ClosedAt),
	}
}

func wireSlots(in []view.SlotRow) []wire.Slot {
	out := make([]wire.Slot, len(in))
	for i, s := range in {
		out[i] = wireSlot(s)
	}
	return out
}

func wireJob(j view.JobRow) wire.Job {
	out := wire.Job{
		Host: j.Host, ID: j.ID, RunID: j.RunID, Attempt: j.Attempt, Workflow: j.Workflow, Name: j.Name, Branch: j.Branch, URL: j.URL,
		Labels: list(j.Labels), State: string(j.State), Conclusion: j.Conclusion, Runner: j.Runner, Service: j.Service, Slot: j.Slot,
		QueuedAt: when(j.QueuedAt), StartedAt: when(j.StartedAt), EndedAt: when(j.EndedAt), SeenAt: when(j.SeenAt),
		Why: wire.JobWhy{
			Code: string(j.Why.Code), Sentence: j.Why.Sentence, Evidence: list(j.Why.Evidence), Slot: j.Why.Slot,
			Since: when(j.Why.Since), NextTry: when(j.Why.NextTry),
		},
	}
	if j.Owner != "" {
		out.Repository = j.Owner + "/" + j.Repository
	}
	if j.Why.Pool.ID != 0 {
		out.Why.Pool = j.Why.Pool.Ref()
	}
	return out
}

func wireJobs(in []view.JobRow) []wire.Job {
	out := make([]wire.Job, len(in))
	for i, j := range in {
		out[i] = wireJob(j)
	}
	return out
}
