package api

import (
	"context"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerBackups() {
	register(s, "list-backup-locations", s.listBackupLocations)
	register(s, "create-backup-location", s.createBackupLocation)
	register(s, "delete-backup-location", s.deleteBackupLocation)
	register(s, "list-backups", s.listBackups)
	register(s, "get-backup", s.getBackup)
	register(s, "create-backup", s.createBackup)
	register(s, "delete-backup", s.deleteBackup)
	register(s, "plan-restore", s.planRestore)
	register(s, "restore-application", s.restoreApplication)
}

// BackupPath is the part of a request that names a backup.
type BackupPath struct {
	Backup int64 `path:"backup" minimum:"1"`
}

func wireLocation(l slipway.BackupLocation) wire.BackupLocation {
	out := wire.BackupLocation{Name: l.Name, Kind: string(l.Kind), Where: l.String(), CreatedBy: l.CreatedBy, CreatedAt: l.CreatedAt}
	if l.Kind == slipway.LocationVolume {
		v := wire.VolumeLocation(l.Volume)
		out.Volume = &v
		return out
	}
	s3 := wire.S3Location(l.S3)
	out.S3 = &s3
	return out
}

func wireBackup(b slipway.Backup) wire.Backup {
	out := wire.Backup{
		ID: b.ID, ApplicationID: b.ApplicationID, Application: b.Ref(), Location: b.Location, Path: b.Path, State: string(b.State), Cause: string(b.Cause),
		AppVersion: b.AppVersion, DriverName: b.Driver.Name, DriverVersion: b.Driver.Version, DriverDigest: b.DriverDigest, Revision: b.Revision,
		Size: b.Size, Files: []wire.BackupFile{}, Error: b.Error, TaskID: b.TaskID, By: b.By, CreatedAt: b.CreatedAt,
		TakenAt: when(b.TakenAt), ExpiresAt: when(b.ExpiresAt),
	}
	for _, f := range b.Files {
		out.Files = append(out.Files, wire.BackupFile(f))
	}
	return out
}

func (s *service) listBackupLocations(ctx context.Context, c slipway.Caller, in *EnvironmentPath) (*answer[wire.List[wire.BackupLocation]], error) {
	rows, err := s.View.BackupLocations(ctx, c, in.Project, in.Environment)
	return listing(view.List[view.LocationRow]{Items: rows}, err, func(r view.LocationRow) wire.BackupLocation {
		x := wireLocation(r.BackupLocation)
		x.UsedBy = r.UsedBy
		return x
	})
}

func (s *service) createBackupLocation(ctx context.Context, c slipway.Caller, in *struct {
	EnvironmentPath
	Keyed
	Body wire.NewBackupLocation
},
) (*answer[wire.BackupLocation], error) {
	want := change.CreateBackupLocationInput{
		Project: in.Project, Environment: in.Environment, Name: in.Body.Name, Kind: slipway.LocationKind(in.Body.Kind), IdempotencyKey: in.Key,
	}
	if in.Body.S3 != nil {
		want.S3 = slipway.S3Location(*in.Body.S3)
	}
	if in.Body.Volume != nil {
		want.Volume = slipway.VolumeLocation(*in.Body.Volume)
	}
	l, err := s.Change.CreateBackupLocation(ctx, c, want)
	return reply(wireLocation(l), err)
}

func (s *service) deleteBackupLocation(ctx context.Context, c slipway.Caller, in *struct {
	EnvironmentPath
	Location string `path:"location" maxLength:"40"`
},
) (*nothing, error) {
	return nil, s.Change.DeleteBackupLocation(ctx, c, in.Project, in.Environment, in.Location)
}

func (s *service) listBackups(ctx context.Context, c slipway.Caller, in *struct {
	Page
	ApplicationID int64  `query:"application_id" minimum:"1" doc:"Only those of an application."`
	Project       string `query:"project" maxLength:"40" doc:"Only those of a project."`
	Environment   string `query:"environment" maxLength:"40" doc:"Only those of an environment of that name."`
	Application   string `query:"application" maxLength:"40" doc:"Only those of applications of that name, also of deleted ones."`
	State         string `query:"state" enum:"taking,complete,failed,deleting" doc:"Only those in a state."`
},
) (*answer[wire.List[wire.Backup]], error) {
	l, err := s.View.Backups(ctx, c, view.BackupFilter{
		ApplicationID: in.ApplicationID, Project: in.Project, Environment: in.Environment, Application: in.Application, State: slipway.BackupState(in.State),
	}, in.view())
	return listing(l, err, wireBackup)
}

func (s *service) getBackup(ctx context.Context, c slipway.Caller, in *BackupPath) (*answer[wire.Backup], error) {
	b, err := s.View.Backup(ctx, c, in.Backup)
	return reply(wireBackup(b), err)
}

func (s *service) createBackup(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	Keyed
	Body wire.NewBackup
},
) (*answer[wire.Accepted], error) {
	return accepted(s.Change.Backup(ctx, c, change.BackupInput{ApplicationID: in.Application, Location: in.Body.Location, IdempotencyKey: in.Key}))
}

func (s *service) deleteBackup(ctx context.Context, c slipway.Caller, in *struct {
	BackupPath
	Keyed
},
) (*answer[wire.Accepted], error) {
	return accepted(s.Change.DeleteBackup(ctx, c, change.DeleteBackupInput{BackupID: in.Backup, IdempotencyKey: in.Key}))
}

func (s *service) planRestore(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	Body wire.RestoreFrom
},
) (*answer[wire.RestorePlan], error) {
	p, err := s.Change.PlanRestore(ctx, c, in.Application, in.Body.Backup)
	if err != nil {
		return nil, err
	}
	return reply(wire.RestorePlan{
		Application: p.Application.Ref(), Name: p.Application.Name, Version: p.Version, Backup: wireBackup(p.Backup),
		Overwrites: some(p.Overwrites), Stops: some(p.Stops), Actions: some(p.Actions), Warnings: p.Warnings,
	}, nil)
}

func (s *service) restoreApplication(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	Keyed
	Body wire.RestoreFrom
},
) (*answer[wire.Accepted], error) {
	return accepted(s.Change.Restore(ctx, c, change.RestoreInput{
		ApplicationID: in.Application, BackupID: in.Body.Backup, Confirm: in.Body.Confirm, IdempotencyKey: in.Key,
	}))
}
