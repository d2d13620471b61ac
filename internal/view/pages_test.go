package view_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/view"
)

type storeTx = store.Tx

// TestApplicationPage stands in the world of both databases.
func TestApplicationPage(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		start := w.startTask("worker")
		p := must[view.ApplicationPage](t)(w.reader.Application(t.Context(), w.admin(), w.production.ID))

		if p.Application.Revision != 2 || p.Application.Applied != 1 || p.Spec.App.Version != "1.1.0" || p.Driver.Digest != driver.Digest {
			t.Errorf("got revision %d, applied %d, version %s, driver %s", p.Application.Revision, p.Application.Applied, p.Spec.App.Version, p.Driver.Digest)
		}
		var names []string
		byName := map[string]view.Component{}
		for _, c := range p.Components {
			names = append(names, c.Name)
			byName[c.Name] = c
		}
		if diff := cmp.Diff(names, []string{"cache", "web", "worker"}); diff != "" {
			t.Errorf("components (-got +want):\n%s", diff)
		}
		if byName["cache"].Declared || !byName["web"].Declared {
			t.Error("want web declared by the driver and cache not")
		}
		web := byName["web"]
		if got, want := web.Image, "registry.example.com/guestbook:1.1.0-patched"; got != want {
			t.Errorf("image = %q, want %q", got, want)
		}
		for _, s := range web.Env {
			if strings.Contains(s.Value, "hunter2") {
				t.Errorf("%s shows %q, want it masked", s.Name, s.Value)
			}
			if s.Name == "LOG_LEVEL" && s.Value != "info" {
				t.Errorf("LOG_LEVEL shows %q, want info", s.Value)
			}
		}
		if diff := cmp.Diff(web.Secrets, []view.Setting{{Name: "DATABASE_URL", Value: "guestbook-db"}}); diff != "" {
			t.Errorf("secrets (-got +want):\n%s", diff)
		}
		worker := byName["worker"]
		if !worker.Stopped || worker.StoppedBy == nil || worker.StoppedBy.ID != w.upgrade.ID || worker.StoppedBy.Kind != slipway.UpgradeTask || worker.StoppedAt.IsZero() || !worker.Starting {
			t.Errorf("worker = %+v, want it stopped by task %d and being started", worker, w.upgrade.ID)
		}
		if len(p.Services) != 1 || p.Services[0].Name != "page" || p.Services[0].Port != 8080 {
			t.Errorf("services = %+v, want the page on 8080", p.Services)
		}

		// Open tasks from the oldest; all root tasks from the newest. A child is neither.
		if got, want := ids(p.Open), []int64{w.upgrade.ID, start.ID}; !cmp.Equal(got, want) {
			t.Errorf("open tasks %v, want %v", got, want)
		}
		if got := ids(p.Tasks.Items); len(got) != 3 || got[0] != start.ID || got[1] != w.upgrade.ID {
			t.Errorf("tasks %v, want the start, the upgrade and the install", got)
		}

		if got := p.Revisions.Items; len(got) != 2 || !got[0].Wanted || got[0].Applied || got[1].Wanted || !got[1].Applied ||
			got[0].TaskID != w.upgrade.ID || got[0].Change != 2 {
			t.Errorf("revisions = %+v", got)
		}
		if diff := cmp.Diff(p.Revisions.Items[0].Diff, []view.DiffLine{{Path: "app.version", Old: "1.0.0", New: "1.1.0"}}); diff != "" {
			t.Errorf("differences of revision 2 (-got +want):\n%s", diff)
		}
		if len(p.Revisions.Items[1].Diff) > 0 {
			t.Errorf("the first revision differs from nothing, got %v", p.Revisions.Items[1].Diff)
		}

		byRef := must[view.ApplicationPage](t)(w.reader.ApplicationByName(t.Context(), w.admin(), "shop", "production", "guestbook"))
		if diff := cmp.Diff(byRef, p); diff != "" {
			t.Errorf("by name and by ID (-name +id):\n%s", diff)
		}
	})
}

// startTask has somebody start a component of shop/production.
func (w *world) startTask(component string) (t slipway.Task) {
	w.Helper()
	w.write(func(tx *store.Tx) (err error) {
		t, err = tx.CreateTask(w.Context(), slipway.Task{Kind: slipway.StartTask, Title: "start " + component, ApplicationID: w.production.ID,
			Args: []byte(`{"components":["` + component + `"]}`), RequestedBy: "ada"})
		return err
	})
	return t
}

func ids(rows []view.TaskRow) []int64 {
	var out []int64
	for _, r := range rows {
		out = append(out, r.ID)
	}
	return out
}

// TestApplicationWithoutItsDriver stands in the world of both databases: a driver may be
// deleted once only old revisions name it, and their application can still be read.
func TestApplicationWithoutItsDriver(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.write(func(tx *store.Tx) error {
			for _, a := range []slipway.Application{w.demo, w.dev, w.production} {
				if err := tx.MarkApplicationDeleted(ctx, a.ID); err != nil {
					return err
				}
			}
			upgrade := store.TaskEnd{State: slipway.Cancelled}
			if err := tx.FinishTask(ctx, w.upgrade.ID, w.upgrade.Epoch, upgrade); err != nil {
				return err
			}
			return tx.DeleteDriver(ctx, driver.Name, driver.Version)
		})
		p := must[view.ApplicationPage](t)(w.reader.Application(ctx, w.admin(), w.production.ID))
		if p.Driver.ID != 0 || p.Application.State != slipway.AppDeleted {
			t.Errorf("got driver %d and state %s, want none and deleted", p.Driver.ID, p.Application.State)
		}
		if p := must[view.TaskPage](t)(w.reader.Task(ctx, w.admin(), w.upgrade.ID)); p.Task.State != slipway.Cancelled || len(p.Planned) > 0 {
			t.Errorf("got %s with %d planned steps, want it cancelled and none", p.Task.State, len(p.Planned))
		}
		_, err := w.reader.ApplicationByName(ctx, w.admin(), "shop", "production", "guestbook")
		if !slipway.Is(err, slipway.NotFound) {
			t.Errorf("by name: %v, want NotFound: the name is free", err)
		}
	})
}

// TestApplications stands in the world of both databases.
func TestApplications(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		rows := must[view.List[view.ApplicationRow]](t)(w.reader.Applications(t.Context(), w.admin(), view.ApplicationFilter{Project: "shop"}, view.Page{}))
		if len(rows.Items) != 2 {
			t.Fatalf("got %d rows, want 2", len(rows.Items))
		}
		dev, production := rows.Items[0], rows.Items[1]
		if dev.OpenTask != 0 || len(dev.Stopped) != 0 {
			t.Errorf("shop/dev has task %d and stopped %v, want none", dev.OpenTask, dev.Stopped)
		}
		if production.OpenTask != w.upgrade.ID || !cmp.Equal(production.Stopped, []string{"worker"}) {
			t.Errorf("shop/production has task %d and stopped %v, want %d and worker", production.OpenTask, production.Stopped, w.upgrade.ID)
		}
		first := must[view.List[view.ApplicationRow]](t)(w.reader.Applications(t.Context(), w.admin(), view.ApplicationFilter{}, view.Page{Limit: 2}))
		rest := must[view.List[view.ApplicationRow]](t)(w.reader.Applications(t.Context(), w.admin(), view.ApplicationFilter{}, view.Page{Limit: 2, After: first.Next}))
		if len(first.Items) != 2 || len(rest.Items) != 1 || rest.Next != "" || rest.Items[0].ID == first.Items[1].ID {
			t.Errorf("pages of %d and %d, then %q; want 2, 1 and no more", len(first.Items), len(rest.Items), rest.Next)
		}
		for _, f := range []view.ApplicationFilter{{State: slipway.AppFailed}, {Name: "other"}, {Name: "guestbook", Kind: slipway.RunnerApplication}} {
			if got := must[view.List[view.ApplicationRow]](t)(w.reader.Applications(t.Context(), w.admin(), f, view.Page{})); len(got.Items) > 0 {
				t.Errorf("%+v finds %d, want none", f, len(got.Items))
			}
		}
	})
}

// TestRetriedTaskPage stands in the world of both databases.
func TestRetriedTaskPage(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		w.write(func(tx *store.Tx) error {
			return tx.FinishTask(ctx, w.upgrade.ID, w.upgrade.Epoch, store.TaskEnd{State: slipway.Failed})
		})
		if p := must[view.TaskPage](t)(w.reader.Task(ctx, w.admin(), w.upgrade.ID)); !p.Retryable || p.RetriedBy != 0 {
			t.Errorf("after its failure: retryable %v, retried by %d", p.Retryable, p.RetriedBy)
		}
		var retry slipway.Task
		w.write(func(tx *store.Tx) (err error) {
			retry, err = tx.CreateTask(ctx, slipway.Task{Kind: slipway.UpgradeTask, Title: "upgrade", ApplicationID: w.production.ID, ChangeID: w.upgrade.ChangeID,
				RetryOf: w.upgrade.ID, Attempt: 2, Resume: slipway.Resume{From: "hook.upgrade.core", Done: map[string]int64{"check": w.upgrade.ID}}})
			return err
		})
		p := must[view.TaskPage](t)(w.reader.Task(ctx, w.admin(), retry.ID))
		if diff := cmp.Diff([]view.KeptStep{{Key: "check", Name: "Check the change", Task: w.upgrade.ID}}, p.Kept); diff != "" {
			t.Errorf("kept (-want +got):\n%s", diff)
		}
		for _, s := range p.Planned {
			if s.Key == "check" {
				t.Error("a step that stays done is foretold")
			}
		}
		first := must[view.TaskPage](t)(w.reader.Task(ctx, w.admin(), w.upgrade.ID))
		if first.RetriedBy != retry.ID || first.Retryable {
			t.Errorf("the first attempt: retried by %d, retryable %v", first.RetriedBy, first.Retryable)
		}
	})
}

// TestRollbackPage stands in the world of both databases: the hooks that are foretold are
// those of the driver that is left behind.
func TestRollbackPage(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		later := slipway.DriverSpec{Name: driver.Name, Version: "9.0.0", Actions: []slipway.Action{{Name: "undo", Hook: slipway.Rollback, Mode: slipway.Pre}}}
		var task slipway.Task
		w.write(func(tx *store.Tx) error {
			if _, err := tx.CreateDriver(ctx, slipway.Driver{Name: later.Name, Version: later.Version, Digest: "sha256:later", Spec: later}, []byte("later")); err != nil {
				return err
			}
			for n, digest := range map[int64]string{11: "sha256:later", 12: driver.Digest} {
				_, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: w.production.ID, Number: n, Spec: specOf(w.production.Name, "1.0.0"), DriverDigest: digest})
				if err != nil {
					return err
				}
			}
			c, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: w.production.ID, Kind: slipway.RollbackChange, Revision: 12, FromRevision: 11})
			if err != nil {
				return err
			}
			task, err = tx.CreateTask(ctx, slipway.Task{Kind: slipway.RollbackTask, Title: "roll back", ApplicationID: w.production.ID, ChangeID: c.ID})
			return err
		})
		var got []string
		for _, s := range must[view.TaskPage](t)(w.reader.Task(ctx, w.admin(), task.ID)).Planned {
			got = append(got, s.Name)
		}
		want := []string{"Check the change", "Run the rollback pre-hook", "Run the rollback hook", "Apply the configuration", "Wait until it is ready"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("foretold (-want +got):\n%s", diff)
		}
	})
}

// TestTaskPage stands in the world of both databases.
func TestTaskPage(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		p := must[view.TaskPage](t)(w.reader.Task(ctx, w.admin(), w.upgrade.ID))
		if len(p.Steps) != 2 || p.Change.Number != 2 || p.Application.ID != w.production.ID || p.StartedBy != nil {
			t.Fatalf("got %+v", p)
		}
		core := p.Steps[1]
		if !core.OutputCut || core.Output != "stopping\n" || !cmp.Equal(core.Notes, []string{"a note"}) || len(core.Runs) != 1 || !cmp.Equal(ids(core.Children), []int64{w.stop.ID}) {
			t.Errorf("core step = %+v", core)
		}
		if !cmp.Equal(p.Stopped, []string{"worker"}) {
			t.Errorf("stopped since it: %v, want worker", p.Stopped)
		}
		var planned []string
		for _, s := range p.Planned {
			planned = append(planned, s.Key)
		}
		if diff := cmp.Diff(planned, []string{"apply", "ready"}); diff != "" {
			t.Errorf("planned (-got +want):\n%s", diff)
		}

		child := must[view.TaskPage](t)(w.reader.Task(ctx, w.admin(), w.stop.ID))
		if child.StartedBy == nil || child.StartedBy.ID != w.upgrade.ID || child.StartedBy.Kind != slipway.UpgradeTask || child.Task.ParentKind != slipway.UpgradeTask {
			t.Errorf("the stop was started by %+v, want the upgrade", child.StartedBy)
		}

		next := w.deploy(w.production, slipway.UpgradeChange, slipway.UpgradeTask, "1.2.0", slipway.Queued)
		waits := must[view.TaskPage](t)(w.reader.Task(ctx, w.admin(), next.ID))
		if !cmp.Equal(ids(waits.Waiting), []int64{w.upgrade.ID}) {
			t.Errorf("it waits for %v, want task %d", ids(waits.Waiting), w.upgrade.ID)
		}

		again := must[view.TaskPage](t)(w.reader.Task(ctx, w.admin(), w.upgrade.ID))
		if again.Seen != p.Seen {
			t.Error("Seen differs though nothing of the task has changed")
		}
		w.write(func(tx *store.Tx) error { return tx.AddStepNote(ctx, w.step.ID, "another note") })
		if again = must[view.TaskPage](t)(w.reader.Task(ctx, w.admin(), w.upgrade.ID)); again.Seen == p.Seen {
			t.Error("Seen is the same though a note was added")
		}

		step := must[slipway.Step](t)(w.reader.Step(ctx, w.admin(), w.upgrade.ID, w.step.ID))
		if step.Output != "stopping\n" {
			t.Errorf("output = %q", step.Output)
		}
		if _, err := w.reader.Step(ctx, w.admin(), w.stop.ID, w.step.ID); !slipway.Is(err, slipway.NotFound) {
			t.Errorf("a step of another task: %v, want NotFound", err)
		}
	})
}

// TestTasks stands in the world of both databases.
func TestTasks(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		for _, tc := range []struct {
			what string
			f    view.TaskFilter
			want int
		}{
			{"root tasks", view.TaskFilter{}, 4},
			{"with those that actions started", view.TaskFilter{Children: true}, 5},
			{"open ones", view.TaskFilter{Open: true}, 1},
			{"of an application", view.TaskFilter{ApplicationID: w.production.ID}, 2},
			{"of an environment", view.TaskFilter{Project: "demo", Environment: "dev"}, 1},
			{"in a state", view.TaskFilter{State: slipway.Succeeded}, 3},
		} {
			if got := must[view.List[view.TaskRow]](t)(w.reader.Tasks(t.Context(), w.admin(), tc.f, view.Page{})); len(got.Items) != tc.want {
				t.Errorf("%s: %d, want %d", tc.what, len(got.Items), tc.want)
			}
		}
	})
}

// TestRevision stands in the world of both databases: no page shows what looks like a
// secret.
func TestRevision(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		p := must[view.RevisionPage](t)(w.reader.Revision(t.Context(), w.admin(), w.production.ID, 2))
		if !p.Row.Wanted || p.Row.TaskID != w.upgrade.ID || len(p.Row.Diff) != 1 {
			t.Errorf("row = %+v", p.Row)
		}
		lines := map[string]string{}
		for _, l := range p.Lines {
			lines[l.Path] = l.New
			if strings.Contains(l.New, "hunter2") {
				t.Errorf("%s shows %q, want it masked", l.Path, l.New)
			}
		}
		if lines["app.version"] != "1.1.0" || lines["components.web.secrets.DATABASE_URL"] != "secret guestbook-db" {
			t.Errorf("lines = %v", lines)
		}
	})
}

// TestSecrets stands in the world of both databases: who uses a secret, in a component, in a
// parameter, or as a credential of a pool.
func TestSecrets(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		ci := w.runners("shop", "dev", "team-ci")
		w.write(func(tx *store.Tx) error {
			a, err := tx.Application(ctx, ci.ApplicationID)
			if err != nil {
				return err
			}
			for _, name := range []string{"github-token", "jobs"} {
				if _, err := tx.PutSecret(ctx, a.EnvironmentID, name, []byte("sealed"), "ada"); err != nil {
					return err
				}
			}
			runner := slipway.RunnerService{Replicas: 2, Actions: slipway.RunnerActions{Organization: "acme", Credential: "github-token"}}
			night := runner
			night.Actions.JobsCredential = "jobs"
			rev, err := tx.CreateRevision(ctx, slipway.Revision{
				ApplicationID: a.ID, Number: 1, CreatedBy: "ada",
				Spec: slipway.ApplicationSpec{SchemaVersion: 1, Name: a.Name, Services: map[string]slipway.RunnerService{"runner": runner, "night": night}},
			})
			if err != nil {
				return err
			}
			c, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: a.ID, Kind: slipway.InstallChange, Revision: rev.Number, RequestedBy: "ada"})
			if err != nil {
				return err
			}
			return tx.SetApplicationWanted(ctx, a.ID, 0, rev.Number, c.Number)
		})
		got := map[string][]string{}
		for p := (view.Page{Limit: 2}); ; {
			l := must[view.List[view.SecretRow]](t)(w.reader.Secrets(t.Context(), w.admin(), "shop", "dev", p))
			for _, s := range l.Items {
				got[s.Name] = s.UsedBy
			}
			if p.After = l.Next; l.Next == "" {
				break
			}
		}
		want := map[string][]string{"guestbook-db": {"shop/dev/guestbook"}, "smtp-login": {"shop/dev/guestbook"}, "unused": nil,
			"github-token": {"shop/dev/team-ci"}, "jobs": {"shop/dev/team-ci"}}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("uses (-got +want):\n%s", diff)
		}
	})
}

// TestTaskPages stands in the world of both databases: whatever the limit, following the
// cursor gives every task once, and those under a step never.
func TestTaskPages(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx := t.Context()
		var want []int64
		w.write(func(tx *store.Tx) error {
			for i := range 9 {
				of := slipway.Task{Kind: slipway.StartTask, ApplicationID: w.production.ID}
				switch i % 3 {
				case 1: // under a step
					of.ParentStepID = w.step.ID
				case 2: // called by an action itself: under its root, and under no step
					of.RootID = w.upgrade.ID
				}
				made, err := tx.CreateTask(ctx, of)
				if err != nil {
					return err
				}
				if i%3 != 1 {
					want = append([]int64{made.ID}, want...)
				}
			}
			return nil
		})
		want = append(want, w.upgrade.ID, w.upgrade.ID-1) // and the install before it
		for limit := 1; limit <= 10; limit++ {
			var got []int64
			for p := (view.Page{Limit: limit}); ; {
				l := must[view.List[view.TaskRow]](t)(w.reader.Tasks(ctx, w.admin(), view.TaskFilter{ApplicationID: w.production.ID}, p))
				if len(l.Items) > limit {
					t.Fatalf("a page of %d, want at most %d", len(l.Items), limit)
				}
				got = append(got, ids(l.Items)...)
				if p.After = l.Next; l.Next == "" {
					break
				}
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("by %d (-got +want):\n%s", limit, diff)
			}
		}
		for _, cursor := range []string{"x", "-1.x", "1", "1.x"} {
			if _, err := w.reader.Tasks(ctx, w.admin(), view.TaskFilter{}, view.Page{After: cursor}); !slipway.Is(err, slipway.Invalid) {
				t.Errorf("cursor %q: %v, want it refused", cursor, err)
			}
		}
	})
}
