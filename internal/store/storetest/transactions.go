package storetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func transactions(w *world) {
	t := w.T
	project := func(name string) func(ctx context.Context, tx *store.Tx) error {
		return func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.CreateProject(ctx, slipway.Project{Name: name})
			return err
		}
	}
	exists := func(name string) bool {
		var there bool
		w.read(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.ProjectByName(ctx, name)
			there = err == nil
			if slipway.Is(err, slipway.NotFound) {
				return nil
			}
			return err
		})
		return there
	}

	t.Run("an error takes everything back, and its promises too", func(t *testing.T) {
		boom, ran := errors.New("boom"), false
		err := w.try(func(ctx context.Context, tx *store.Tx) error {
			tx.AfterCommit(func() { ran = true })
			if err := project("lost")(ctx, tx); err != nil {
				return err
			}
			return boom
		})
		if !errors.Is(err, boom) {
			t.Errorf("got error %v, want %v", err, boom)
		}
		if exists("lost") || ran {
			t.Errorf("after the error: project there %t, AfterCommit ran %t; want neither", exists("lost"), ran)
		}
	})

	t.Run("a failing BeforeCommit takes everything back", func(t *testing.T) {
		boom := errors.New("boom")
		err := w.try(func(ctx context.Context, tx *store.Tx) error {
			tx.BeforeCommit(func(context.Context) error { return boom })
			return project("lost-too")(ctx, tx)
		})
		if !errors.Is(err, boom) || exists("lost-too") {
			t.Errorf("got error %v, project there %t; want boom and no project", err, exists("lost-too"))
		}
	})

	t.Run("a panic frees the connection", func(t *testing.T) {
		func() {
			defer func() { _ = recover() }()
			_ = w.try(func(ctx context.Context, tx *store.Tx) error { panic("boom") }) // it does not return
		}()
		w.write(project("after-panic"))
	})

	t.Run("BeforeCommit comes last, AfterCommit sees what was written and may write", func(t *testing.T) {
		var order []string
		w.write(func(ctx context.Context, tx *store.Tx) error {
			tx.AfterCommit(func() {
				if !exists("kept") {
					t.Error("AfterCommit does not see what was committed")
				}
				w.write(project("from-after"))
				order = append(order, "after")
			})
			tx.BeforeCommit(func(context.Context) error {
				order = append(order, "before")
				tx.BeforeCommit(func(context.Context) error { order = append(order, "before's"); return nil })
				return nil
			})
			order = append(order, "work")
			return project("kept")(ctx, tx)
		})
		if got, want := strings.Join(order, " "), "work before before's after"; got != want {
			t.Errorf("got order %q, want %q", got, want)
		}
	})

	t.Run("a reading transaction cannot write", func(t *testing.T) {
		err := w.store.Read(t.Context(), func(tx *store.Tx) error { return project("forbidden")(t.Context(), tx) })
		if err == nil || exists("forbidden") {
			t.Errorf("got error %v, project there %t; want a refusal", err, exists("forbidden"))
		}
	})

	t.Run("a reading transaction sees one state, and does not hold up the writer", func(t *testing.T) {
		err := w.store.Read(t.Context(), func(tx *store.Tx) error {
			count := func() int {
				ps, err := tx.Projects(t.Context(), store.Page{Limit: store.MaxLimit})
				if err != nil {
					t.Fatal(err)
				}
				return len(ps.Items)
			}
			before := count()
			w.write(project("meanwhile"))
			if got := count(); got != before {
				t.Errorf("the same transaction saw %d projects and then %d", before, got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})

	t.Run("its time is one, in UTC, and is read back as it was written", func(t *testing.T) {
		var now time.Time
		p := put(w, func(ctx context.Context, tx *store.Tx) (slipway.Project, error) {
			now = tx.Now
			return tx.CreateProject(ctx, slipway.Project{Name: "timed"})
		})
		got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Project, error) {
			return tx.ProjectByName(ctx, "timed")
		})
		if got.CreatedAt != now || got != p || got.CreatedAt.Location() != time.UTC {
			t.Errorf("got %v, want %v", got.CreatedAt, now)
		}
	})

	t.Run("a cancelled caller gets its cancellation and nothing is written", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := w.store.InTx(ctx, func(tx *store.Tx) error {
			cancel()
			return project("cancelled")(ctx, tx)
		})
		if !errors.Is(err, context.Canceled) || exists("cancelled") {
			t.Errorf("got error %v, project there %t; want the cancellation and none", err, exists("cancelled"))
		}
	})

	t.Run("it answers", func(t *testing.T) {
		if err := w.store.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
