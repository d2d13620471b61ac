package view

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// BackupFilter narrows the list of backups. Its zero value is all of them.
type BackupFilter struct {
	ApplicationID int64
	Project       string
	Environment   string
	Application   string // by name: also of one that was deleted
	State         slipway.BackupState
}

// Backups lists the backups that the caller sees, the newest first.
func (r *Reader) Backups(ctx context.Context, c slipway.Caller, f BackupFilter, p Page) (List[slipway.Backup], error) {
	return read(ctx, r, c, func(tx *store.Tx) (out List[slipway.Backup], err error) {
		var ok bool
		if f.Project, f.Environment, ok = confine(c, f.Project, f.Environment); !ok {
			return out, nil
		}
		return tx.Backups(ctx, store.BackupFilter(f), p)
	})
}

// Backup returns one backup.
func (r *Reader) Backup(ctx context.Context, c slipway.Caller, id int64) (slipway.Backup, error) {
	return read(ctx, r, c, func(tx *store.Tx) (slipway.Backup, error) {
		b, err := tx.Backup(ctx, id)
		if err == nil && !c.Sees(b.Project, b.Environment) {
			return b, missing("backup %d", id)
		}
		return b, err
	})
}

// LocationRow is a backup location and who uses it.
type LocationRow struct {
	slipway.BackupLocation
	UsedBy []string
}

// BackupLocations lists those of an environment by name.
func (r *Reader) BackupLocations(ctx context.Context, c slipway.Caller, project, name string) ([]LocationRow, error) {
	return read(ctx, r, c, func(tx *store.Tx) ([]LocationRow, error) {
		env, err := environment(ctx, tx, c, project, name)
		if err != nil {
			return nil, err
		}
		all, err := tx.BackupLocations(ctx, env.ID)
		if err != nil {
			return nil, err
		}
		out := make([]LocationRow, len(all))
		for i, l := range all {
			out[i].BackupLocation = l
			if out[i].UsedBy, err = tx.BackupLocationUses(ctx, l); err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}
