package storetest

import (
	"context"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func projects(w *world) {
	t := w.T
	production := w.environment("shop", "production")
	w.environment("shop", "staging")
	w.environment("blog", "production")

	again := func(e slipway.Environment) error {
		return w.try(func(ctx context.Context, tx *store.Tx) error { _, err := tx.CreateEnvironment(ctx, e); return err })
	}
	w.wantKind("the same environment twice", again(slipway.Environment{ProjectID: production.ProjectID, Name: "production", Namespace: "other"}), slipway.Conflict)
	w.wantKind("the same namespace twice", again(slipway.Environment{ProjectID: production.ProjectID, Name: "other", Namespace: "shop-production"}), slipway.Conflict)
	w.wantKind("an environment of no project", again(slipway.Environment{ProjectID: 999, Name: "other", Namespace: "other"}), slipway.NotFound)
	w.wantKind("the same project twice", w.try(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateProject(ctx, slipway.Project{Name: "shop"})
		return err
	}), slipway.Conflict)

	refs := func(project string) (out []string) {
		for _, e := range get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Environment], error) {
			return tx.Environments(ctx, project, store.Page{})
		}).Items {
			out = append(out, e.Ref())
		}
		return out
	}
	if diff := cmp.Diff([]string{"blog/production", "shop/production", "shop/staging"}, refs("")); diff != "" {
		t.Errorf("all environments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"shop/production", "shop/staging"}, refs("shop")); diff != "" {
		t.Errorf("environments of shop (-want +got):\n%s", diff)
	}

	settings := map[string]string{"ingress_class": "nginx", "quote": `it's "so"`}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetEnvironmentSettings(ctx, production.ID, settings)
	})
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Environment, error) {
		return tx.EnvironmentByName(ctx, "shop", "production")
	})
	production.Settings = settings
	if diff := cmp.Diff(production, got); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}

	w.wantKind("deleting a project with environments",
		w.try(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, production.ProjectID) }), slipway.Conflict)
	a := w.application(production, "guestbook")
	remove := func(ctx context.Context, tx *store.Tx) error { return tx.DeleteEnvironment(ctx, production.ID) }
	w.wantKind("deleting an environment with an application", w.try(remove), slipway.Conflict)

	// The history of a deleted application goes with its environment, whatever hangs on it.
	c := w.change(a, slipway.InstallChange)
	task := put(w, func(ctx context.Context, tx *store.Tx) (slipway.Task, error) {
		return tx.CreateTask(ctx, slipway.Task{Kind: slipway.InstallTask, ApplicationID: a.ID, ChangeID: c.ID})
	})
	w.write(func(ctx context.Context, tx *store.Tx) error {
		epoch, err := tx.ClaimTask(ctx, task.ID, "r")
		if err != nil {
			return err
		}
		s, err := tx.OpenStep(ctx, task.ID, epoch, "check", "Check the change")
		if err != nil {
			return err
		}
		if _, err := tx.CreateTask(ctx, slipway.Task{Kind: slipway.StopTask, ApplicationID: a.ID, ParentStepID: s.ID}); err != nil {
			return err
		}
		if _, _, err := tx.CreateActionCall(ctx, slipway.ActionCall{TaskID: task.ID, StepID: s.ID, Key: "k", Primitive: slipway.StopComponents}); err != nil {
			return err
		}
		return tx.MarkApplicationDeleted(ctx, a.ID)
	})
	w.write(remove)
	w.wantKind("the task of a deleted environment", w.try(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.Task(ctx, task.ID)
		return err
	}), slipway.NotFound)
	w.wantKind("deleting it again", w.try(remove), slipway.NotFound)
}

func secrets(w *world) {
	t := w.T
	e := w.environment("shop", "production")
	set := func(name, sealed string) slipway.Secret {
		t.Helper()
		return put(w, func(ctx context.Context, tx *store.Tx) (slipway.Secret, error) {
			return tx.PutSecret(ctx, e.ID, name, []byte(sealed), "ann")
		})
	}
	anySecret := func() bool {
		return get(w, func(ctx context.Context, tx *store.Tx) (bool, error) { return tx.AnySecret(ctx) })
	}
	if anySecret() {
		t.Error("an empty database holds a secret")
	}
	first := set("db", "\x00\xffsealed-1")
	second := set("db", "sealed-2")
	set("api", "sealed-3")
	if !anySecret() {
		t.Error("AnySecret does not see one")
	}
	if first.Version != 1 || second.Version != 2 || first.ID != second.ID || second.CreatedAt != first.CreatedAt {
		t.Errorf("got %+v and then %+v, want versions 1 and 2 of one secret", first, second)
	}
	sealed := get(w, func(ctx context.Context, tx *store.Tx) ([]byte, error) { return tx.SecretSealed(ctx, e.ID, "db") })
	if string(sealed) != "sealed-2" {
		t.Errorf("got %q", sealed)
	}
	list := get(w, func(ctx context.Context, tx *store.Tx) ([]slipway.Secret, error) { return tx.Secrets(ctx, e.ID) })
	if len(list) != 2 || list[0].Name != "api" || list[1] != second {
		t.Errorf("got %+v, want api and db", list)
	}

	a := w.application(e, "guestbook")
	w.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: a.ID, Number: 1, Spec: slipway.ApplicationSpec{
			Components: map[string]slipway.ComponentConfig{"web": {Secrets: map[string]string{"DATABASE_URL": "db"}}},
		}})
		if err != nil {
			return err
		}
		return tx.SetApplicationWanted(ctx, a.ID, 0, 1, 1)
	})
	uses := func(name string) []string {
		return get(w, func(ctx context.Context, tx *store.Tx) ([]string, error) { return tx.SecretUses(ctx, e.ID, name) })
	}
	if diff := cmp.Diff([]string{"shop/production/guestbook"}, uses("db")); diff != "" {
		t.Errorf("uses of db (-want +got):\n%s", diff)
	}
	if got := uses("api"); len(got) != 0 {
		t.Errorf("uses of api: got %v, want none", got)
	}
	remove := func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSecret(ctx, e.ID, "db") }
	w.write(remove)
	w.wantKind("deleting it again", w.try(remove), slipway.NotFound)
	w.wantKind("a secret of no environment", w.try(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.PutSecret(ctx, 999, "x", []byte("x"), "ann")
		return err
	}), slipway.NotFound)
}
