package change

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// hookSecrets is what is sealed of a webhook's secret: the one before counts for a while.
type hookSecrets struct {
	Current string    `json:"current"`
	Before  string    `json:"before,omitempty"`
	Until   time.Time `json:"until,omitzero"`
}

func (s *Service) sealConnection(ctx context.Context, tx *store.Tx, hook string, h hookSecrets, appKey []byte) (out store.ConnectionSecrets, err error) {
	i, err := tx.Installation(ctx)
	if err != nil {
		return out, err
	}
	raw, err := json.Marshal(h)
	if err != nil {
		return out, fmt.Errorf("seal the secret of a connection: %w", err)
	}
	if out.Hook, err = s.Box.Seal(secret.HookPlace(i.ID, hook), raw); err != nil {
		return out, err
	}
	if len(appKey) > 0 {
		out.App, err = s.Box.Seal(secret.AppPlace(i.ID, hook), appKey)
	}
	return out, err
}

func (s *Service) openHook(ctx context.Context, tx *store.Tx, hook string, sealed []byte) (h hookSecrets, err error) {
	i, err := tx.Installation(ctx)
	if err != nil {
		return h, err
	}
	raw, err := s.Box.Open(secret.HookPlace(i.ID, hook), sealed)
	if err != nil {
		return h, err
	}
	if err := json.Unmarshal(raw, &h); err != nil {
		return h, fmt.Errorf("read the secret of a connection: %w", err)
	}
	return h, nil
}

// Hook is a connection with the secrets that its deliveries may be signed with.
type Hook struct {
	slipway.Connection
	Secrets [][]byte
}

// Hook finds the connection that a forge sends to, by the unguessable end of its address.
// It is NotFound when there is none.
func (s *Service) Hook(ctx context.Context, hook string) (out Hook, err error) {
	err = s.Store.Read(ctx, func(tx *store.Tx) error {
		c, sealed, err := tx.ConnectionByHook(ctx, hook)
		if err != nil {
			return err
		}
		h, err := s.openHook(ctx, tx, hook, sealed.Hook)
		if err != nil {
			return err
		}
		out = Hook{Connection: c, Secrets: [][]byte{[]byte(h.Current)}}
		if h.Before != "" && tx.Now.Before(h.Until) {
			out.Secrets = append(out.Secrets, []byte(h.Before))
		}
		return nil
	})
	return out, err
}
