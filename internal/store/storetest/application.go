package storetest

import (
	"context"
	"errors"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func drivers(w *world) {
	t := w.T
	load := func(version, digest string) (slipway.Driver, error) {
		var d slipway.Driver
		err := w.try(func(ctx context.Context, tx *store.Tx) (err error) {
			d, err = tx.CreateDriver(ctx, slipway.Driver{Name: "guestbook", Version: version, Digest: digest, Source: "examples/guestbook",
				LoadedBy: "ann", Spec: slipway.DriverSpec{Name: "guestbook", Version: version,
					Parameters: []byte(`{"type":"object"}`), Actions: []slipway.Action{{Name: "backup", Hook: slipway.Upgrade, Mode: slipway.Pre}}},
			}, []byte("bundle of "+version))
			return err
		})
		return d, err
	}
	one, err := load("1.0.0", "sha256:aa")
	if err != nil {
		t.Fatal(err)
	}
	two, err := load("1.1.0", "sha256:bb")
	if err != nil {
		t.Fatal(err)
	}
	_, err = load("1.0.0", "sha256:cc")
	w.wantKind("the same version with another content", err, slipway.Conflict)
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Driver, error) {
		return tx.Driver(ctx, "guestbook", "1.0.0")
	})
	if diff := cmp.Diff(one, got); diff != "" {
		t.Errorf("driver (-want +got):\n%s", diff)
	}
	content := get(w, func(ctx context.Context, tx *store.Tx) ([]byte, error) { return tx.DriverContent(ctx, "sha256:bb") })
	if string(content) != "bundle of 1.1.0" || two.Size != int64(len(content)) {
		t.Errorf("got content %q, size %d", content, two.Size)
	}
	w.wantKind("the content that was refused", w.try(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.DriverContent(ctx, "sha256:cc")
		return err
	}), slipway.NotFound)

	list := get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Driver], error) {
		return tx.Drivers(ctx, store.Page{})
	})
	if len(list.Items) != 2 || list.Items[0].Version != "1.1.0" {
		t.Errorf("got %+v, want 1.1.0 first", list.Items)
	}

	a := w.application(w.environment("shop", "production"), "guestbook")
	w.write(func(ctx context.Context, tx *store.Tx) error {
		for n, digest := range []string{"sha256:aa", "sha256:bb"} {
			if _, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: a.ID, Number: int64(n) + 1, DriverDigest: digest}); err != nil {
				return err
			}
		}
		return tx.SetApplicationWanted(ctx, a.ID, 0, 2, 1)
	})
	remove := func(version string) error {
		return w.try(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteDriver(ctx, "guestbook", version) })
	}
	w.wantKind("deleting the driver of the wanted revision", remove("1.1.0"), slipway.Conflict)
	if err := remove("1.0.0"); err != nil {
		t.Errorf("deleting a driver that only an old revision names: %v", err)
	}
	w.wantKind("deleting it again", remove("1.0.0"), slipway.NotFound)
	// The old revision can still be read, so its bundle stays.
	get(w, func(ctx context.Context, tx *store.Tx) ([]byte, error) { return tx.DriverContent(ctx, "sha256:aa") })
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.MarkApplicationDeleted(ctx, a.ID) })
	if err := remove("1.1.0"); err != nil {
		t.Errorf("deleting the driver of a deleted application: %v", err)
	}
}

func applications(w *world) {
	t := w.T
	e := w.environment("shop", "production")
	a := w.application(e, "guestbook")
	w.application(e, "wiki")
	w.application(w.environment("blog", "staging"), "wiki")
	want := slipway.Application{ID: a.ID, EnvironmentID: e.ID, Project: "shop", Environment: "production", Namespace: "shop-production",
		Name: "guestbook", Kind: slipway.DriverApplication, AppVersion: "1.0.0", DriverName: "guestbook", DriverVersion: "1.0.0",
		State: slipway.AppAccepted, CreatedAt: a.CreatedAt, UpdatedAt: a.CreatedAt}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("application (-want +got):\n%s", diff)
	}
	create := func() error {
		return w.try(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: "guestbook", Kind: slipway.DriverApplication})
			return err
		})
	}
	w.wantKind("the same name twice", create(), slipway.Conflict)

	refs := func(f store.ApplicationFilter) (out []string) {
		for _, a := range get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Application], error) {
			return tx.Applications(ctx, f, store.Page{})
		}).Items {
			out = append(out, a.Ref())
		}
		return out
	}
	for _, c := range []struct {
		what   string
		filter store.ApplicationFilter
		want   []string
	}{
		{"all", store.ApplicationFilter{}, []string{"blog/staging/wiki", "shop/production/guestbook", "shop/production/wiki"}},
		{"a project", store.ApplicationFilter{Project: "shop"}, []string{"shop/production/guestbook", "shop/production/wiki"}},
		{"an environment's name", store.ApplicationFilter{Environment: "staging"}, []string{"blog/staging/wiki"}},
		{"another kind", store.ApplicationFilter{Kind: slipway.RunnerApplication}, nil},
		{"a state", store.ApplicationFilter{State: slipway.AppRunning}, nil},
	} {
		if diff := cmp.Diff(c.want, refs(c.filter)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}

	wanted := func(expected, revision, change int64) error {
		return w.try(func(ctx context.Context, tx *store.Tx) error {
			return tx.SetApplicationWanted(ctx, a.ID, expected, revision, change)
		})
	}
	if err := wanted(0, 1, 1); err != nil {
		t.Fatal(err)
	}
	err := wanted(0, 1, 2)
	if !errors.Is(err, store.ErrStale) {
		t.Errorf("the expected revision of before: got %v, want ErrStale", err)
	}
	w.wantKind("and to a person it", err, slipway.Conflict)

	applied := func(revision int64, version string) error {
		return w.try(func(ctx context.Context, tx *store.Tx) error {
			return tx.SetApplicationApplied(ctx, a.ID, store.Applied{Revision: revision, AppVersion: version, DriverName: "guestbook", DriverVersion: "1.0.1"})
		})
	}
	if err := errors.Join(wanted(1, 2, 2), applied(2, "1.1.0"), applied(2, "1.1.0")); err != nil {
		t.Fatal(err)
	}
	if err := applied(1, "1.0.0"); !errors.Is(err, store.ErrStale) {
		t.Errorf("an overtaken revision as applied: got %v, want ErrStale", err)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetApplicationState(ctx, a.ID, slipway.AppFailed, "the hook failed")
	})
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Application, error) {
		return tx.ApplicationByName(ctx, e.ID, "guestbook")
	})
	want.Revision, want.Applied, want.AppVersion, want.DriverVersion, want.LastChange = 2, 2, "1.1.0", "1.0.1", 2
	want.State, want.Message, want.UpdatedAt = slipway.AppFailed, "the hook failed", got.UpdatedAt
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("application (-want +got):\n%s", diff)
	}

	deleting := func(ctx context.Context, tx *store.Tx) error { return tx.MarkApplicationDeleting(ctx, a.ID) }
	w.write(deleting)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.KeepApplication(ctx, a.ID) })
	if got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Application, error) { return tx.Application(ctx, a.ID) }); got.Deleting {
		t.Error("an application that was kept is being deleted")
	}
	w.write(deleting)
	counts := get(w, func(ctx context.Context, tx *store.Tx) (store.Counts, error) { return tx.Counts(ctx) })
	if want := map[slipway.ApplicationState]int64{slipway.AppAccepted: 2, slipway.AppFailed: 1}; !cmp.Equal(want, counts.Applications) {
		t.Errorf("got %v, want %v", counts.Applications, want)
	}
	if err := w.try(deleting); !errors.Is(err, store.ErrStale) {
		t.Errorf("deleting it twice: got %v, want ErrStale", err)
	}
	if err := wanted(2, 3, 3); !errors.Is(err, store.ErrStale) {
		t.Errorf("a change of one being deleted: got %v, want ErrStale", err)
	}
	deleted := func(ctx context.Context, tx *store.Tx) error { return tx.MarkApplicationDeleted(ctx, a.ID) }
	w.write(deleted)
	w.write(deleted)
	got = get(w, func(ctx context.Context, tx *store.Tx) (slipway.Application, error) { return tx.Application(ctx, a.ID) })
	if got.State != slipway.AppDeleted {
		t.Errorf("got state %s, want deleted", got.State)
	}
	w.wantKind("finding a deleted one by name", w.try(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.ApplicationByName(ctx, e.ID, "guestbook")
		return err
	}), slipway.NotFound)
	if err := create(); err != nil {
		t.Errorf("its name is not free: %v", err)
	}
	err = w.try(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetApplicationState(ctx, a.ID, slipway.AppRunning, "")
	})
	if !errors.Is(err, store.ErrStale) {
		t.Errorf("a deleted one set to running: got %v, want ErrStale", err)
	}
}

func revisions(w *world) {
	t := w.T
	a := w.application(w.environment("shop", "production"), "guestbook")
	replicas := 2
	r := slipway.Revision{ApplicationID: a.ID, Number: 1, Source: "name = \"guestbook\"\n", DriverDigest: "sha256:aa", CreatedBy: "ann",
		Spec: slipway.ApplicationSpec{SchemaVersion: 1, Name: "guestbook", Driver: slipway.DriverRef{Name: "guestbook", Version: "1.0.0"},
			App: slipway.AppRef{Version: "1.0.0"}, Parameters: map[string]any{"admin_email": "ops@example.com", "on": true},
			Components: map[string]slipway.ComponentConfig{"web": {Replicas: &replicas, Env: map[string]string{"A": "ä€\x01"}}}}}
	create := func(ctx context.Context, tx *store.Tx) (slipway.Revision, error) { return tx.CreateRevision(ctx, r) }
	r = put(w, create)
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Revision, error) { return tx.Revision(ctx, a.ID, 1) })
	if diff := cmp.Diff(r, got); diff != "" {
		t.Errorf("revision (-want +got):\n%s", diff)
	}
	w.wantKind("the same number twice", w.try(func(ctx context.Context, tx *store.Tx) error { _, err := create(ctx, tx); return err }), slipway.Conflict)
	r.Number = 2
	put(w, create)
	list := get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Revision], error) {
		return tx.Revisions(ctx, a.ID, store.Page{})
	})
	if len(list.Items) != 2 || list.Items[0].Number != 2 {
		t.Errorf("got %d revisions from %d on, want 2 from 2 on", len(list.Items), list.Items[0].Number)
	}
}

func components(w *world) {
	t := w.T
	task := w.running()
	set := func(f func(ctx context.Context, tx *store.Tx) error) []slipway.ComponentState {
		w.write(f)
		return get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.ComponentState, error) {
			return tx.ComponentStates(ctx, task.ApplicationID)
		})
	}
	got := set(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetComponentStopped(ctx, task.ApplicationID, "worker", task.ID)
	})
	first := got[0]
	if !first.Stopped || first.StoppedByTask != task.ID || first.StoppedAt.IsZero() {
		t.Errorf("got %+v, want a component stopped by task %d", first, task.ID)
	}
	got = set(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetComponentStopped(ctx, task.ApplicationID, "worker", task.ID+1)
	})
	if diff := cmp.Diff([]slipway.ComponentState{first}, got); diff != "" {
		t.Errorf("stopping a stopped one changed it (-want +got):\n%s", diff)
	}
	got = set(func(ctx context.Context, tx *store.Tx) error {
		return tx.ClearComponentStopped(ctx, task.ApplicationID, "worker")
	})
	want := slipway.ComponentState{ApplicationID: task.ApplicationID, Component: "worker"}
	if diff := cmp.Diff([]slipway.ComponentState{want}, got); diff != "" {
		t.Errorf("after starting it (-want +got):\n%s", diff)
	}
}
