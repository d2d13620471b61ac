package storetest

import (
	"context"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// pages reads every kind of list in pages of two, and wants each row once and in order,
// also when rows come and go between the pages.
func pages(w *world) {
	t := w.T
	e := w.environment("shop", "production")
	w.environment("blog", "a")
	w.environment("blog", "b")
	var app slipway.Application
	for _, name := range []string{"c", "a", "e", "b", "d"} {
		app = w.application(e, name)
		w.task(app)
		w.user(name, slipway.ReadOnly)
		w.change(app, slipway.InstallChange)
		w.write(func(ctx context.Context, tx *store.Tx) error {
			for _, version := range []string{"1.0.0", "1.1.0"} {
				if _, err := tx.CreateDriver(ctx, slipway.Driver{Name: name, Version: version, Digest: name + version}, []byte("x")); err != nil {
					return err
				}
			}
			return tx.AddAudit(ctx, slipway.Audit{User: name, Action: "x", Noun: "y"})
		})
	}
	for n := range int64(5) {
		w.write(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: app.ID, Number: n + 1})
			return err
		})
	}
	ids := func(from, to int) (out []string) { // newest first
		for i := from; i >= to; i-- {
			out = append(out, strconv.Itoa(i))
		}
		return out
	}

	check(w, "users", []string{"a", "b", "c", "d", "e"}, func(u slipway.User) string { return u.Name },
		func(ctx context.Context, tx *store.Tx, p store.Page) (store.List[slipway.User], error) {
			return tx.Users(ctx, p)
		})
	check(w, "projects", []string{"blog", "shop"}, func(p slipway.Project) string { return p.Name },
		func(ctx context.Context, tx *store.Tx, p store.Page) (store.List[slipway.Project], error) {
			return tx.Projects(ctx, p)
		})
	check(w, "environments", []string{"blog/a", "blog/b", "shop/production"}, slipway.Environment.Ref,
		func(ctx context.Context, tx *store.Tx, p store.Page) (store.List[slipway.Environment], error) {
			return tx.Environments(ctx, "", p)
		})
	check(w, "applications", []string{"a", "b", "c", "d", "e"}, func(a slipway.Application) string { return a.Name },
		func(ctx context.Context, tx *store.Tx, p store.Page) (store.List[slipway.Application], error) {
			return tx.Applications(ctx, store.ApplicationFilter{}, p)
		})
	check(w, "drivers", []string{"a 1.1.0", "a 1.0.0", "b 1.1.0", "b 1.0.0", "c 1.1.0", "c 1.0.0", "d 1.1.0", "d 1.0.0", "e 1.1.0", "e 1.0.0"},
		func(d slipway.Driver) string { return d.Name + " " + d.Version },
		func(ctx context.Context, tx *store.Tx, p store.Page) (store.List[slipway.Driver], error) {
			return tx.Drivers(ctx, p)
		})
	check(w, "tasks", ids(5, 1), func(t slipway.Task) string { return strconv.FormatInt(t.ID, 10) },
		func(ctx context.Context, tx *store.Tx, p store.Page) (store.List[slipway.Task], error) {
			return tx.Tasks(ctx, store.TaskFilter{}, p)
		})
	check(w, "audit", []string{"d", "b", "e", "a", "c"}, func(a slipway.Audit) string { return a.User },
		func(ctx context.Context, tx *store.Tx, p store.Page) (store.List[slipway.Audit], error) {
			return tx.Audits(ctx, store.AuditFilter{}, p)
		})
	check(w, "revisions", ids(5, 1), func(r slipway.Revision) string { return strconv.FormatInt(r.Number, 10) },
		func(ctx context.Context, tx *store.Tx, p store.Page) (store.List[slipway.Revision], error) {
			return tx.Revisions(ctx, app.ID, p)
		})
	check(w, "changes", []string{"1"}, func(c slipway.Change) string { return strconv.FormatInt(c.Number, 10) },
		func(ctx context.Context, tx *store.Tx, p store.Page) (store.List[slipway.Change], error) {
			return tx.Changes(ctx, app.ID, p)
		})

	t.Run("a page holds when rows come and go", func(t *testing.T) {
		first := get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.User], error) {
			return tx.Users(ctx, store.Page{Limit: 2})
		})
		w.user("aa", slipway.ReadOnly) // lands on the page that was read
		second := get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.User], error) {
			return tx.Users(ctx, store.Page{Limit: 2, After: first.Next})
		})
		if got := second.Items[0].Name; got != "c" {
			t.Errorf("the second page begins with %q, want c", got)
		}
	})
	for _, cursor := range []string{"!", "bm8", "W10", "WyJ4IiwieSIsInoiLCJ3Il0", "WyItMSJd"} {
		err := w.try(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Tasks(ctx, store.TaskFilter{}, store.Page{After: cursor})
			return err
		})
		w.wantKind("cursor "+cursor, err, slipway.Invalid)
	}
}

func check[T any](w *world, what string, want []string, name func(T) string,
	list func(ctx context.Context, tx *store.Tx, p store.Page) (store.List[T], error)) {
	w.Helper()
	var got []string
	p := store.Page{Limit: 2}
	for range want {
		l := get(w, func(ctx context.Context, tx *store.Tx) (store.List[T], error) { return list(ctx, tx, p) })
		for _, item := range l.Items {
			got = append(got, name(item))
		}
		if p.After = l.Next; p.After == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s in pages of two (-want +got):\n%s", what, diff)
	}
	if p.After != "" {
		w.Errorf("%s: the last page says that another follows", what)
	}
}
