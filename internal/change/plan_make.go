package change

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// renderLimit bounds how long a plan waits for the two renderings that tell what restarts.
const renderLimit = 20 * time.Second

// Plan says what a deploy of a spec would do. It writes nothing, and calls no cluster.
func (s *Service) Plan(ctx context.Context, c slipway.Caller, in SpecInput) (Plan, error) {
	if err := need(c, slipway.ReadOnly); err != nil {
		return Plan{}, err
	}
	parsed, err := parse(in)
	if err != nil {
		return Plan{}, err
	}
	var p prepared
	var r rendering
	err = s.Store.Read(ctx, func(tx *store.Tx) error {
		if p, err = prepare(ctx, tx, c, parsed); err != nil {
			return err
		}
		if p.kind != slipway.InstallChange && s.Renderer != nil && p.spec.Kind() == slipway.DriverApplication {
			r, err = gather(ctx, tx, &p)
		}
		return err
	})
	if err != nil {
		return Plan{}, err
	}
	return s.withRestarts(ctx, &p, r)
}

// withRestarts is the plan with what only a rendering can tell.
func (s *Service) withRestarts(ctx context.Context, p *prepared, r rendering) (out Plan, err error) {
	out = p.plan()
	if p.kind == slipway.InstallChange || p.spec.Kind() == slipway.RunnerApplication {
		out.RestartsKnown = true // nothing runs that could restart
		return out, nil
	}
	if out.Restarts, err = s.restarts(ctx, r); err != nil {
		if ctx.Err() != nil {
			return Plan{}, ctx.Err()
		}
		out.RestartsWhy = forPeople(err)
	}
	out.RestartsKnown = err == nil
	return out, nil
}

// plan is everything of a Plan that needs no rendering.
func (p *prepared) plan() Plan {
	out := Plan{
		Project: p.env.Project, Environment: p.env.Name, Name: p.spec.Name, Kind: p.kind,
		Revision: p.app.Revision, NewRevision: p.app.Revision + 1, Target: p.target,
		FromVersion: p.stand.from.app, Version: p.spec.App.Version, Driver: p.spec.Driver,
		Diff: spec.Diff(p.wanted.Spec, p.spec), Hooks: plannedHooks(p.acting().Spec, p.kind), Stops: plannedStops(p.acting().Spec, p.kind),
		Warnings: waiting(p.open, false), Pools: p.plannedPools(), Places: p.places,
	}
	if p.kind == slipway.UpgradeChange && p.spec.Backup != nil && p.spec.Backup.BeforeUpgrade {
		out.Hooks = append([]PlannedHook{{Hook: slipway.BackupHook, Mode: slipway.Core}}, out.Hooks...)
	}
	if p.stand.installed {
		out.FromDriver = slipway.DriverRef{Name: p.wanted.Spec.Driver.Name, Version: p.stand.from.driver}
	}
	out.Warnings = append(out.Warnings, p.warnings()...)
	return out
}

// warnings are what a person should know beyond the diff.
func (p *prepared) warnings() []string {
	if p.spec.Kind() == slipway.RunnerApplication {
		return p.runnerWarnings()
	}
	var out []string
	switch {
	case p.kind == slipway.InstallChange && p.app.ID != 0 && len(plannedHooks(p.acting().Spec, p.kind)) > 0:
		out = append(out, "no install of it has succeeded: the setup hooks run again")
	case p.stand.redo && p.stand.from.app == p.spec.App.Version:
		out = append(out, fmt.Sprintf("the last upgrade failed half-way, at %s: the upgrade hooks run again", p.stand.from.app))
	case p.kind == slipway.ConfigureChange && len(spec.Diff(p.wanted.Spec, p.spec)) == 0:
		out = append(out, fmt.Sprintf("nothing differs from revision %d: the same configuration is applied again", p.app.Revision))
	}
	if p.ahead != "" {
		out = append(out, p.ahead)
	}
	for _, h := range plannedHooks(p.acting().Spec, p.kind) {
		if h.Irreversible {
			out = append(out, fmt.Sprintf("what %s does cannot be undone", h))
		}
	}
	return out
}

// plannedHooks lists the modes that will run. A mode without an action is left out, but
// for the core of an upgrade or a rollback, which Slipway itself carries out then.
func plannedHooks(d slipway.DriverSpec, kind slipway.ChangeKind) []PlannedHook {
	var hook slipway.Hook
	modes := []slipway.Mode{slipway.Pre, slipway.Core, slipway.Post}
	switch kind {
	case slipway.InstallChange:
		hook, modes = slipway.Setup, []slipway.Mode{slipway.Pre, slipway.Post}
	case slipway.UpgradeChange:
		hook = slipway.Upgrade
	case slipway.RollbackChange:
		hook = slipway.Rollback
	default:
		return nil
	}
	var out []PlannedHook
	for _, mode := range modes {
		actions := d.ActionsOf(hook, mode)
		if len(actions) == 0 && !(hook != slipway.Setup && mode == slipway.Core) {
			continue
		}
		h := PlannedHook{Hook: hook, Mode: mode}
		for _, a := range actions {
			h.Actions = append(h.Actions, a.Name)
			h.Irreversible = h.Irreversible || a.Irreversible
		}
		out = append(out, h)
	}
	return out
}

// plannedStops lists the components that the actions of a change say they stop, by name.
func plannedStops(d slipway.DriverSpec, kind slipway.ChangeKind) []string {
	stops := map[string]bool{}
	for _, h := range plannedHooks(d, kind) {
		for _, a := range d.ActionsOf(h.Hook, h.Mode) {
			for _, c := range a.Stops {
				stops[c] = true
			}
		}
	}
	return sorted(stops)
}

// rendering is what the two renderings of a plan need, read in one transaction.
type rendering struct {
	before, after side
	stopped       []string
}

type side struct {
	packed  []byte
	driver  slipway.Driver
	spec    slipway.ApplicationSpec
	context spec.GlobalContext
}

func gather(ctx context.Context, tx *store.Tx, p *prepared) (r rendering, err error) {
	states, err := tx.ComponentStates(ctx, p.app.ID)
	if err != nil {
		return r, err
	}
	for _, st := range states {
		if st.Stopped {
			r.stopped = append(r.stopped, st.Component)
		}
	}
	old, err := tx.DriverByDigest(ctx, p.wanted.DriverDigest)
	if err != nil {
		return r, err
	}
	in := spec.ContextInput{Environment: p.env, Application: p.app, States: states,
		Change: slipway.Change{Number: p.app.LastChange + 1, Revision: p.app.Revision + 1, Kind: p.kind}}
	for _, x := range []struct {
		side   *side
		driver slipway.Driver
		spec   slipway.ApplicationSpec
	}{{&r.before, old, p.wanted.Spec}, {&r.after, p.driver, p.spec}} {
		// The same change and revision on both sides: their numbers must not look like a
		// difference.
		in.Spec, in.Driver = x.spec, x.driver
		built, err := spec.BuildContext(in)
		if err != nil {
			return r, err
		}
		packed, err := tx.DriverContent(ctx, x.driver.Digest)
		if err != nil {
			return r, err
		}
		*x.side = side{packed: packed, driver: x.driver, spec: x.spec, context: built}
	}
	return r, nil
}

// restarts lists the components that run before and after with other pods.
func (s *Service) restarts(ctx context.Context, r rendering) ([]string, error) {
	if s.Renderer == nil {
		return nil, slipway.Errorf(slipway.Unavailable, "this server does not render charts")
	}
	ctx, cancel := context.WithTimeout(ctx, renderLimit)
	defer cancel()
	before, err := s.rendered(ctx, r.before)
	if err != nil {
		return nil, fmt.Errorf("render what is wanted now: %w", err)
	}
	after, err := s.rendered(ctx, r.after)
	if err != nil {
		return nil, fmt.Errorf("render the new spec: %w", err)
	}
	var out []string
	for _, component := range sorted(after) {
		old, ran := before[component]
		if ran && old != after[component] && !slices.Contains(r.stopped, component) {
			out = append(out, component)
		}
	}
	return out, nil
}

func (s *Service) rendered(ctx context.Context, x side) (map[string]string, error) {
	b, err := spec.Unpack(bytes.NewReader(x.packed), s.limits())
	if err != nil {
		return nil, err
	}
	return s.Renderer.Rendered(ctx, b, x.driver, x.spec, x.context)
}
