package storetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func backups(w *world) {
	t := w.T
	env := w.environment("shop", "production")
	app := w.application(env, "guestbook")
	s3 := slipway.S3Location{Endpoint: "https://s3.example.com", Bucket: "backups", Prefix: "p", AccessKeySecret: "key-id", SecretKeySecret: "key"}
	create := func(l slipway.BackupLocation) error {
		return w.try(func(ctx context.Context, tx *store.Tx) error { _, err := tx.CreateBackupLocation(ctx, l); return err })
	}
	nightly := put(w, func(ctx context.Context, tx *store.Tx) (slipway.BackupLocation, error) {
		return tx.CreateBackupLocation(ctx, slipway.BackupLocation{EnvironmentID: env.ID, Name: "nightly", Kind: slipway.LocationS3, S3: s3, CreatedBy: "ann"})
	})
	if nightly.S3 != s3 || nightly.Prefix() != "p" || nightly.String() != "https://s3.example.com/backups/p" {
		t.Errorf("the location came back as %+v", nightly)
	}
	w.wantKind("the same location twice", create(slipway.BackupLocation{EnvironmentID: env.ID, Name: "nightly", Kind: slipway.LocationS3}), slipway.Conflict)
	w.wantKind("a location of no environment", create(slipway.BackupLocation{EnvironmentID: 999, Name: "x", Kind: slipway.LocationS3}), slipway.NotFound)
	if err := create(slipway.BackupLocation{EnvironmentID: env.ID, Name: "disk", Kind: slipway.LocationVolume, Volume: slipway.VolumeLocation{Claim: "c"}}); err != nil {
		t.Error(err)
	}
	uses := get(w, func(ctx context.Context, tx *store.Tx) ([]string, error) { return tx.SecretUses(ctx, env.ID, "key") })
	if diff := cmp.Diff([]string{"the backup location nightly"}, uses); diff != "" {
		t.Errorf("uses of the secret (-want +got):\n%s", diff)
	}

	begin := func() slipway.Backup {
		return put(w, func(ctx context.Context, tx *store.Tx) (slipway.Backup, error) {
			b, _, err := tx.BeginBackup(ctx, store.BackupBegin{
				Application: app, Location: "nightly", Cause: slipway.BackupScheduled, By: "ann",
				Revision: slipway.Revision{Number: 3, DriverDigest: "sha256:1", Spec: slipway.ApplicationSpec{App: slipway.AppRef{Version: "1.1.0"}}},
			})
			return b, err
		})
	}
	b, other := begin(), begin()
	if b.State != slipway.BackupTaking || b.AppVersion != "1.1.0" || b.Ref() != "shop/production/guestbook" || b.TaskID == 0 {
		t.Errorf("the backup began as %+v", b)
	}
	if !strings.HasPrefix(b.Path, "shop/production/guestbook/") || len(b.Path) < 50 || b.Path == other.Path {
		t.Errorf("the paths are %s and %s", b.Path, other.Path)
	}
	w.wantKind("a backup to no location", w.try(func(ctx context.Context, tx *store.Tx) error {
		_, _, err := tx.BeginBackup(ctx, store.BackupBegin{Application: app, Location: "nowhere", Cause: slipway.BackupAsked})
		return err
	}), slipway.NotFound)

	file := slipway.BackupFile{Component: "database", Kind: "postgres", Name: "database/database.dump", Size: 10, SHA256: "ab"}
	add := func(ctx context.Context, tx *store.Tx) error { return tx.AddBackupFile(ctx, b.ID, file) }
	w.write(add)
	w.write(add) // a step that is repeated
	move := func(to slipway.BackupState) func(context.Context, *store.Tx) error {
		return func(ctx context.Context, tx *store.Tx) error { return tx.MoveBackup(ctx, b.ID, to, "") }
	}
	if err := w.try(move(slipway.BackupDeleting)); !errors.Is(err, store.ErrStale) {
		t.Errorf("a backup that is being taken was deleted: %v", err)
	}
	w.write(move(slipway.BackupComplete))
	got := get(w, func(ctx context.Context, tx *store.Tx) (slipway.Backup, error) { return tx.Backup(ctx, b.ID) })
	if got.Size != 10 || len(got.Files) != 1 || got.Files[0] != file || got.TakenAt.IsZero() {
		t.Errorf("the complete backup is %+v", got)
	}
	if err := w.try(add); !errors.Is(err, store.ErrStale) {
		t.Errorf("a file was added to a complete backup: %v", err)
	}
	freeze := func(ctx context.Context, tx *store.Tx) error {
		return tx.SetBackupContext(ctx, b.ID, []byte(`{"a":1}`))
	}
	w.write(freeze)
	if err := w.try(freeze); !errors.Is(err, store.ErrStale) {
		t.Errorf("the context was frozen twice: %v", err)
	}

	w.wantKind("deleting a location with backups", w.try(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteBackupLocation(ctx, nightly.ID) }), slipway.Conflict)

	restore := w.task(app)
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.CreateRestore(ctx, slipway.Restore{TaskID: restore.ID, BackupID: b.ID, ApplicationID: app.ID})
	})
	if n := get(w, func(ctx context.Context, tx *store.Tx) (int, error) { return tx.OpenRestores(ctx, b.ID) }); n != 1 {
		t.Errorf("%d restores are open, want 1", n)
	}

	last := get(w, func(ctx context.Context, tx *store.Tx) ([]store.LastBackup, error) { return tx.LastBackups(ctx) })
	if len(last) != 1 || !last[0].TakenAt.Equal(got.TakenAt) {
		t.Errorf("the last backups are %+v, want one of %s", last, got.TakenAt)
	}
	w.write(move(slipway.BackupDeleting))
	w.write(move(slipway.BackupDeleted))
	listed := get(w, func(ctx context.Context, tx *store.Tx) (store.List[slipway.Backup], error) {
		return tx.Backups(ctx, store.BackupFilter{Project: "shop", Environment: "production", Application: "guestbook"}, store.Page{})
	})
	if len(listed.Items) != 1 || listed.Items[0].ID != other.ID {
		t.Errorf("listed are %+v, want the one that is not deleted", listed.Items)
	}

	at := time.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC)
	want := store.BackupSchedule{ApplicationID: app.ID, Schedule: "0 3 * * *", TimeZone: "Europe/Rome", NextAt: at}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.PutBackupSchedule(ctx, want) })
	want.LastAt, want.NextAt = at, at.AddDate(0, 0, 1)
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.PutBackupSchedule(ctx, want) })
	schedule := get(w, func(ctx context.Context, tx *store.Tx) (store.BackupSchedule, error) {
		s, _, err := tx.BackupSchedule(ctx, app.ID)
		return s, err
	})
	if diff := cmp.Diff(want, schedule); diff != "" {
		t.Errorf("schedule (-want +got):\n%s", diff)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteBackupSchedule(ctx, app.ID) })
	w.read(func(ctx context.Context, tx *store.Tx) error {
		if _, ok, err := tx.BackupSchedule(ctx, app.ID); ok || err != nil {
			t.Errorf("a deleted schedule is there: %v %v", ok, err)
		}
		return nil
	})
}
