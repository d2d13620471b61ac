package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

const driverColumns = `id, name, version, digest, spec, source, size, loaded_by, loaded_at, warnings`

func readDriver(scan scan) (d slipway.Driver, err error) {
	return d, scan(&d.ID, &d.Name, &d.Version, &d.Digest, fromJSON(&d.Spec), &d.Source, &d.Size, &d.LoadedBy,
		at(&d.LoadedAt), fromJSON(&d.Warnings))
}

// CreateDriver adds a version of a driver with its packed bundle. A name and version, or
// a digest, that exists already is a Conflict; the caller compares the digests to tell a
// repeat from another content.
func (tx *Tx) CreateDriver(ctx context.Context, d slipway.Driver, content []byte) (slipway.Driver, error) {
	d.LoadedAt, d.Size = tx.Now, int64(len(content))
	if d.Warnings == nil {
		d.Warnings = []string{}
	}
	_, err := tx.exec(ctx, `INSERT INTO driver_bundles (digest, content) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING`,
		d.Digest, content)
	if err != nil {
		return d, fmt.Errorf("keep the bundle of driver %s %s: %w", d.Name, d.Version, err)
	}
	id, err := tx.insert(ctx, `INSERT INTO drivers (name, version, digest, spec, source, size, loaded_by, loaded_at, warnings)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
		d.Name, d.Version, d.Digest, asJSON{d.Spec}, d.Source, d.Size, d.LoadedBy, d.LoadedAt, asJSON{d.Warnings})
	if err != nil {
		return d, fmt.Errorf("create driver %s %s: %w", d.Name, d.Version,
			orExists(err, "driver %s %s is loaded already", d.Name, d.Version))
	}
	d.ID = id
	return d, nil
}

func (tx *Tx) Driver(ctx context.Context, name, version string) (slipway.Driver, error) {
	return one(ctx, tx, "driver "+name+" "+version, readDriver,
		`SELECT `+driverColumns+` FROM drivers WHERE name = ? AND version = ?`, name, version)
}

func (tx *Tx) DriverByDigest(ctx context.Context, digest string) (slipway.Driver, error) {
	return one(ctx, tx, "driver with the digest "+digest, readDriver, `SELECT `+driverColumns+` FROM drivers WHERE digest = ?`, digest)
}

// DriverContent returns the packed bundle.
func (tx *Tx) DriverContent(ctx context.Context, digest string) ([]byte, error) {
	return one(ctx, tx, "driver with the digest "+digest, func(scan scan) (b []byte, err error) { return b, scan(&b) },
		`SELECT content FROM driver_bundles WHERE digest = ?`, digest)
}

// Drivers lists the loaded drivers by name, and each one's versions from the one loaded
// last: versions are semantic, which no database can sort.
func (tx *Tx) Drivers(ctx context.Context, p Page) (List[slipway.Driver], error) {
	after, more, err := p.after(2)
	if err != nil {
		return List[slipway.Driver]{}, err
	}
	w := where{}
	if more {
		id, err := parseID(after[1])
		if err != nil {
			return List[slipway.Driver]{}, err
		}
		w.and(`(name > ? OR (name = ? AND id < ?))`, after[0], after[0], id)
	}
	rows, err := all(ctx, tx, readDriver, `SELECT `+driverColumns+` FROM drivers`+w.String()+` ORDER BY name, id DESC LIMIT ?`,
		w.with(p.more())...)
	if err != nil {
		return List[slipway.Driver]{}, fmt.Errorf("list drivers: %w", err)
	}
	return list(p, rows, func(d slipway.Driver) []string { return []string{d.Name, formatID(d.ID)} }), nil
}

// DeleteDriver is a Conflict while an application that is not deleted wants it or runs it.
// The bundle goes when no revision names it any more.
func (tx *Tx) DeleteDriver(ctx context.Context, name, version string) error {
	d, err := one(ctx, tx, "driver "+name+" "+version, readDriver,
		`SELECT `+driverColumns+` FROM drivers WHERE name = ? AND version = ?`+tx.forUpdate(), name, version)
	if err != nil {
		return err
	}
	var n int
	// An open change may still need the revision before the wanted one.
	err = tx.value(ctx, []any{&n}, `SELECT COUNT(DISTINCT a.id) FROM applications a
		JOIN revisions r ON r.application_id = a.id
		WHERE a.deleted_at IS NULL AND r.driver_digest = ? AND (r.number IN (a.revision, a.applied)
			OR EXISTS (SELECT 1 FROM changes c JOIN tasks t ON t.id = c.task_id
				WHERE c.application_id = a.id AND t.ended_at IS NULL AND r.number IN (c.revision, c.from_revision)))`, d.Digest)
	if err != nil {
		return fmt.Errorf("delete driver %s %s: %w", name, version, err)
	}
	if n > 0 {
		return slipway.Errorf(slipway.Conflict, "driver %s %s is used by %d applications", name, version, n).
			WithHint("move them to another version, or delete them, first")
	}
	if _, err := tx.exec(ctx, `DELETE FROM drivers WHERE id = ?`, d.ID); err != nil {
		return fmt.Errorf("delete driver %s %s: %w", name, version, err)
	}
	_, err = tx.exec(ctx, `DELETE FROM driver_bundles WHERE digest = ?
		AND NOT EXISTS (SELECT 1 FROM revisions WHERE driver_digest = driver_bundles.digest)`, d.Digest)
	if err != nil {
		return fmt.Errorf("delete the bundle of driver %s %s: %w", name, version, err)
	}
	return nil
}
