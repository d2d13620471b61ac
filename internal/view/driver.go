package view

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// maxDriverUsers bounds the applications that a driver's page lists.
const maxDriverUsers = 100

// DriverPage is one loaded version of a driver and who uses it.
type DriverPage struct {
	Driver   slipway.Driver
	Versions []slipway.Driver      // every loaded version of the same name, newest first
	Users    []slipway.Application // of those that the caller sees, at most 100: who wants or runs it
	UsersAll int                   // how many the caller sees in all
}

// Drivers lists every loaded driver. They belong to the installation; whoever may deploy
// anything must be able to choose one.
func (r *Reader) Drivers(ctx context.Context, c slipway.Caller, p Page) (List[slipway.Driver], error) {
	return read(ctx, r, c, func(tx *store.Tx) (List[slipway.Driver], error) { return tx.Drivers(ctx, p) })
}

// Driver returns one version of a driver with the applications that use it.
func (r *Reader) Driver(ctx context.Context, c slipway.Caller, name, version string) (DriverPage, error) {
	return read(ctx, r, c, func(tx *store.Tx) (page DriverPage, err error) {
		if page.Driver, err = tx.Driver(ctx, name, version); err != nil {
			return page, err
		}
		if page.Versions, err = driverVersions(ctx, tx, name); err != nil {
			return page, err
		}
		ids, err := driverUsers(ctx, tx, c, page.Driver.Digest)
		if err != nil {
			return page, err
		}
		page.UsersAll = len(ids)
		for _, id := range ids[:min(len(ids), maxDriverUsers)] {
			a, err := tx.Application(ctx, id)
			if err != nil {
				return page, err
			}
			page.Users = append(page.Users, a)
		}
		return page, nil
	})
}

func driverVersions(ctx context.Context, tx *store.Tx, name string) ([]slipway.Driver, error) {
	var versions []slipway.Driver
	for p := (Page{Limit: store.MaxLimit}); ; {
		all, err := tx.Drivers(ctx, p)
		if err != nil {
			return nil, err
		}
		for _, d := range all.Items {
			if d.Name == name {
				versions = append(versions, d)
			}
		}
		if all.Next == "" {
			return versions, nil
		}
		p.After = all.Next
	}
}

// driverUsers lists the applications in the caller's scope whose wanted or applied
// revision was made with the driver of this digest.
func driverUsers(ctx context.Context, tx *store.Tx, c slipway.Caller, digest string) ([]int64, error) {
	rows, err := tx.SQL().QueryContext(ctx, `SELECT DISTINCT a.id, p.name, e.name, a.name FROM applications a
		JOIN environments e ON e.id = a.environment_id JOIN projects p ON p.id = e.project_id
		JOIN revisions r ON r.application_id = a.id AND r.number IN (a.revision, a.applied)
		WHERE r.driver_digest = $1 AND a.deleted_at IS NULL ORDER BY p.name, e.name, a.name`, digest)
	if err != nil {
		return nil, fmt.Errorf("look for uses of driver %s: %w", digest, err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		var project, environment, name string
		if err := rows.Scan(&id, &project, &environment, &name); err != nil {
			return nil, fmt.Errorf("look for uses of driver %s: %w", digest, err)
		}
		if c.Sees(project, environment) {
			ids = append(ids, id)
		}
	}
	return ids, rows.Err()
}
