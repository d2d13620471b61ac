package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

const revisionColumns = `application_id, number, spec, source, driver_digest, created_by, created_at`

func readRevision(scan scan) (r slipway.Revision, err error) {
	return r, scan(&r.ApplicationID, &r.Number, fromJSON(&r.Spec), &r.Source, &r.DriverDigest, &r.CreatedBy, at(&r.CreatedAt))
}

// CreateRevision adds a revision. Number is the caller's: one more than the wanted one. A
// number that exists already is a Conflict.
func (tx *Tx) CreateRevision(ctx context.Context, r slipway.Revision) (slipway.Revision, error) {
	r.CreatedAt = tx.Now
	_, err := tx.exec(ctx, `INSERT INTO revisions (`+revisionColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		r.ApplicationID, r.Number, asJSON{r.Spec}, r.Source, r.DriverDigest, r.CreatedBy, r.CreatedAt)
	if err != nil {
		err = orExists(err, "revision %d exists already", r.Number)
		return r, fmt.Errorf("create revision %d of application %d: %w", r.Number, r.ApplicationID,
			orMissing(err, "there is no application %d", r.ApplicationID))
	}
	return r, nil
}

func (tx *Tx) Revision(ctx context.Context, applicationID, number int64) (slipway.Revision, error) {
	return one(ctx, tx, fmt.Sprintf("revision %d of application %d", number, applicationID), readRevision,
		`SELECT `+revisionColumns+` FROM revisions WHERE application_id = ? AND number = ?`, applicationID, number)
}

// Revisions lists the revisions of an application, the newest first.
func (tx *Tx) Revisions(ctx context.Context, applicationID int64, p Page) (List[slipway.Revision], error) {
	before, err := p.afterID()
	if err != nil {
		return List[slipway.Revision]{}, err
	}
	w := where{}
	w.and(`application_id = ?`, applicationID)
	w.andIf(before != 0, `number < ?`, before)
	rows, err := all(ctx, tx, readRevision, `SELECT `+revisionColumns+` FROM revisions`+w.String()+` ORDER BY number DESC LIMIT ?`,
		w.with(p.more())...)
	if err != nil {
		return List[slipway.Revision]{}, fmt.Errorf("list the revisions of application %d: %w", applicationID, err)
	}
	return list(p, rows, func(r slipway.Revision) []string { return idKey(r.Number) }), nil
}
