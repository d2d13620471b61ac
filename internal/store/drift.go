package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const driftSelect = `SELECT application_id, revision, looked_at, checked_at, missed, found, suspected, unable, since FROM drift`

func readDrift(scan scan) (d slipway.Drift, err error) {
	return d, scan(&d.ApplicationID, &d.Revision, at(&d.LookedAt), at(&d.CheckedAt), &d.Missed,
		fromJSON(&d.Found), fromJSON(&d.Suspected), fromJSON(&d.Unable), at(&d.Since))
}

// Drift returns what is known of an application's drift; the zero Drift with its ID when
// nobody has looked yet.
func (tx *Tx) Drift(ctx context.Context, applicationID int64) (slipway.Drift, error) {
	d, err := one(ctx, tx, fmt.Sprintf("drift of application %d", applicationID), readDrift, driftSelect+` WHERE application_id = ?`, applicationID)
	if slipway.Is(err, slipway.NotFound) {
		return slipway.Drift{ApplicationID: applicationID}, nil
	}
	return d, err
}

// DriftOf returns what is known of several applications by one query. One at which nobody
// has looked yet is left out.
func (tx *Tx) DriftOf(ctx context.Context, applicationIDs []int64) (map[int64]slipway.Drift, error) {
	out := make(map[int64]slipway.Drift, len(applicationIDs))
	if len(applicationIDs) == 0 {
		return out, nil
	}
	these, args := oneOf(`application_id`, applicationIDs)
	ds, err := all(ctx, tx, readDrift, driftSelect+` WHERE `+these, args...)
	if err != nil {
		return nil, fmt.Errorf("read the drift of %d applications: %w", len(args), err)
	}
	for _, d := range ds {
		out[d.ApplicationID] = d
	}
	return out, nil
}

// SetDrift writes what a look has found, in place of what was known. Package observe
// alone calls it, for one application one look at a time.
func (tx *Tx) SetDrift(ctx context.Context, d slipway.Drift) error {
	list := func(l []slipway.Difference) asJSON {
		if l == nil {
			l = []slipway.Difference{}
		}
		return asJSON{l}
	}
	unable := d.Unable
	if unable == nil {
		unable = []string{}
	}
	_, err := tx.exec(ctx, `INSERT INTO drift (application_id, revision, looked_at, checked_at, missed, found, suspected, unable, since)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (application_id) DO UPDATE SET revision = excluded.revision, looked_at = excluded.looked_at,
			checked_at = excluded.checked_at, missed = excluded.missed, found = excluded.found,
			suspected = excluded.suspected, unable = excluded.unable, since = excluded.since`,
		d.ApplicationID, d.Revision, d.LookedAt, d.CheckedAt, d.Missed, list(d.Found), list(d.Suspected), asJSON{unable}, d.Since)
	if err != nil {
		return fmt.Errorf("record the drift of application %d: %w", d.ApplicationID, orMissing(err, "there is no application %d", d.ApplicationID))
	}
	return nil
}

// ForgetDrift drops what is known of an application's drift.
func (tx *Tx) ForgetDrift(ctx context.Context, applicationID int64) error {
	if _, err := tx.exec(ctx, `DELETE FROM drift WHERE application_id = ?`, applicationID); err != nil {
		return fmt.Errorf("forget the drift of application %d: %w", applicationID, err)
	}
	return nil
}

// OverdueForDrift lists applications on a cluster that nobody has looked at since a time,
// those first that have waited longest.
func (tx *Tx) OverdueForDrift(ctx context.Context, since time.Time, limit int) ([]int64, error) {
	ids, err := all(ctx, tx, func(scan scan) (id int64, err error) { return id, scan(&id) },
		`SELECT a.id FROM applications a LEFT JOIN drift d ON d.application_id = a.id
		WHERE a.deleted_at IS NULL AND a.applied > 0 AND a.kind = ? AND (d.looked_at IS NULL OR d.looked_at < ?)
		ORDER BY CASE WHEN d.looked_at IS NULL THEN 0 ELSE 1 END, d.looked_at, a.id LIMIT ?`, slipway.DriverApplication, since, limit)
	if err != nil {
		return nil, fmt.Errorf("look for applications that nobody has looked at: %w", err)
	}
	return ids, nil
}
