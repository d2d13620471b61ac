package view

import (
	"context"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// AuditFilter narrows the record of who did what. Its zero value is all of it.
type AuditFilter struct {
	User   string
	Action string // application.deploy
	Noun   string // application
	NounID int64
	Since  time.Time
}

// Audit lists who did what, the newest first, to administrators: it tells where people
// sign in from, and of all scopes.
func (r *Reader) Audit(ctx context.Context, c slipway.Caller, f AuditFilter, p Page) (List[slipway.Audit], error) {
	return read(ctx, r, c, func(tx *store.Tx) (List[slipway.Audit], error) {
		if err := unconfined(c, "the audit"); err != nil {
			return List[slipway.Audit]{}, err
		}
		if !c.Role.Allows(slipway.Administrator) {
			return List[slipway.Audit]{}, slipway.Errorf(slipway.Forbidden, "only an administrator may read the audit").
				WithHint("ask one, or have your role raised")
		}
		return tx.Audits(ctx, store.AuditFilter(f), p)
	})
}
