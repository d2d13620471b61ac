package change

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// BackupInput asks for a backup of an application.
type BackupInput struct {
	ApplicationID  int64
	Location       string // empty: that of its [backup], or the environment's only one
	IdempotencyKey string
}

// Backup accepts a backup of what is on the cluster. Retention never removes it. Who may
// write in the environment may.
func (s *Service) Backup(ctx context.Context, c slipway.Caller, in BackupInput) (Accepted, error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return Accepted{}, err
	}
	r := request{c, in.IdempotencyKey, "application.backup", []any{in.ApplicationID, in.Location}}
	return s.start(ctx, r, func(tx *store.Tx) (started, error) {
		app, on, driver, err := installed(ctx, tx, c, in.ApplicationID)
		if err != nil {
			return started{}, err
		}
		if !driver.Spec.CanBackUp() {
			return started{}, slipway.Errorf(slipway.Conflict, "driver %s %s does not say how to back anything up", driver.Name, driver.Version).
				WithHint("its components need a backup, or it needs an action with hook: backup")
		}
		location, err := locationFor(ctx, tx, app, on, in.Location)
		if err != nil {
			return started{}, err
		}
		open, err := openTasks(ctx, tx, app.ID)
		if err != nil {
			return started{}, err
		}
		if c.TaskID != 0 && holds(open, c.TaskID) {
			return started{}, slipway.Errorf(slipway.Conflict, "an action of task %d cannot back up its own application", c.TaskID).
				WithHint("set before_upgrade = true in its [backup]")
		}
		b, t, err := tx.BeginBackup(ctx, store.BackupBegin{Application: app, Revision: on, Location: location, Cause: slipway.BackupAsked, By: c.UserName})
		if err != nil {
			return started{}, err
		}
		if err := changed(ctx, tx, app, t.ID); err != nil {
			return started{}, err
		}
		if err := s.wake(ctx, tx, slipway.WakeTask, t.ID); err != nil {
			return started{}, err
		}
		err = record(ctx, tx, c, deed{"application.backup", "application", app.ID, app.Ref(), nil, facts{"backup": b.ID, "location": location, "task": t.ID}})
		return started{Application: app.ID, Task: t.ID, Warnings: waiting(open, false)}, err
	})
}

// installed finds an application that is on the cluster, with what is there.
func installed(ctx context.Context, tx *store.Tx, c slipway.Caller, id int64) (app slipway.Application, on slipway.Revision, d slipway.Driver, err error) {
	if app, err = application(ctx, tx, c, id); err != nil {
		return app, on, d, err
	}
	if err := app.DriverOnly("nothing to back up or to restore: its runners keep nothing", ""); err != nil {
		return app, on, d, err
	}
	switch {
	case app.Deleting:
		return app, on, d, slipway.Errorf(slipway.Conflict, "%s is being deleted", app.Ref()).WithHint("its backups stay; see them with  slipway backup list")
	case app.Applied == 0:
		return app, on, d, slipway.Errorf(slipway.Conflict, "%s is not installed yet", app.Ref()).WithHint("wait for its install to succeed")
	}
	if on, err = tx.Revision(ctx, app.ID, app.Applied); err != nil {
		return app, on, d, err
	}
	d, err = tx.DriverByDigest(ctx, on.DriverDigest)
	return app, on, d, err
}

// locationFor picks the location of a backup that a person asks for.
func locationFor(ctx context.Context, tx *store.Tx, app slipway.Application, on slipway.Revision, asked string) (string, error) {
	if asked == "" && on.Spec.Backup != nil {
		return on.Spec.Backup.Location, nil
	}
	all, err := tx.BackupLocations(ctx, app.EnvironmentID)
	if err != nil {
		return "", err
	}
	names := make([]string, len(all))
	for i, l := range all {
		names[i] = l.Name
	}
	where := slipway.EnvironmentRef(app.Project, app.Environment)
	switch {
	case len(all) == 0:
		return "", slipway.Errorf(slipway.Conflict, "%s has no backup location", where).WithHint("make one with  slipway backup location create NAME -e %s", where)
	case asked != "" && !slices.Contains(names, asked):
		return "", invalid("location", fmt.Sprintf("there is no backup location %q in %s", asked, where), "it has: "+strings.Join(names, ", "))
	case asked != "":
		return asked, nil
	case len(all) > 1:
		return "", invalid("location", where+" has several backup locations, and the application names none", "name one of: "+strings.Join(names, ", "))
	}
	return names[0], nil
}

// DeleteBackupInput gives up a backup.
type DeleteBackupInput struct {
	BackupID       int64
	IdempotencyKey string
}

// DeleteBackup accepts the end of a backup: its files are removed by a task. Who may write
// in the environment may.
func (s *Service) DeleteBackup(ctx context.Context, c slipway.Caller, in DeleteBackupInput) (Accepted, error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return Accepted{}, err
	}
	r := request{c, in.IdempotencyKey, "backup.delete", []any{in.BackupID}}
	return s.start(ctx, r, func(tx *store.Tx) (started, error) {
		b, err := backup(ctx, tx, c, in.BackupID)
		if err != nil {
			return started{}, err
		}
		restores, err := tx.OpenRestores(ctx, b.ID)
		if err != nil {
			return started{}, err
		}
		switch {
		case b.State == slipway.BackupTaking:
			return started{}, slipway.Errorf(slipway.Conflict, "backup %d is being taken, by task %d", b.ID, b.TaskID).WithHint("cancel it with  slipway tasks cancel %d", b.TaskID)
		case restores > 0:
			return started{}, slipway.Errorf(slipway.Conflict, "backup %d is being restored", b.ID).WithHint("wait for the restore to end")
		}
		app, err := tx.Application(ctx, b.ApplicationID)
		if err != nil {
			return started{}, err
		}
		open, err := openTasks(ctx, tx, app.ID)
		if err != nil {
			return started{}, err
		}
		warnings := waiting(open, false)
		if last, err := isLast(ctx, tx, b); err != nil {
			return started{}, err
		} else if last {
			warnings = append(warnings, "it is the last complete backup of "+b.Ref())
		}
		args, err := json.Marshal(map[string]int64{"backup": b.ID})
		if err != nil {
			return started{}, fmt.Errorf("encode the backup: %w", err)
		}
		t, err := s.begin(ctx, tx, app, slipway.Task{Kind: slipway.ForgetTask, Title: fmt.Sprintf("delete backup %d of %s", b.ID, b.Application), Args: args, RequestedBy: c.UserName})
		if err != nil {
			return started{}, err
		}
		err = record(ctx, tx, c, deed{"backup.delete", "backup", b.ID, b.Ref(), facts{"state": b.State, "version": b.AppVersion, "size": b.Size}, facts{"task": t.ID}})
		return started{Application: app.ID, Task: t.ID, Warnings: warnings}, err
	})
}

// backup finds a backup that the caller may see.
func backup(ctx context.Context, tx *store.Tx, c slipway.Caller, id int64) (slipway.Backup, error) {
	b, err := tx.Backup(ctx, id)
	if err == nil && (b.State == slipway.BackupDeleted || !c.Sees(b.Project, b.Environment)) {
		return slipway.Backup{}, slipway.Errorf(slipway.NotFound, "there is no backup %d", id)
	}
	return b, err
}

func isLast(ctx context.Context, tx *store.Tx, b slipway.Backup) (bool, error) {
	all, err := tx.AllBackups(ctx, b.ApplicationID)
	if err != nil || b.State != slipway.BackupComplete {
		return false, err
	}
	for _, o := range all {
		if o.ID != b.ID && o.State == slipway.BackupComplete {
			return false, nil
		}
	}
	return true, nil
}

// RestoreInput asks for a backup to be put back.
type RestoreInput struct {
	ApplicationID  int64
	BackupID       int64
	Confirm        string // the application's name: a restore overwrites what is there
	IdempotencyKey string
}

// RestorePlan says what a restore would do. Asking for it writes nothing.
type RestorePlan struct {
	Application slipway.Application
	Backup      slipway.Backup
	Version     string   // of the application now
	Overwrites  []string // what is lost: "database: the database", "files: the volume data"
	Stops       []string // components that are stopped meanwhile
	Actions     []string // actions of the driver that run
	Warnings    []string
}

// PlanRestore says what a restore would do, or why it would be refused.
func (s *Service) PlanRestore(ctx context.Context, c slipway.Caller, applicationID, backupID int64) (out RestorePlan, err error) {
	if err := need(c, slipway.ReadOnly); err != nil {
		return out, err
	}
	err = s.Store.Read(ctx, func(tx *store.Tx) (err error) {
		out, err = planRestore(ctx, tx, c, applicationID, backupID)
		return err
	})
	return out, err
}

func planRestore(ctx context.Context, tx *store.Tx, c slipway.Caller, applicationID, backupID int64) (RestorePlan, error) {
	app, on, driver, err := installed(ctx, tx, c, applicationID)
	if err != nil {
		return RestorePlan{}, err
	}
	b, err := backup(ctx, tx, c, backupID)
	if err != nil {
		return RestorePlan{}, err
	}
	if b.EnvironmentID != app.EnvironmentID {
		return RestorePlan{}, slipway.Errorf(slipway.Conflict, "backup %d is of %s/%s, and %s is in another environment, which has not its backup location", b.ID, b.Project, b.Environment, app.Ref()).
			WithHint("restore it into an application of %s/%s", b.Project, b.Environment)
	}
	if err := spec.MayRestore(b, app.Name, on.Spec, driver.Spec); err != nil {
		return RestorePlan{}, err
	}
	out := RestorePlan{Application: app, Backup: b, Version: on.Spec.App.Version}
	for _, f := range b.Files {
		what := "the database"
		if f.Kind == string(slipway.BackupDisk) {
			what = "the volume claim " + f.Volume
		}
		out.Overwrites = append(out.Overwrites, f.Component+": "+what)
	}
	for _, name := range slices.Sorted(maps.Keys(driver.Spec.Components)) {
		if k := driver.Spec.Components[name].Backup; k == nil || k.Kind != slipway.BackupPostgres || k.URLEnv != "" {
			out.Stops = append(out.Stops, name)
		}
	}
	for _, m := range []slipway.Mode{slipway.Pre, slipway.Core, slipway.Post} {
		for _, a := range driver.Spec.ActionsOf(slipway.RestoreHook, m) {
			out.Actions = append(out.Actions, a.Name)
		}
	}
	if b.AppVersion != out.Version {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the backup is of version %s and the application has %s: it must be able to read the older data, or an action of the driver must migrate it", b.AppVersion, out.Version))
	}
	if b.Application != app.Name || b.ApplicationID != app.ID {
		out.Warnings = append(out.Warnings, "the backup is of another application: "+b.Ref())
	}
	open, err := openTasks(ctx, tx, app.ID)
	out.Warnings = append(out.Warnings, waiting(open, false)...)
	return out, err
}

// Restore accepts that what is there is overwritten by a backup. It is confirmed by the
// application's name. Who may write in the environment may.
func (s *Service) Restore(ctx context.Context, c slipway.Caller, in RestoreInput) (Accepted, error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return Accepted{}, err
	}
	r := request{c, in.IdempotencyKey, "application.restore", []any{in.ApplicationID, in.BackupID}}
	return s.start(ctx, r, func(tx *store.Tx) (started, error) {
		p, err := planRestore(ctx, tx, c, in.ApplicationID, in.BackupID)
		if err != nil {
			return started{}, err
		}
		if in.Confirm != p.Application.Name {
			return started{}, invalid("confirm", "a restore overwrites what is there, and is confirmed by the application's name", "send "+p.Application.Name)
		}
		if c.TaskID != 0 {
			return started{}, slipway.Errorf(slipway.Conflict, "an action cannot restore an application").WithHint("ask for it when the task has ended")
		}
		t, err := tx.CreateTask(ctx, slipway.Task{
			Kind: slipway.RestoreTask, Title: fmt.Sprintf("restore %s from backup %d", p.Application.Name, p.Backup.ID),
			ApplicationID: p.Application.ID, RequestedBy: c.UserName,
		})
		if err != nil {
			return started{}, err
		}
		if err := tx.CreateRestore(ctx, slipway.Restore{TaskID: t.ID, BackupID: p.Backup.ID, ApplicationID: p.Application.ID}); err != nil {
			return started{}, err
		}
		if err := changed(ctx, tx, p.Application, t.ID); err != nil {
			return started{}, err
		}
		if err := s.wake(ctx, tx, slipway.WakeTask, t.ID); err != nil {
			return started{}, err
		}
		err = record(ctx, tx, c, deed{"application.restore", "application", p.Application.ID, p.Application.Ref(), nil,
			facts{"backup": p.Backup.ID, "backup_version": p.Backup.AppVersion, "version": p.Version, "task": t.ID}})
		return started{Application: p.Application.ID, Task: t.ID, Warnings: p.Warnings}, err
	})
}
