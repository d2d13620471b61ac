package application

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// The tests here stand in the fake world of interrupted_test.go.

// way is what a later driver adds, which knows the way back.
const way = `
    - { name: hold, hook: rollback, mode: pre, location: "actions.py::backup" }
    - { name: undo, hook: rollback, mode: core, location: "actions.py::upgrade" }
    - { name: check_rollback, hook: rollback, mode: post, location: "actions.py::check_release" }
`

// laterDriver is the guestbook's driver 1.1.0, which has one component more.
func laterDriver(b *bench) (spec.Bundle, slipway.DriverSpec) {
	bundle, err := spec.ReadBundleDir(filepath.Join("..", "..", "..", "examples", "drivers", "guestbook"))
	b.must(err)
	files := map[string][]byte{}
	for _, p := range bundle.Paths() {
		files[p], _ = bundle.File(p)
	}
	source := strings.TrimRight(string(files["driver.slipway.yml"]), "\n") + way
	source = strings.Replace(source, "version: 1.0.0 #", "version: 1.1.0 #", 1)
	source = strings.Replace(source, "  parameters:\n", "    cache: { selector: { app: cache } }\n\n  rollbacks: [{ from: \">=1.1.0\", to: \"<1.1.0\" }]\n\n  parameters:\n", 1)
	files["driver.slipway.yml"] = []byte(source)
	later, err := spec.NewBundle(files)
	b.must(err)
	parsed, _, err := spec.ParseDriver(later)
	b.must(err)
	return later, parsed
}

// rollbackBench is a bench whose application runs 1.1.0 with driver 1.1.0, and has a
// rollback to 1.0.0 with driver 1.0.0 waiting.
func rollbackBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	bundle, parsed := laterDriver(b)
	packed, digest, err := spec.Pack(bundle)
	b.must(err)
	ctx := t.Context()
	b.must(b.store.InTx(ctx, func(tx *store.Tx) error {
		if _, err := tx.CreateDriver(ctx, slipway.Driver{Name: parsed.Name, Version: parsed.Version, Digest: digest, Spec: parsed}, packed); err != nil {
			return err
		}
		epoch, err := tx.ClaimTask(ctx, b.task.ID, "test")
		if err != nil {
			return err
		}
		if err := tx.FinishTask(ctx, b.task.ID, epoch, store.TaskEnd{State: slipway.Succeeded}); err != nil {
			return err
		}
		first, err := tx.Revision(ctx, b.app.ID, 1)
		if err != nil {
			return err
		}
		third, fourth := first, first
		third.Number, third.DriverDigest, third.Spec.App.Version, third.Spec.Driver.Version = 3, digest, "1.1.0", "1.1.0"
		fourth.Number = 4
		for _, r := range []slipway.Revision{third, fourth} {
			if _, err := tx.CreateRevision(ctx, r); err != nil {
				return err
			}
			if err := tx.SetApplicationWanted(ctx, b.app.ID, r.Number-1, r.Number, 1); err != nil {
				return err
			}
		}
		if err := tx.SetApplicationApplied(ctx, b.app.ID, store.Applied{Revision: 3, AppVersion: "1.1.0", DriverName: parsed.Name, DriverVersion: "1.1.0"}); err != nil {
			return err
		}
		c, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: b.app.ID, Kind: slipway.RollbackChange, Revision: 4, FromRevision: 3})
		if err != nil {
			return err
		}
		b.task, err = tx.CreateTask(ctx, slipway.Task{Kind: slipway.RollbackTask, Title: "roll guestbook back to 1.0.0", ApplicationID: b.app.ID, ChangeID: c.ID})
		return err
	}))
	return b
}

// goBack moves the application as the task of the core's action would.
func (b *bench) goBack() {
	ctx := b.t.Context()
	b.must(b.store.InTx(ctx, func(tx *store.Tx) error {
		return tx.SetApplicationApplied(ctx, b.app.ID, store.Applied{Revision: 4, AppVersion: "1.0.0", DriverName: "guestbook", DriverVersion: "1.0.0"})
	}))
}

func TestARollbackEndsAsUndisturbedWhereverItIsKilled(t *testing.T) {
	t.Parallel()
	quiet := rollbackBench(t)
	quiet.goBack()
	f := newFake()
	quiet.run(f)
	want, calls := quiet.end(), f.calls
	const steps = "check succeeded \nhook.rollback.pre succeeded \n  hold completed\nhook.rollback.core succeeded \n  undo completed\nhook.rollback.post succeeded \n  check_rollback completed\n"
	if first, rest, _ := strings.Cut(want, "\n"); first != "succeeded ; application running at 1.0.0, revision 4" || rest != steps {
		t.Fatalf("undisturbed, after %d calls:\n%s", calls, want)
	}
	for _, c := range f.contexts {
		if c.App.Version != "1.0.0" || c.App.PreviousVersion == nil || *c.App.PreviousVersion != "1.1.0" || c.App.Driver.Version != "1.0.0" ||
			c.App.Driver.PreviousVersion == nil || *c.App.Driver.PreviousVersion != "1.1.0" || c.Task.Hook != slipway.Rollback {
			t.Errorf("context of %s: %+v", c.Task.Action, c.App)
		}
	}
	for n := 1; n <= calls; n++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("killed in call %d (%s), answer lost %v", n, f.did[n-1], after), func(t *testing.T) {
				t.Parallel()
				b := rollbackBench(t)
				b.goBack()
				world := newFake()
				world.dieAt, world.after = n, after
				b.run(world) // the life that ends
				world.dieAt = 0
				b.run(world) // the next one
				if diff := cmp.Diff(want, b.end()); diff != "" {
					t.Errorf("the end differs (-undisturbed +killed):\n%s\nthe world saw: %s", diff, strings.Join(world.did, ", "))
				}
				for id, n := range world.started {
					if n != 1 {
						t.Errorf("%s was started %d times", id, n)
					}
				}
			})
		}
	}
}

// A rollback whose action forgets the version has not succeeded.
func TestARollbackReachesItsVersion(t *testing.T) {
	t.Parallel()
	b := rollbackBench(t)
	b.run(newFake())
	if got := b.end(); !strings.HasPrefix(got, "failed the rollback actions ended, but the application is still at 1.1.0: no action called upgrade_deployment_version") {
		t.Errorf("the end is\n%s", got)
	}
}

// The actions of the driver that is left behind may name what only it has.
func TestComponentsOfARollback(t *testing.T) {
	t.Parallel()
	b := rollbackBench(t)
	b.must(b.store.Read(t.Context(), func(tx *store.Tx) error {
		s, err := readSnapshot(t.Context(), tx, b.task.ID)
		if err != nil {
			return err
		}
		if _, ok := s.components()["cache"]; !ok || len(s.components()) != 4 || s.acting().Version != "1.1.0" || s.Driver.Version != "1.0.0" {
			t.Errorf("components = %v, acting %s, driver %s", s.components(), s.acting().Version, s.Driver.Version)
		}
		return nil
	}))
}
