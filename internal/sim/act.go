package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Do has a step happen, and returns what it has broken.
func (w *World) Do(ctx context.Context, s Step) error {
	w.Count.Steps++
	w.fault, w.points = s.Fault, 0
	if w.tell("--- %s %d %v", s.Do, s.N, s.Fault); s.Fault.What == "" {
		w.fault = Fault{}
	}
	err := w.act(ctx, s)
	w.fault = Fault{}
	w.settle()
	if err != nil {
		return fmt.Errorf("%s: %w", s.Do, err)
	}
	if s.Do.ours() {
		return w.check(ctx)
	}
	return w.broken()
}

func (w *World) act(ctx context.Context, s Step) error {
	switch s.Do {
	case Work, WorkAll, Take, TakeAll, Restart, Ceiling:
		return w.ourAct(ctx, s)
	case Create:
		return w.create(ctx, s.N)
	case Pause, Scale, Minimum, Relabel, Move, Delete:
		return w.ask(ctx, s)
	case Revoke:
		return w.revoke(ctx)
	case Queue, Matrix, Cancel, Rerun, Finish, Steal, Double, Lie, Leave, Assign:
		return w.forgeAct(ctx, s)
	case Pass:
		w.now = w.now.Add(passes[s.N%len(passes)])
	case Pods:
		if w.someMove(s.N); s.N%2 == 0 {
			w.assign()
		}
	case Kill:
		if p, ok := pick(w.pods, s.N); ok {
			w.stop(p, failed, "Evicted")
		}
	case Node:
		n := nodes[s.N%len(nodes)]
		w.setNode(n, !w.lostNode[n])
	case Drop:
		w.dropping = 1 + s.N%3
	case ForgeOut:
		w.forgeDown = !w.forgeDown
	case KubeOut:
		w.kubeDown = !w.kubeDown
	}
	return nil
}

// ourAct is a step of our own process.
func (w *World) ourAct(ctx context.Context, s Step) error {
	switch s.Do {
	case Work:
		due, err := w.due(ctx)
		if len(due) == 0 && err == nil {
			if err = w.sleep(ctx); err == nil {
				due, err = w.due(ctx)
			}
		}
		if u, ok := pick(due, s.N); ok && err == nil {
			return w.handle(ctx, u)
		}
		return err
	case WorkAll:
		return w.workAll(ctx, 1+s.N%2)
	case Take:
		if len(w.inbox) > 0 {
			return w.take(ctx, s.N%len(w.inbox))
		}
	case TakeAll:
		for n := len(w.inbox); n > 0; n-- {
			if err := w.take(ctx, 0); err != nil {
				return err
			}
		}
	case Ceiling:
		w.ceiling = ceiling - w.ceiling
		return w.live(ctx, w.start)
	case Restart:
		return w.live(ctx, w.start)
	}
	return nil
}

// workAll handles what is due, up to some times over.
func (w *World) workAll(ctx context.Context, rounds int) error {
	for range rounds {
		due, err := w.due(ctx)
		if err != nil || len(due) == 0 {
			return err
		}
		for _, u := range due {
			if err := w.handle(ctx, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// pick chooses one, when there is any.
func pick[T any](from []T, n int) (one T, ok bool) {
	if len(from) == 0 {
		return one, false
	}
	return from[n%len(from)], true
}

// someMove lets half of the pods move on, or all of them.
func (w *World) someMove(n int) {
	for i, p := range slices.Clone(w.pods) {
		if n%3 == 0 || (i+n/3)%2 == 0 {
			w.move(p)
		}
	}
}

// setNode has a node go away, with everything on it, or come back without it.
func (w *World) setNode(n string, lost bool) {
	w.lostNode[n] = lost
	for _, p := range w.pods {
		if p.node != n {
			continue
		}
		if lost && p.runner != 0 {
			w.forge.Offline(p.runner)
		} else if !lost && p.phase == running {
			w.stop(p, failed, "its node was lost")
		}
	}
}

// forgeAct is a step of the forge, or of those who use it.
func (w *World) forgeAct(ctx context.Context, s Step) error {
	switch s.Do {
	case Queue:
		w.queue(repos[s.N%len(repos)], labelSets[s.N/len(repos)%len(labelSets)])
	case Matrix:
		l := labelSets[s.N/len(repos)%4]
		w.queue(repos[s.N%3], l, l, l, l)
	case Cancel:
		if j, ok := pick(w.jobsIn(slipway.JobQueued), s.N); ok {
			w.forge.Finish(j.ID, "cancelled")
		}
	case Finish:
		if j, ok := pick(w.jobsIn(slipway.JobRunning), s.N); ok && !w.isSilent(j) {
			w.forge.Finish(j.ID, "success")
		}
	case Rerun:
		return w.rerun(ctx, s.N)
	case Assign:
		w.assign()
	case Steal:
		return w.steal(ctx)
	case Double:
		if a, ok := pick(w.taken, s.N); ok {
			w.inbox = append(w.inbox, a)
		}
	case Lie:
		if r, ok := pick(w.forge.Registrations(), s.N); ok {
			w.forge.LieAboutBusy(r.ID, s.N%2 == 0)
		}
	case Leave:
		return w.forget(ctx, s.N)
	}
	return nil
}

func (w *World) queue(r forge.Repository, labels ...[]string) {
	for _, id := range w.forge.Queue(r, labels...) {
		w.jobs, w.repoOf[id] = append(w.jobs, id), r
		w.Count.Jobs++
	}
}

func (w *World) job(id int64) (slipway.Job, bool) {
	j, err := w.forge.Job(context.Background(), w.repoOf[id], id)
	return j.Job, err == nil
}

func (w *World) jobsIn(s slipway.JobState) (in []slipway.Job) {
	for _, id := range w.jobs {
		if j, ok := w.job(id); ok && j.State == s {
			in = append(in, j)
		}
	}
	return in
}

// isSilent reports whether the runner of a job is gone: then it cannot end well.
func (w *World) isSilent(j slipway.Job) bool {
	r, ok := w.runner(j.Runner)
	return !ok || !r.Online
}

// assign has the forge give jobs to runners.
func (w *World) assign() {
	given := w.forge.Assign()
	for _, runner := range slices.Sorted(maps.Keys(given)) {
		w.tell("runner %d has job %d", runner, given[runner])
	}
}

// rerun runs a run again that has ended: its jobs come back under new numbers.
func (w *World) rerun(ctx context.Context, n int) error {
	j, ok := pick(w.jobsIn(slipway.JobCompleted), n)
	if !ok {
		return nil
	}
	r := w.repoOf[j.ID]
	if err := w.forge.RerunJob(ctx, r, j.ID); err != nil {
		return nil //nolint:nilerr // its run has not ended: nobody can run it again
	}
	again, err := w.forge.Jobs(ctx, r, j.RunID, 0)
	for _, a := range again {
		w.jobs, w.repoOf[a.ID] = append(w.jobs, a.ID), r
	}
	return err
}

// steal has somebody else's runner, with every label, take the next job.
func (w *World) steal(ctx context.Context) error {
	w.strangers++
	c, err := w.forge.Register(ctx, slipway.ForgeScope{Owner: "acme"}, forge.Registration{
		Name: fmt.Sprintf("stranger-%d", w.strangers), Labels: []string{"self-hosted", "linux", "X64", "slipway", "big"},
	})
	if err != nil {
		return err
	}
	_, err = w.forge.Online(c.Config)
	w.assign()
	return err
}

// forget has the forge drop the registration of a runner of ours that is offline.
func (w *World) forget(ctx context.Context, n int) error {
	var offline []forge.Runner
	for _, r := range w.forge.Registrations() {
		if w.ours(r.Name) && !r.Online && !r.Busy {
			offline = append(offline, r)
		}
	}
	r, ok := pick(offline, n)
	if !ok {
		return nil
	}
	err := w.forge.Unregister(ctx, w.scopes[r.ID], r.ID)
	if forge.Is(err, forge.NotFound) {
		return nil
	}
	return err
}

// create is a person's wish for one of the pools that there may be.
func (w *World) create(ctx context.Context, n int) error {
	p := menu[n%len(menu)]
	return w.write(ctx, func(tx *store.Tx) error {
		made, err := tx.PutRunnerPool(ctx, slipway.RunnerPool{ApplicationID: w.applications[p.environment].ID, Service: p.service, Spec: p.spec}, true)
		if err != nil {
			return err
		}
		if !slices.Contains(w.pools, made.ID) {
			w.pools = append(w.pools, made.ID)
		}
		return w.wake(ctx, tx, slipway.WakePool, made.ID)
	})
}

// ask is a person's change of a pool, accepted in one transaction with its wake-up.
func (w *World) ask(ctx context.Context, s Step) error {
	id, ok := pick(w.pools, s.N)
	if !ok {
		return nil
	}
	more := s.N / len(w.pools)
	return w.write(ctx, func(tx *store.Tx) error {
		p, err := tx.RunnerPool(ctx, id)
		if err != nil {
			return err
		}
		switch s.Do {
		case Pause:
			err = tx.SetRunnerPoolPaused(ctx, id, !p.Paused)
		case Delete:
			err = tx.SetRunnerPoolDeleting(ctx, id, true)
		case Scale:
			p.Spec.Replicas = 1 + more%3
			p.Spec.Minimum = min(p.Spec.Minimum, p.Spec.Replicas)
			_, err = tx.PutRunnerPool(ctx, p, false)
		case Minimum:
			if p.Spec.Minimum = more % (p.Spec.Replicas + 1); p.Spec.Fixed() {
				p.Spec.Minimum = 0
			}
			_, err = tx.PutRunnerPool(ctx, p, false)
		case Relabel:
			p.Spec.WorkspaceGiB = 2 + more%10
			_, err = tx.PutRunnerPool(ctx, p, true)
		case Move:
			if p.Spec.Scope.Repository == "" && p.Spec.Scope.Owner == shop.Owner {
				p.Spec.Scope.Repository = site.Name
			} else if p.Spec.Scope.Owner == shop.Owner {
				p.Spec.Scope.Repository = ""
			}
			_, err = tx.PutRunnerPool(ctx, p, true)
		}
		return errors.Join(err, w.wake(ctx, tx, slipway.WakePool, id))
	})
}

// revoke ends the credential, or saves one that is accepted.
func (w *World) revoke(ctx context.Context) error {
	if w.token != "" {
		w.token = ""
		return nil
	}
	if err := w.renew(ctx); err != nil {
		return err
	}
	return w.write(ctx, func(tx *store.Tx) error {
		for _, id := range w.pools {
			if err := w.wake(ctx, tx, slipway.WakePool, id); err != nil {
				return err
			}
		}
		return nil
	})
}
