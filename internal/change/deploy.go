package change

import (
	"context"
	"errors"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// started is the answer to a request that starts a task, as it is kept under an
// idempotency key: by IDs, so that a repeat shows the task as it is by then.
type started struct {
	Application int64    `json:"application"`
	Change      int64    `json:"change,omitempty"`
	Task        int64    `json:"task"`
	Warnings    []string `json:"warnings,omitempty"`
}

// start runs f once under the caller's key, and reads what it started.
func (s *Service) start(ctx context.Context, r request, f func(tx *store.Tx) (started, error)) (Accepted, error) {
	a, replayed, err := once(ctx, s.Store, r, f)
	if err != nil {
		return Accepted{}, err
	}
	out := Accepted{Warnings: a.Warnings, Replayed: replayed}
	err = s.Store.Read(ctx, func(tx *store.Tx) (err error) {
		if out.Application, err = tx.Application(ctx, a.Application); err != nil {
			return err
		}
		if a.Change != 0 {
			if out.Change, err = tx.Change(ctx, a.Change); err != nil {
				return err
			}
		}
		out.Task, err = tx.Task(ctx, a.Task)
		return err
	})
	return out, err
}

// Deploy accepts an application.toml as what is wanted. Who may write in the environment
// may.
func (s *Service) Deploy(ctx context.Context, c slipway.Caller, in DeployInput) (Accepted, error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return Accepted{}, err
	}
	if in.ExpectedRevision == nil {
		return Accepted{}, invalid("expected_revision", "it is missing", "give the revision that the plan named; 0 for a new application")
	}
	if *in.ExpectedRevision < 0 {
		return Accepted{}, invalid("expected_revision", "it is less than 0", "give the revision that the plan named; 0 for a new application")
	}
	p, err := parse(in.SpecInput)
	if err != nil {
		return Accepted{}, err
	}
	r := request{c, in.IdempotencyKey, "application.deploy",
		[]any{in.Project, in.Environment, string(in.Source), *in.ExpectedRevision, in.Overtake}}
	out, err := s.start(ctx, r, func(tx *store.Tx) (started, error) { return s.accept(ctx, tx, c, in, p) })
	if errors.Is(err, errLate) {
		// The store has told us only that we came too late. Say who was first.
		if e := s.overtaken(ctx, c, in, p); e != nil {
			return Accepted{}, e
		}
	}
	return out, err
}

// errLate says that another request changed the application between our look and our write.
var errLate error = slipway.Errorf(slipway.Conflict, "the application changed at this moment").WithHint("plan again, then deploy")

// late marks an error of the store that means so.
func late(err error) error {
	if isStale(err) || slipway.Is(err, slipway.Conflict) {
		return fmt.Errorf("%w: %w", errLate, err)
	}
	return err
}

// accept writes everything that follows from a yes.
func (s *Service) accept(ctx context.Context, tx *store.Tx, c slipway.Caller, in DeployInput, parsed parsed) (started, error) {
	p, err := prepare(ctx, tx, c, parsed)
	if err != nil {
		return started{}, err
	}
	if p.app.Revision != *in.ExpectedRevision {
		return started{}, unexpected(ctx, tx, p.app, p.spec.Name, *in.ExpectedRevision)
	}
	overtake := in.Overtake
	warnings := append(waiting(p.open, overtake), p.warnings()...)
	if c.TaskID != 0 && holds(p.open, c.TaskID) {
		// An action changes its own application. Its task would wait for itself.
		overtake, warnings = true, p.warnings()
	}
	if p.app.ID == 0 {
		p.app, err = tx.CreateApplication(ctx, slipway.Application{EnvironmentID: p.env.ID, Name: p.spec.Name, Kind: p.spec.Kind(),
			AppVersion: p.spec.App.Version, DriverName: p.driver.Name, DriverVersion: p.driver.Version})
		if err != nil {
			return started{}, late(err)
		}
	}
	return s.enact(ctx, tx, c, p, p.app.Revision, overtake, warnings)
}

// enact writes the new revision of a spec, its change and its task, with their audit line.
// from is the revision that the change leads away from.
func (s *Service) enact(ctx context.Context, tx *store.Tx, c slipway.Caller, p prepared, from int64, overtake bool, warnings []string) (started, error) {
	revision := p.app.Revision + 1
	// The change comes first: it holds the application's row until the end, so that of two
	// deploys at once the second sees the first one's revision.
	change, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: p.app.ID, Kind: p.kind, Revision: revision,
		FromRevision: from, Overtake: overtake, RequestedBy: c.UserName})
	if err != nil {
		return started{}, err
	}
	if err := tx.SetApplicationWanted(ctx, p.app.ID, p.app.Revision, revision, change.Number); err != nil {
		return started{}, late(err)
	}
	_, err = tx.CreateRevision(ctx, slipway.Revision{ApplicationID: p.app.ID, Number: revision, Spec: p.spec,
		Source: string(p.in.Source), DriverDigest: p.driver.Digest, CreatedBy: c.UserName})
	if err != nil {
		return started{}, err
	}
	if err := s.putPools(ctx, tx, p); err != nil {
		return started{}, err
	}
	t, err := s.begin(ctx, tx, p.app, slipway.Task{Kind: taskKind[p.kind], Title: p.title(), ChangeID: change.ID, RequestedBy: c.UserName})
	if err != nil {
		return started{}, err
	}
	after := facts{"revision": revision, "change": change.Number, "task": t.ID, "overtake": overtake, "diff": spec.Diff(p.wanted.Spec, p.spec)}
	if p.app.Kind == slipway.DriverApplication {
		after["version"], after["driver"] = p.spec.App.Version, p.driver.Name+" "+p.driver.Version
	}
	err = record(ctx, tx, c, deed{"application." + string(p.kind), "application", p.app.ID, p.app.Ref(), p.before(), after})
	return started{p.app.ID, change.ID, t.ID, warnings}, err
}

var taskKind = map[slipway.ChangeKind]slipway.TaskKind{
	slipway.InstallChange: slipway.InstallTask, slipway.UpgradeChange: slipway.UpgradeTask, slipway.RollbackChange: slipway.RollbackTask,
	slipway.ConfigureChange: slipway.ConfigureTask, slipway.DeleteChange: slipway.DeleteTask,
}

// title says in a line what the task does: "upgrade guestbook to 1.1.0".
func (p *prepared) title() string {
	switch {
	case p.kind == slipway.InstallChange && p.spec.Kind() == slipway.RunnerApplication:
		return "set up the runner pools of " + p.spec.Name
	case p.kind == slipway.InstallChange:
		return "install " + p.spec.Name + " " + p.spec.App.Version
	case p.kind == slipway.ConfigureChange && p.target > 0:
		return fmt.Sprintf("configure %s as in revision %d", p.spec.Name, p.target)
	case p.kind == slipway.ConfigureChange:
		return "configure " + p.spec.Name
	case p.kind == slipway.RollbackChange && p.stand.from.app == p.spec.App.Version:
		return fmt.Sprintf("roll %s back to driver %s %s", p.spec.Name, p.driver.Name, p.driver.Version)
	case p.kind == slipway.RollbackChange:
		return "roll " + p.spec.Name + " back to " + p.spec.App.Version
	case p.stand.from.app == p.spec.App.Version && p.stand.from.driver != p.spec.Driver.Version:
		return fmt.Sprintf("upgrade %s to driver %s %s", p.spec.Name, p.driver.Name, p.driver.Version)
	}
	return "upgrade " + p.spec.Name + " to " + p.spec.App.Version
}

func (p *prepared) before() facts {
	if p.wanted.Number == 0 {
		return nil
	}
	if p.app.Kind == slipway.RunnerApplication {
		return facts{"revision": p.wanted.Number}
	}
	return facts{"revision": p.wanted.Number, "version": p.wanted.Spec.App.Version,
		"driver": p.wanted.Spec.Driver.Name + " " + p.wanted.Spec.Driver.Version}
}

// begin makes a task of an application, says that it is there, and wakes its reconciler.
func (s *Service) begin(ctx context.Context, tx *store.Tx, app slipway.Application, t slipway.Task) (slipway.Task, error) {
	t.ApplicationID = app.ID
	t, err := tx.CreateTask(ctx, t)
	if err != nil {
		return t, err
	}
	if err := changed(ctx, tx, app, t.ID); err != nil {
		return t, err
	}
	return t, s.wake(ctx, tx, slipway.WakeTask, t.ID)
}

// changed says that an application and a task of it must be read again.
func changed(ctx context.Context, tx *store.Tx, app slipway.Application, taskID int64) error {
	for _, e := range []slipway.Event{
		{Kind: "application.changed", Noun: "application", NounID: app.ID},
		{Kind: "task.changed", Noun: "task", NounID: taskID},
	} {
		e.Project, e.Environment = app.Project, app.Environment
		if err := tx.AddEvent(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func holds(tasks []slipway.Task, id int64) bool {
	for _, t := range tasks {
		if t.ID == id {
			return true
		}
	}
	return false
}

// unexpected says which revision is wanted instead, and who wanted it when.
func unexpected(ctx context.Context, tx *store.Tx, app slipway.Application, name string, expected int64) error {
	if app.ID == 0 {
		return slipway.Errorf(slipway.Conflict, "revision %d of %s was expected, and there is no such application", expected, name).
			WithHint("plan again: it may have been deleted, or be in another environment")
	}
	r, err := tx.Revision(ctx, app.ID, app.Revision)
	if err != nil {
		return err
	}
	return slipway.Errorf(slipway.Conflict, "revision %d of %s was expected, and revision %d is wanted now: %s deployed it on %s",
		expected, app.Ref(), app.Revision, r.CreatedBy, r.CreatedAt.Format("2006-01-02 at 15:04:05 UTC")).
		WithHint("plan again, and look at what changed in between")
}

// overtaken explains a conflict of a deploy by what stands now; nil when that explains
// nothing.
func (s *Service) overtaken(ctx context.Context, c slipway.Caller, in DeployInput, p parsed) error {
	var why error
	// Without an explanation the conflict itself stands.
	_ = s.Store.Read(ctx, func(tx *store.Tx) error {
		e, err := environment(ctx, tx, c, in.Project, in.Environment)
		if err != nil {
			return err
		}
		app, err := tx.ApplicationByName(ctx, e.ID, p.spec.Name)
		if err != nil {
			return err
		}
		switch {
		case app.Deleting:
			open, err := openTasks(ctx, tx, app.ID)
			if err != nil {
				return err
			}
			why = beingDeleted(app, open)
		case app.Revision != *in.ExpectedRevision:
			why = unexpected(ctx, tx, app, p.spec.Name, *in.ExpectedRevision)
		}
		return nil
	})
	return why
}
