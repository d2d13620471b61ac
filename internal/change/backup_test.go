package change

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// backedUp is an installed application whose driver says how to back it up, with two
// locations.
func backedUp(w *world) Accepted {
	w.Helper()
	w.driver("1.5.0", func(d *slipway.DriverSpec) {
		web, worker := d.Components["web"], d.Components["worker"]
		web.Backup = &slipway.ComponentBackup{Kind: slipway.BackupPostgres}
		worker.Backup = &slipway.ComponentBackup{Kind: slipway.BackupDisk, Volumes: []string{"data"}, Stop: true}
		d.Components["web"], d.Components["worker"] = web, worker
	})
	for _, name := range []string{"disk", "nightly"} {
		w.must(w.s.CreateBackupLocation(w.Context(), w.writer, CreateBackupLocationInput{Project: "shop", Environment: "production", Name: name,
			Kind: slipway.LocationVolume, Volume: slipway.VolumeLocation{Claim: "backups", Prefix: name}}))
	}
	a := w.mustDeploy(0, toml("1.0.0", "1.5.0", "[backup]", `location = "nightly"`, "before_upgrade = true"))
	w.end(a, slipway.Succeeded, "1.0.0", "1.5.0")
	return a
}

func (w *world) backupOf(t slipway.Task) (b slipway.Backup) {
	w.Helper()
	w.read(func(ctx context.Context, tx *store.Tx) (err error) {
		b, err = tx.BackupOfTask(ctx, t.ID)
		return err
	})
	return b
}

func (w *world) complete(b slipway.Backup, to ...slipway.BackupState) {
	w.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) error {
		f := slipway.BackupFile{Component: "web", Kind: "postgres", Name: "web/database.dump", Size: 7, SHA256: strings.Repeat("a", 64)}
		if err := tx.AddBackupFile(ctx, b.ID, f); err != nil {
			return err
		}
		for _, s := range append([]slipway.BackupState{slipway.BackupComplete}, to...) {
			if err := tx.MoveBackup(ctx, b.ID, s, ""); err != nil {
				return err
			}
		}
		return nil
	})
}

func TestBackup(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		ctx := w.Context()
		app := backedUp(w).Application
		a, err := w.s.Backup(ctx, w.writer, BackupInput{ApplicationID: app.ID, IdempotencyKey: "k"})
		w.ok(err)
		b := w.backupOf(a.Task)
		if a.Task.Kind != slipway.BackupTask || b.Location != "nightly" || b.Cause != slipway.BackupAsked || b.State != slipway.BackupTaking || b.AppVersion != "1.0.0" || b.Driver.Version != "1.5.0" {
			w.Errorf("Backup() began task %+v and backup %+v", a.Task, b)
		}
		again, err := w.s.Backup(ctx, w.writer, BackupInput{ApplicationID: app.ID, IdempotencyKey: "k"})
		if err != nil || again.Task.ID != a.Task.ID {
			w.Errorf("the same key began task %d: %v", again.Task.ID, err)
		}
		other, err := w.s.Backup(ctx, w.writer, BackupInput{ApplicationID: app.ID, Location: "disk"})
		if err != nil || w.backupOf(other.Task).Location != "disk" || len(other.Warnings) == 0 {
			w.Errorf("a second backup: %+v %v", other, err)
		}
		_, err = w.s.Backup(ctx, w.writer, BackupInput{ApplicationID: app.ID, Location: "nowhere"})
		w.refused(err, slipway.Invalid, `there is no backup location "nowhere"`)

		_, err = w.s.DeleteBackup(ctx, w.writer, DeleteBackupInput{BackupID: b.ID})
		w.refused(err, slipway.Conflict, "is being taken")
		_, err = w.s.RetryTask(ctx, w.writer, RetryInput{TaskID: a.Task.ID})
		w.refused(err, slipway.Conflict, "")
		w.refused(w.s.DeleteBackupLocation(ctx, w.writer, "shop", "production", "nightly"), slipway.Conflict, "is used by shop/production/guestbook")
		w.refused(w.s.DeleteBackupLocation(ctx, w.writer, "shop", "production", "disk"), slipway.Conflict, "holds 1 backups")

		w.complete(b)
		w.end(a, slipway.Succeeded)
		deleted, err := w.s.DeleteBackup(ctx, w.writer, DeleteBackupInput{BackupID: b.ID})
		w.ok(err)
		if deleted.Task.Kind != slipway.ForgetTask || !slices.ContainsFunc(deleted.Warnings, func(x string) bool { return strings.Contains(x, "the last complete backup") }) {
			w.Errorf("DeleteBackup() = %+v", deleted)
		}
	})
}

func TestRestore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := w.Context()
	first := backedUp(w)
	app := first.Application
	a, err := w.s.Backup(ctx, w.writer, BackupInput{ApplicationID: app.ID})
	w.ok(err)
	b := w.backupOf(a.Task)
	_, err = w.s.Restore(ctx, w.writer, RestoreInput{ApplicationID: app.ID, BackupID: b.ID, Confirm: "guestbook"})
	w.refused(err, slipway.Conflict, "is taking, and only a complete one can be restored")
	w.complete(b)
	w.end(a, slipway.Succeeded)

	p, err := w.s.PlanRestore(ctx, w.reader, app.ID, b.ID)
	if err != nil || !slices.Equal(p.Overwrites, []string{"web: the database"}) || !slices.Equal(p.Stops, []string{"worker"}) {
		w.Errorf("PlanRestore() = %+v, %v", p, err)
	}
	_, err = w.s.Restore(ctx, w.writer, RestoreInput{ApplicationID: app.ID, BackupID: b.ID})
	w.refused(err, slipway.Invalid, "is confirmed by the application's name")
	_, err = w.s.Restore(ctx, w.writer, RestoreInput{ApplicationID: app.ID, BackupID: b.ID, Confirm: "other"})
	w.refused(err, slipway.Invalid, "is confirmed by the application's name")
	r, err := w.s.Restore(ctx, w.writer, RestoreInput{ApplicationID: app.ID, BackupID: b.ID, Confirm: "guestbook"})
	w.ok(err)
	if r.Task.Kind != slipway.RestoreTask || r.Task.Title != "restore guestbook from backup "+strconv.FormatInt(b.ID, 10) {
		w.Errorf("Restore() began %+v", r.Task)
	}
	_, err = w.s.DeleteBackup(ctx, w.writer, DeleteBackupInput{BackupID: b.ID})
	w.refused(err, slipway.Conflict, "is being restored")
	w.end(r, slipway.Failed)
	_, err = w.s.RetryTask(ctx, w.writer, RetryInput{TaskID: r.Task.ID})
	w.refused(err, slipway.Conflict, "a task of the type Restore is not retried")
	if lines := w.audits("application.restore"); len(lines) != 1 || lines[0].NounName != app.Ref() {
		w.Errorf("the audit has %+v", lines)
	}
}

func TestBackupTableAgainstWhatStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.deploy(0, toml("1.0.0", "1.0.0", "[backup]", `location = "nightly"`))
	w.refused(err, slipway.Invalid, "guestbook.toml:11:12: backup.location: there is no backup location \"nightly\" in shop/production")
	w.refused(err, slipway.Invalid, "driver guestbook 1.0.0 does not say how to back anything up")
	backedUp(w)
	plan, err := w.s.Plan(w.Context(), w.writer, production(toml("1.1.0", "1.5.0", "[backup]", `location = "nightly"`, "before_upgrade = true")))
	if err != nil || !strings.HasPrefix(plan.Summary(), "runs: backup, upgrade pre (backup)") {
		w.Errorf("the plan is %q: %v", plan.Summary(), err)
	}
}

func TestBackupLocation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := CreateBackupLocationInput{Project: "shop", Environment: "production", Name: "nightly", Kind: slipway.LocationS3,
		S3: slipway.S3Location{Endpoint: "https://s3.example.com/", Bucket: "backups", Prefix: "/a/b/", AccessKeySecret: "key-id", SecretKeySecret: "key"}}
	for _, tc := range []struct {
		name   string
		change func(*CreateBackupLocationInput)
		want   string
	}{
		{"no address", func(in *CreateBackupLocationInput) { in.S3.Endpoint = "s3.example.com" }, "s3.endpoint: it is no address"},
		{"a password in it", func(in *CreateBackupLocationInput) { in.S3.Endpoint = "https://user:hunter2@s3.example.com" }, "s3.endpoint: it holds a user or a password"},
		{"a path in it", func(in *CreateBackupLocationInput) { in.S3.Endpoint = "https://s3.example.com/backups" }, "s3.endpoint: it has more than a host"},
		{"a bucket that is none", func(in *CreateBackupLocationInput) { in.S3.Bucket = "A" }, "s3.bucket"},
		{"a way out", func(in *CreateBackupLocationInput) { in.S3.Prefix = "a/../b" }, "s3.prefix"},
		{"a key in place of a certificate", func(in *CreateBackupLocationInput) { in.S3.CA = "-----BEGIN PRIVATE KEY-----" }, "s3.ca: it is no certificate"},
		{"secrets that are not there", func(*CreateBackupLocationInput) {}, `there is no secret "key-id"`},
		{"a kind that is none", func(in *CreateBackupLocationInput) { in.Kind = "tape" }, `"tape" is no kind of location`},
		{"a claim that is none", func(in *CreateBackupLocationInput) { in.Kind, in.Volume.Claim = slipway.LocationVolume, "A B" }, "volume.claim"},
	} {
		in := good
		tc.change(&in)
		_, err := w.s.CreateBackupLocation(w.Context(), w.writer, in)
		w.refused(err, slipway.Invalid, tc.want)
		if e, ok := errorOf(err); ok && strings.Contains(e.Error(), "hunter2") {
			w.Errorf("%s: the refusal quotes a password", tc.name)
		}
	}
}
