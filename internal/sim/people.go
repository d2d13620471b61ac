package sim

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// request carries out what a person asks of our process. When it dies meanwhile, the
// person, who has heard nothing, asks again in the same words and with the same key.
func (w *World) request(ctx context.Context, f func(ctx context.Context, s *change.Service, key string) error) (err error) {
	w.asked++
	key := fmt.Sprintf("key-%d", w.asked)
	for answered := false; !answered; {
		live := w.live(ctx, func(ctx context.Context) error {
			err = f(ctx, w.proc.change, key)
			answered = true
			return nil
		})
		if live != nil {
			return live
		}
	}
	return err
}

// seeNodes writes what a look at the nodes sees. Package observe's own looks every half a
// minute would be most of a run.
func (w *World) seeNodes(ctx context.Context) error {
	if w.kubeDown {
		return nil
	}
	v := slipway.ClusterView{RuntimeClass: true, LookedAt: w.now}
	for _, n := range nodes {
		v.Nodes = append(v.Nodes, slipway.Node{
			Name: n, Ready: !w.lostNode[n], Schedulable: true, Architecture: slipway.AMD64, Runners: true,
			CPU: slipway.Amount{Allocatable: 256000}, Memory: slipway.Amount{Allocatable: 1024 * slipway.GiB},
			Disk: slipway.Amount{Allocatable: 4096 * slipway.GiB}, Pods: slipway.Amount{Allocatable: 500},
		})
	}
	return w.write(ctx, func(tx *store.Tx) error { return tx.SetClusterView(ctx, v) })
}

// standingOf is an application as it is on record, with its pools by service.
func (w *World) standingOf(ctx context.Context, f *file) (app slipway.Application, pools map[string]slipway.RunnerPool, err error) {
	pools = map[string]slipway.RunnerPool{}
	err = w.look(ctx, func(tx *store.Tx) error {
		e, err := tx.EnvironmentByName(ctx, project, f.environment)
		if err != nil {
			return err
		}
		app, err = tx.ApplicationByName(ctx, e.ID, f.name)
		if slipway.Is(err, slipway.NotFound) {
			return nil
		} else if err != nil {
			return err
		}
		all, err := tx.RunnerPoolsOf(ctx, app.ID)
		for _, p := range all {
			pools[p.Service] = p
		}
		return err
	})
	return app, pools, err
}

// may reports whether a person has to put up with a refusal.
func (w *World) may(err error, deleting bool) bool {
	blind := w.kubeDown || w.lostNode[nodes[0]] || w.lostNode[nodes[1]]
	return slipway.Is(err, slipway.Conflict) && (deleting || blind) || slipway.Is(err, slipway.Unavailable) && blind
}

// deploy has a file deployed as a person does: plan, and deploy what was planned. It
// reports whether that was accepted, and holds the plan against what came of it.
func (w *World) deploy(ctx context.Context, f *file) (accepted bool, err error) {
	if err := w.seeNodes(ctx); err != nil {
		return false, err
	}
	before, was, err := w.standingOf(ctx, f)
	if err != nil {
		return false, err
	}
	in := change.SpecInput{Project: project, Environment: f.environment, Source: []byte(f.toml()), File: f.name + ".toml"}
	var plan change.Plan
	err = w.request(ctx, func(ctx context.Context, s *change.Service, _ string) (err error) {
		plan, err = s.Plan(ctx, w.people, in)
		return err
	})
	if err == nil {
		err = w.request(ctx, func(ctx context.Context, s *change.Service, key string) error {
			_, err := s.Deploy(ctx, w.people, change.DeployInput{SpecInput: in, ExpectedRevision: &plan.Revision, IdempotencyKey: key})
			return err
		})
	}
	after, is, errLook := w.standingOf(ctx, f)
	if errLook != nil {
		return false, errLook
	}
	if err != nil {
		w.Count.Refusals++
		w.tell("refused: %v", err)
		if !w.may(err, before.Deleting) {
			w.violate("the file of %s was refused: %v\n%s", f.name, err, f.toml())
		}
		w.unchanged(before, after, was, is)
		return false, nil
	}
	w.Count.Changes++
	if after.Revision != plan.NewRevision || after.Revision != before.Revision+1 {
		w.violate("a deploy led from revision %d to %d, and %d was planned", before.Revision, after.Revision, plan.NewRevision)
	}
	for _, p := range plan.Pools {
		if err := fateless(p, was[p.Service], is[p.Service]); err != nil {
			w.violate("pool %s: %v", p.Service, err)
		}
	}
	return true, nil
}

// fateless says in what a pool differs from what its plan promised.
func fateless(p change.PlannedPool, was, is slipway.RunnerPool) error {
	switch renewed := is.Generation != was.Generation; {
	case is.ID == 0:
		return fmt.Errorf("it is not there, and was planned to be %s", p.Fate)
	case p.Fate == change.PoolGone:
		if !is.Deleting {
			return fmt.Errorf("it was planned to go, and stays")
		}
		return nil
	case is.Deleting:
		return fmt.Errorf("it goes, and was planned to be %s", p.Fate)
	case p.Fate == change.PoolNew && was.ID != 0, p.Fate != change.PoolNew && was.ID != is.ID:
		return fmt.Errorf("it was planned to be %s, and was pool %d and is pool %d", p.Fate, was.ID, is.ID)
	case p.Fate == change.PoolSame && (renewed || !reflect.DeepEqual(was.Spec, is.Spec)):
		return fmt.Errorf("it was planned to stay, and changed")
	case (p.Fate == change.PoolTuned || p.Fate == change.PoolRenewed) && renewed != (p.Fate == change.PoolRenewed):
		return fmt.Errorf("it was planned to be %s, and went from generation %d to %d", p.Fate, was.Generation, is.Generation)
	case p.Fate != change.PoolNew && was.Paused != is.Paused:
		return fmt.Errorf("a deploy changed whether it is paused")
	}
	return nil
}

// unchanged notes what a refused request has changed all the same.
func (w *World) unchanged(before, after slipway.Application, was, is map[string]slipway.RunnerPool) {
	for _, ps := range []map[string]slipway.RunnerPool{was, is} {
		for name, p := range ps {
			p.LastJobEvent = p.CreatedAt // jobs move it, and a request may meet one
			ps[name] = p
		}
	}
	if before.Revision != after.Revision || before.LastChange != after.LastChange || !reflect.DeepEqual(was, is) {
		w.violate("a refused request changed %s: revision %d to %d, pools %v to %v", after.Name, before.Revision, after.Revision, was, is)
	}
}

// edit changes a file and has it deployed. What is refused stays as it was.
func (w *World) edit(ctx context.Context, f *file, how func(*file)) error {
	was := slices.Clone(f.services)
	how(f)
	accepted, err := w.deploy(ctx, f)
	if !accepted {
		f.services = was
	}
	return err
}

// create is a person's wish for one of the pools that there may be.
func (w *World) create(ctx context.Context, n int) error {
	m := menu[n%len(menu)]
	return w.edit(ctx, w.files[m.environment], func(f *file) {
		f.services = slices.DeleteFunc(slices.Clone(f.services), func(s service) bool { return s.name == m.service.name })
		f.services = append(f.services, m.service)
	})
}

// ask is a person's change of a pool.
func (w *World) ask(ctx context.Context, s Step) error {
	var all []*file
	var at []int
	for _, f := range w.files {
		for i := range f.services {
			all, at = append(all, f), append(at, i)
		}
	}
	if len(all) == 0 {
		return nil
	}
	f, i, more := all[s.N%len(all)], at[s.N%len(all)], s.N/len(all)
	switch s.Do {
	case Pause:
		return w.pause(ctx, f, f.services[i].name)
	case Remove:
		return w.remove(ctx, f)
	case Delete:
		if len(f.services) == 1 {
			return w.remove(ctx, f)
		}
		return w.edit(ctx, f, func(f *file) { f.services = slices.Delete(slices.Clone(f.services), i, i+1) })
	case Invalid:
		return w.invalid(ctx, f, i, more)
	}
	return w.edit(ctx, f, func(f *file) {
		f.services = slices.Clone(f.services)
		f.services[i].change(s.Do, more)
	})
}

func (s *service) change(how Act, more int) {
	switch how {
	case Scale:
		s.replicas = 1 + more%3
		s.minimum, s.spare = min(s.minimum, s.replicas), min(s.spare, s.replicas)
	case Minimum:
		if s.idle > 0 {
			s.minimum, s.priority = more%(s.replicas+1), more%3
		}
	case Relabel:
		s.workspace = 2 + more%10
	case Move:
		switch s.scope {
		case "acme":
			if s.scope = "acme/site"; s.base != "" {
				s.scope = "acme/shop"
			}
		case "acme/site", "acme/shop":
			s.scope = "acme"
		}
	}
}

// remove is a person's wish for the end of an application.
func (w *World) remove(ctx context.Context, f *file) error {
	app, _, err := w.standingOf(ctx, f)
	if err != nil || app.ID == 0 {
		return err
	}
	err = w.request(ctx, func(ctx context.Context, s *change.Service, key string) error {
		_, err := s.Delete(ctx, w.people, change.DeleteInput{ApplicationID: app.ID, IdempotencyKey: key})
		return err
	})
	switch {
	case slipway.Is(err, slipway.Conflict) && app.Deleting:
		w.Count.Refusals++
		return nil
	case err != nil:
		return err
	}
	w.Count.Changes++
	f.services = nil
	return nil
}

// pause pauses a pool, or resumes it.
func (w *World) pause(ctx context.Context, f *file, pool string) error {
	app, pools, err := w.standingOf(ctx, f)
	if err != nil || app.ID == 0 {
		return err
	}
	was := pools[pool].Paused
	var now []slipway.RunnerPool
	err = w.request(ctx, func(ctx context.Context, s *change.Service, key string) (err error) {
		in := change.PoolsInput{ApplicationID: app.ID, Pools: []string{pool}, IdempotencyKey: key}
		if was {
			now, err = s.ResumePools(ctx, w.people, in)
		} else {
			now, err = s.PausePools(ctx, w.people, in)
		}
		return err
	})
	if err == nil && (len(now) != 1 || now[0].Paused == was) {
		w.violate("pool %s was paused=%t, and is %v", pool, was, now)
	}
	if slipway.Is(err, slipway.Conflict) && pools[pool].Deleting {
		w.Count.Refusals++
		return nil
	}
	return err
}

// giveUp has the runners of pools that are going given up.
func (w *World) giveUp(ctx context.Context, n int) error {
	f := w.files[n%len(w.files)]
	app, pools, err := w.standingOf(ctx, f)
	if err != nil || app.ID == 0 {
		return err
	}
	s, err := w.read(ctx)
	if err != nil {
		return err
	}
	going := map[int64]bool{}
	for _, p := range pools {
		going[p.ID] = p.Deleting
	}
	var given []string
	for _, slot := range s.slots {
		if going[slot.PoolID] {
			given = append(given, slot.Runner)
		}
	}
	if len(given) == 0 {
		return nil
	}
	for _, name := range given {
		w.forgotten[name] = true
	}
	w.tell("given up: %v", given)
	return w.request(ctx, func(ctx context.Context, s *change.Service, key string) error {
		_, err := s.ForgetRunners(ctx, w.people, change.PoolsInput{ApplicationID: app.ID, IdempotencyKey: key})
		return err
	})
}

// invalid is a request that must be refused, and must change nothing.
func (w *World) invalid(ctx context.Context, f *file, i, n int) error {
	if err := w.seeNodes(ctx); err != nil {
		return err
	}
	before, was, err := w.standingOf(ctx, f)
	if err != nil || before.ID == 0 {
		return err
	}
	wrong := *f
	wrong.services = slices.Clone(f.services)
	s, want, expected := &wrong.services[i], slipway.Invalid, before.Revision
	in := change.DeployInput{SpecInput: change.SpecInput{Project: project, Environment: f.environment}, ExpectedRevision: &expected}
	switch n % 6 {
	case 0:
		expected, want = before.Revision-1, slipway.Conflict
	case 1:
		s.replicas = 1001
	case 2:
		s.idle, s.minimum = 60, s.replicas+1
	case 3:
		s.credential = "a-secret-that-is-not-there"
	case 4:
		s.name += "]"
	case 5:
		s.idle, s.windows = 60, []window{{"Mars/Olympus", everyDay, 1, 2, 1, 0}}
	}
	in.Source = []byte(wrong.toml())
	err = w.request(ctx, func(ctx context.Context, s *change.Service, key string) error {
		in.IdempotencyKey = key
		_, err := s.Deploy(ctx, w.people, in)
		return err
	})
	w.Count.Refusals++
	if !slipway.Is(err, want) && !w.may(err, before.Deleting) {
		w.violate("a wrong file (%d) was answered with %v", n%6, err)
	}
	after, is, err := w.standingOf(ctx, f)
	w.unchanged(before, after, was, is)
	return err
}

// mend has asked again what failed, as a person does who sees it.
func (w *World) mend(ctx context.Context) error {
	for _, f := range w.files {
		app, _, err := w.standingOf(ctx, f)
		if err != nil {
			return err
		}
		open := false
		err = w.look(ctx, func(tx *store.Tx) error {
			ts, err := tx.Tasks(ctx, store.TaskFilter{ApplicationID: app.ID, Open: true}, store.Page{Limit: 1})
			open = len(ts.Items) > 0
			return err
		})
		if err != nil {
			return err
		}
		switch {
		case app.ID == 0 || open:
		case app.Deleting:
			err = w.remove(ctx, f)
		case app.Applied != app.Revision || app.State == slipway.AppFailed:
			_, err = w.deploy(ctx, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
