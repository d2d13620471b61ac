package change

import (
	"context"
	"encoding/json"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// facts are what an audit line says of a noun, before or after. They never hold the value
// of a secret, a password or a token.
type facts map[string]any

// deed is one line of the audit before it has a caller.
type deed struct {
	action string // application.deploy
	noun   string
	id     int64
	name   string
	before facts
	after  facts
}

// record writes who did what, in the transaction that does it.
func record(ctx context.Context, tx *store.Tx, c slipway.Caller, d deed) error {
	a := slipway.Audit{
		User: c.UserName, TokenID: c.TokenID, Remote: c.Remote, RequestID: c.RequestID,
		Action: d.action, Noun: d.noun, NounID: d.id, NounName: d.name,
	}
	var err error
	if a.Before, err = d.before.json(); err != nil {
		return fmt.Errorf("audit %s: %w", d.action, err)
	}
	if a.After, err = d.after.json(); err != nil {
		return fmt.Errorf("audit %s: %w", d.action, err)
	}
	return tx.AddAudit(ctx, a)
}

func (f facts) json() ([]byte, error) {
	if f == nil {
		return nil, nil
	}
	return json.Marshal(f)
}
