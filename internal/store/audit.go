package store

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// AddAudit writes one line of who did what, in the transaction that does it.
func (tx *Tx) AddAudit(ctx context.Context, a slipway.Audit) error {
	_, err := tx.exec(ctx, `INSERT INTO audit (at, user_name, token_id, remote, request_id, action, noun, noun_id, noun_name, before, after)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, tx.Now, a.User, a.TokenID, a.Remote, a.RequestID, a.Action, a.Noun, a.NounID,
		a.NounName, rawJSON(a.Before), rawJSON(a.After))
	if err != nil {
		return fmt.Errorf("audit %s: %w", a.Action, err)
	}
	return nil
}

// AuditFilter narrows a list; a zero field does not.
type AuditFilter struct {
	User   string
	Action string
	Noun   string
	NounID int64
	Since  time.Time
}

// Audits lists lines of the audit, the newest first.
func (tx *Tx) Audits(ctx context.Context, f AuditFilter, p Page) (List[slipway.Audit], error) {
	before, err := p.afterID()
	if err != nil {
		return List[slipway.Audit]{}, err
	}
	w := where{}
	w.andIf(f.User != "", `user_name = ?`, f.User)
	w.andIf(f.Action != "", `action = ?`, f.Action)
	w.andIf(f.Noun != "", `noun = ?`, f.Noun)
	w.andIf(f.NounID != 0, `noun_id = ?`, f.NounID)
	w.andIf(!f.Since.IsZero(), `at >= ?`, f.Since)
	w.andIf(before != 0, `id < ?`, before)
	rows, err := all(ctx, tx, func(scan scan) (a slipway.Audit, err error) {
		return a, scan(&a.ID, at(&a.At), &a.User, &a.TokenID, &a.Remote, &a.RequestID, &a.Action, &a.Noun, &a.NounID, &a.NounName,
			&a.Before, &a.After)
	}, `SELECT id, at, user_name, token_id, remote, request_id, action, noun, noun_id, noun_name, before, after
		FROM audit`+w.String()+` ORDER BY id DESC LIMIT ?`, w.with(p.more())...)
	if err != nil {
		return List[slipway.Audit]{}, fmt.Errorf("list the audit: %w", err)
	}
	return list(p, rows, func(a slipway.Audit) []string { return idKey(a.ID) }), nil
}
