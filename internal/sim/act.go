package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
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
	case Work, WorkAll, Take, TakeAll, Restart, Ceiling, Other:
		return w.ourAct(ctx, s)
	case Thaw:
		return w.thaw(s.N%2 == 0)
	case Create:
		return w.create(ctx, s.N)
	case Pause, Scale, Minimum, Relabel, Move, Delete, Remove, Invalid:
		return w.ask(ctx, s)
	case GiveUp:
		return w.giveUp(ctx, s.N)
	case Revoke:
		return w.revoke(ctx, w.some(s.N))
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
		w.dropping, w.dropHow = 1+s.N%4, s.N/4%ways
	case Tight:
		w.tight = !w.tight
	case ForgeOut:
		h := w.some(s.N)
		h.down = !h.down
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
		w.ceiling, w.other = ceiling-w.ceiling, nil
		return w.live(ctx, w.start)
	case Restart:
		return w.live(ctx, w.start)
	case Other:
		return w.change(ctx)
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
			p.host.Offline(p.runner)
		} else if !lost && p.phase == running {
			w.stop(p, failed, "its node was lost")
		}
	}
}

// forgeAct is a step of a forge, or of those who use it.
func (w *World) forgeAct(ctx context.Context, s Step) error {
	h := w.some(s.N)
	switch s.Do {
	case Queue:
		w.queue(h, h.repos[s.N/4%len(h.repos)], labelSets[s.N/16%len(labelSets)])
	case Matrix:
		l := labelSets[s.N/16%4]
		w.queue(h, h.repos[s.N/4%len(h.repos)], l, l, l, l)
	case Cancel:
		if _, at := w.jobsIn(slipway.JobQueued); len(at) > 0 {
			at[s.N%len(at)].finish("cancelled")
		}
	case Finish:
		if js, at := w.jobsIn(slipway.JobRunning); len(js) > 0 && !w.isSilent(at[s.N%len(at)], js[s.N%len(at)]) {
			at[s.N%len(at)].finish("success")
		}
	case Rerun:
		return w.rerun(ctx, s.N)
	case Assign:
		w.assign()
	case Steal:
		return w.steal(ctx)
	case Double:
		if a, ok := pick(w.taken, s.N); ok {
			a.again = true
			w.inbox = append(w.inbox, a)
		}
	case Lie:
		if all, at := w.standing(); len(all) > 0 {
			i := s.N % len(all)
			at[i].LieAboutBusy(all[i].ID, s.N/len(all)%2 == 0)
		}
	case Leave:
		return w.leave(ctx, s.N)
	}
	return nil
}

func (j hostJob) finish(conclusion string) { j.host.Finish(j.id, conclusion) }

// revoke ends the credential of a forge, or saves one that is accepted.
func (w *World) revoke(ctx context.Context, h *host) error {
	if h.token != "" {
		h.token = ""
		return nil
	}
	if err := w.renew(ctx, h); err != nil {
		return err
	}
	return w.write(ctx, func(tx *store.Tx) error {
		pools, err := tx.RunnerPools(ctx)
		for _, p := range pools {
			if err := w.proc.queue.Enqueue(ctx, tx, task.WakeUp{Noun: slipway.WakePool, ID: p.ID}); err != nil {
				return err
			}
		}
		return err
	})
}

func sortedKeys[V any](m map[int64]V) []int64 { return slices.Sorted(maps.Keys(m)) }
