package client

import (
	"context"
	"net/http"

	"slipway.dev/slipway/internal/wire"
)

// BackupLocations lists the places for the backups of an environment.
func (c *Client) BackupLocations(ctx context.Context, project, environment string) ([]wire.BackupLocation, error) {
	all, _, err := list[wire.BackupLocation](ctx, c, "/environments/{project}/{environment}/backup-locations", []string{project, environment}, query())
	return all, err
}

// CreateBackupLocation makes a place for backups.
func (c *Client) CreateBackupLocation(ctx context.Context, project, environment string, in wire.NewBackupLocation, key string) (wire.BackupLocation, error) {
	return post[wire.BackupLocation](ctx, c, key, in, "/environments/{project}/{environment}/backup-locations", project, environment)
}

// DeleteBackupLocation removes a place that holds no backup.
func (c *Client) DeleteBackupLocation(ctx context.Context, project, environment, name string) error {
	return c.remove(ctx, "/environments/{project}/{environment}/backup-locations/{location}", project, environment, name)
}

// BackupFilter picks backups; empty fields pick all.
type BackupFilter struct{ Project, Environment, Application, State string }

// Backups lists backups, the newest first.
func (c *Client) Backups(ctx context.Context, f BackupFilter, p Page) ([]wire.Backup, string, error) {
	return list[wire.Backup](ctx, c, "/backups", nil,
		p.in(query("project", f.Project, "environment", f.Environment, "application", f.Application, "state", f.State)))
}

// Backup reads one backup, with its files.
func (c *Client) Backup(ctx context.Context, backup int64) (wire.Backup, error) {
	return get[wire.Backup](ctx, c, "/backups/{backup}", id(backup))
}

// CreateBackup asks for a backup of an application.
func (c *Client) CreateBackup(ctx context.Context, application int64, in wire.NewBackup, key string) (wire.Accepted, error) {
	return post[wire.Accepted](ctx, c, key, in, "/applications/{application}/backups", id(application))
}

// DeleteBackup asks for a backup's files to be removed.
func (c *Client) DeleteBackup(ctx context.Context, backup int64, key string) (wire.Accepted, error) {
	if key == "" {
		key = NewKey()
	}
	var out wire.Accepted
	err := c.do(ctx, request{method: http.MethodDelete, path: "/backups/{backup}", args: []string{id(backup)}, key: key}, &out)
	return out, err
}

// PlanRestore says what a restore would do. It writes nothing.
func (c *Client) PlanRestore(ctx context.Context, application int64, in wire.RestoreFrom) (wire.RestorePlan, error) {
	return ask[wire.RestorePlan](ctx, c, in, "/applications/{application}/restore:plan", id(application))
}

// Restore asks for what is there to be overwritten by a backup.
func (c *Client) Restore(ctx context.Context, application int64, in wire.RestoreFrom, key string) (wire.Accepted, error) {
	return post[wire.Accepted](ctx, c, key, in, "/applications/{application}/restore", id(application))
}
