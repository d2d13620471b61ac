package store

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// BackupBegin is a backup that is about to be begun.
type BackupBegin struct {
	Application  slipway.Application
	Revision     slipway.Revision // the one on the cluster
	Location     string           // its name
	Cause        slipway.BackupCause
	By           string
	ParentStepID int64 // of the upgrade that it comes before; 0: a task of its own
}

// BeginBackup writes down a backup and its task, before anything of it exists outside. The
// caller wakes the task.
func (tx *Tx) BeginBackup(ctx context.Context, b BackupBegin) (slipway.Backup, slipway.Task, error) {
	app := b.Application
	location, err := tx.BackupLocationByName(ctx, app.EnvironmentID, b.Location)
	if slipway.Is(err, slipway.NotFound) {
		return slipway.Backup{}, slipway.Task{}, slipway.Errorf(slipway.NotFound, "there is no backup location %q in %s/%s", b.Location, app.Project, app.Environment).
			WithHint("make it with  slipway backup location create %s -e %s/%s", b.Location, app.Project, app.Environment)
	} else if err != nil {
		return slipway.Backup{}, slipway.Task{}, err
	}
	t, err := tx.CreateTask(ctx, slipway.Task{
		Kind: slipway.BackupTask, Title: "back up " + app.Name + " " + b.Revision.Spec.App.Version, ApplicationID: app.ID,
		ParentStepID: b.ParentStepID, RequestedBy: b.By,
	})
	if err != nil {
		return slipway.Backup{}, t, err
	}
	backup, err := tx.CreateBackup(ctx, slipway.Backup{
		ApplicationID: app.ID, LocationID: location.ID, Path: backupPath(app, t.ID),
		AppVersion: b.Revision.Spec.App.Version, Driver: b.Revision.Spec.Driver, DriverDigest: b.Revision.DriverDigest,
		Revision: b.Revision.Number, Cause: b.Cause, TaskID: t.ID, By: b.By,
	})
	return backup, t, err
}

// backupPath is a folder that says whose it is and cannot be guessed: whoever may write in
// the bucket, but not list it, cannot put a file in the place of ours.
func backupPath(app slipway.Application, taskID int64) string {
	return fmt.Sprintf("%s/%s/%s/%d-%s", app.Project, app.Environment, app.Name, taskID, strings.ToLower(rand.Text()))
}
