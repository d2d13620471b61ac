package change

import (
	"context"
	"errors"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// PlanRollback says what a rollback would do, or refuses as the rollback itself would. It
// writes nothing, and calls no cluster.
func (s *Service) PlanRollback(ctx context.Context, c slipway.Caller, in RollbackInput) (Plan, error) {
	if err := need(c, slipway.ReadOnly); err != nil {
		return Plan{}, err
	}
	var p prepared
	var r rendering
	err := s.Store.Read(ctx, func(tx *store.Tx) (err error) {
		if p, err = prepareRollback(ctx, tx, c, in); err == nil && s.Renderer != nil {
			r, err = gather(ctx, tx, &p)
		}
		return err
	})
	if err != nil {
		return Plan{}, err
	}
	return s.withRestarts(ctx, &p, r)
}

// Rollback accepts the content of an earlier revision as a new one: numbers only go up. When
// that is another version, the driver that is left behind must know the way back, and runs
// its rollback hooks. Who may write in the environment may.
func (s *Service) Rollback(ctx context.Context, c slipway.Caller, in RollbackInput) (Accepted, error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return Accepted{}, err
	}
	if in.ExpectedRevision == nil {
		return Accepted{}, invalid("expected_revision", "it is missing", "give the revision that the plan named")
	}
	r := request{c, in.IdempotencyKey, "application.rollback", []any{in.ApplicationID, in.To, *in.ExpectedRevision}}
	out, err := s.start(ctx, r, func(tx *store.Tx) (started, error) {
		p, err := prepareRollback(ctx, tx, c, in)
		if err != nil {
			return started{}, err
		}
		if p.app.Revision != *in.ExpectedRevision {
			return started{}, unexpected(ctx, tx, p.app, p.spec.Name, *in.ExpectedRevision)
		}
		return s.enact(ctx, tx, c, p, p.app.Applied, false, append(waiting(p.open, false), p.warnings()...))
	})
	if errors.Is(err, errLate) {
		return Accepted{}, errLate
	}
	return out, err
}

// RollbackOffer says whether an application can be rolled back now, and if not, why.
type RollbackOffer struct {
	Target  int64 // the revision; 0: none
	Version string
	Driver  string // its version
	Why     string // it is not offered; empty together with Target 0: there is nothing to go back to
	Hint    string
}

// OfferRollback is PlanRollback without the parts that take time, for a page.
func (s *Service) OfferRollback(ctx context.Context, c slipway.Caller, applicationID int64) (out RollbackOffer, err error) {
	if err := need(c, slipway.ReadOnly); err != nil {
		return out, err
	}
	err = s.Store.Read(ctx, func(tx *store.Tx) error {
		p, err := prepareRollback(ctx, tx, c, RollbackInput{ApplicationID: applicationID})
		e, refused := errorOf(err)
		switch {
		case err == nil:
			out = RollbackOffer{Target: p.target, Version: p.spec.App.Version, Driver: p.spec.Driver.Version}
		case errors.Is(err, errNowhere):
		case refused && (e.Kind == slipway.Conflict || e.Kind == slipway.Invalid):
			out = RollbackOffer{Why: e.Msg, Hint: e.Hint}
		default:
			return err
		}
		return nil
	})
	return out, err
}

// errNowhere says that an application has never been anything else.
var errNowhere error = slipway.Errorf(slipway.Conflict, "no earlier revision at another version has succeeded").
	WithHint("name a revision with --to; slipway applications revisions lists them")

func prepareRollback(ctx context.Context, tx *store.Tx, c slipway.Caller, in RollbackInput) (p prepared, err error) {
	if p.app, err = application(ctx, tx, c, in.ApplicationID); err != nil {
		return p, err
	}
	if p.env, err = tx.Environment(ctx, p.app.EnvironmentID); err != nil {
		return p, err
	}
	if p.open, err = openTasks(ctx, tx, p.app.ID); err != nil {
		return p, err
	}
	if err := settledDown(p.app, p.open, c); err != nil {
		return p, err
	}
	if p.wanted, err = tx.Revision(ctx, p.app.ID, p.app.Revision); err != nil {
		return p, err
	}
	if p.stand, err = standingOf(ctx, tx, p.app, p.wanted); err != nil {
		return p, err
	}
	if p.target = in.To; p.target == 0 {
		if p.target, err = revisionBefore(ctx, tx, p.app); err != nil {
			return p, err
		}
	}
	target, reached, err := reachedRevision(ctx, tx, p.app, p.target)
	if err != nil {
		return p, err
	}
	return p, p.judge(ctx, tx, target, reached)
}

// settledDown refuses while it is not known where the application stands.
func settledDown(app slipway.Application, open []slipway.Task, c slipway.Caller) error {
	switch {
	case app.Deleting:
		return beingDeleted(app, open)
	case app.Kind == slipway.RunnerApplication:
		return app.DriverOnly("no driver that knows a way back",
			fmt.Sprintf("deploy the file of an earlier revision: slipway applications revisions %s NUMBER > %s.toml prints it", app.Ref(), app.Name))
	case app.Applied == 0:
		return slipway.Errorf(slipway.Conflict, "%s is not installed yet", app.Ref()).WithHint("wait for its install to succeed, or retry it")
	case c.TaskID != 0 && holds(open, c.TaskID):
		return slipway.Errorf(slipway.Conflict, "an action of task %d cannot roll back its own application", c.TaskID).WithHint("roll it back when the task has ended")
	}
	for _, t := range open {
		if t.ChangeID != 0 {
			return slipway.Errorf(slipway.Conflict, "task %d (%s) has not ended, and a rollback is judged by how it ends", t.ID, t.Title).
				WithHint("wait for it, or cancel it: slipway tasks cancel %d", t.ID)
		}
	}
	return nil
}

// reach is the change that brought an application to a revision, with its end.
type reach struct {
	change slipway.Change
	task   slipway.Task
}

// reachedRevision finds a revision and the change that reached it. One that was never
// reached is nothing to go back to.
func reachedRevision(ctx context.Context, tx *store.Tx, app slipway.Application, number int64) (slipway.Revision, reach, error) {
	rev, err := tx.Revision(ctx, app.ID, number)
	if slipway.Is(err, slipway.NotFound) {
		return rev, reach{}, invalid("to", fmt.Sprintf("%s has no revision %d", app.Ref(), number), "slipway applications revisions "+app.Ref()+" lists them")
	} else if err != nil {
		return rev, reach{}, err
	}
	var by reach
	if by.change, err = tx.ChangeOfRevision(ctx, app.ID, number); err != nil {
		return rev, by, err
	}
	if by.task, err = tx.Task(ctx, by.change.TaskID); err != nil {
		return rev, by, err
	}
	if by.task.State != slipway.Succeeded {
		return rev, by, slipway.Errorf(slipway.Conflict, "revision %d was never reached: task %d %s", number, by.task.ID, ended[by.task.State]).
			WithHint("choose one that succeeded")
	}
	return rev, by, nil
}

// considered is how many revisions are looked at for one to go back to.
const considered = 50

// revisionBefore chooses where to go back to: where the cluster has stayed when the last
// change never reached it, or else the newest revision at an earlier version.
func revisionBefore(ctx context.Context, tx *store.Tx, app slipway.Application) (int64, error) {
	now := version{app.AppVersion, app.DriverVersion}
	for n := app.Revision - 1; n > 0 && n >= app.Revision-considered; n-- {
		rev, _, err := reachedRevision(ctx, tx, app, n)
		if slipway.Is(err, slipway.Conflict) {
			continue
		} else if err != nil {
			return 0, err
		}
		way := direction(now, version{rev.Spec.App.Version, rev.Spec.Driver.Version})
		if way == back || n == app.Applied {
			return n, nil
		}
	}
	return 0, errNowhere
}

// judge decides what kind of change the way to the target is, and whether it is open.
func (p *prepared) judge(ctx context.Context, tx *store.Tx, target slipway.Revision, by reach) error {
	if target.Number == p.app.Revision {
		return slipway.Errorf(slipway.Conflict, "revision %d is the one that is wanted now", target.Number).WithHint("name an earlier one")
	}
	var err error
	p.parsed, err = parse(SpecInput{Project: p.env.Project, Environment: p.env.Name, Source: []byte(target.Source), File: fmt.Sprintf("revision %d", target.Number)})
	if err != nil {
		return err
	}
	if p.driver, err = tx.DriverByDigest(ctx, target.DriverDigest); err != nil {
		return err
	}
	f, err := p.unknownSecrets(ctx, tx)
	if err != nil {
		return err
	}
	if f = append(f, spec.CheckAgainstDriver(p.spec, p.driver.Spec, p.at)...); len(f) > 0 {
		return refusal(p.in.File, f)
	}
	to, now := version{p.spec.App.Version, p.spec.Driver.Version}, version{p.app.AppVersion, p.app.DriverVersion}
	switch direction(now, to) {
	case nowhere:
		if p.stand.redo {
			return slipway.Errorf(slipway.Conflict, "the last upgrade failed half-way, at %s", now.app).
				WithHint("retry its task, or go back to a revision at an earlier version")
		}
		p.kind = slipway.ConfigureChange
	case back:
		p.kind = slipway.RollbackChange
		p.stand.from = now
		applied, err := tx.Revision(ctx, p.app.ID, p.app.Applied)
		if err != nil {
			return err
		}
		left, err := tx.DriverByDigest(ctx, applied.DriverDigest)
		if err != nil {
			return err
		}
		p.left = &left
		if err := spec.RollbackAllowed(left.Spec, now.app, to.app); err != nil {
			return err
		}
	default:
		return slipway.Errorf(slipway.Conflict, "revision %d is at %s with driver %s, and the cluster has %s with driver %s: that is no way back",
			target.Number, to.app, to.driver, now.app, now.driver).
			WithHint("deploy it: slipway applications revisions %s %d > %s.toml prints its file", p.app.Ref(), target.Number, p.app.Name)
	}
	return p.reversible(ctx, tx, by)
}

// reversible refuses a way back behind an action whose effects cannot be undone: the
// earlier version would meet what it does not know.
func (p *prepared) reversible(ctx context.Context, tx *store.Tx, by reach) error {
	b, err := begunForGood(ctx, tx, p.app.ID, by)
	if err != nil || b == nil {
		return err
	}
	return slipway.Errorf(slipway.Conflict, "the action %s of task %d has begun since revision %d, and what it does cannot be undone", b.Action, b.TaskID, by.change.Revision).
		WithHint("restore from a backup that was made before task %d, or deploy a later version that puts it right", b.TaskID)
}

// begunForGood finds an action that has begun since a revision was reached, and whose
// effects cannot be undone; nil when there is none.
func begunForGood(ctx context.Context, tx *store.Tx, app int64, by reach) (*store.BegunAction, error) {
	begun, err := tx.ActionsSince(ctx, app, by.change.Number, by.task.EndedAt)
	if err != nil {
		return nil, err
	}
	drivers := map[int64]slipway.Driver{} // by change
	for _, b := range begun {
		d, known := drivers[b.ChangeID]
		if !known {
			ch, err := tx.Change(ctx, b.ChangeID)
			if err != nil {
				return nil, err
			}
			if d, err = driverOfHooks(ctx, tx, ch); err != nil {
				return nil, err
			}
			drivers[b.ChangeID] = d
		}
		for _, a := range d.Spec.Actions {
			if a.Name == b.Action && a.Irreversible {
				return &b, nil
			}
		}
	}
	return nil, nil
}

// beyond tells, of a configuration of what runs, that an upgrade which never reached its
// end has begun what cannot be undone: the data may be ahead of the version.
func (p *prepared) beyond(ctx context.Context, tx *store.Tx) (string, error) {
	if p.kind != slipway.ConfigureChange || p.app.Applied == 0 || p.app.Applied == p.app.Revision {
		return "", nil
	}
	_, by, err := reachedRevision(ctx, tx, p.app, p.app.Applied)
	if slipway.Is(err, slipway.Conflict) {
		return "", nil // it was reached by half, and the plan says so already
	} else if err != nil {
		return "", err
	}
	b, err := begunForGood(ctx, tx, p.app.ID, by)
	if err != nil || b == nil {
		return "", err
	}
	return fmt.Sprintf("the action %s of task %d cannot be undone, and its upgrade did not reach its end: the data may be ahead of %s", b.Action, b.TaskID, p.app.AppVersion), nil
}
