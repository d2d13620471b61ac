package change

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// maxSecret is the longest value of a secret: what fits into an environment variable with
// room beside it.
const maxSecret = 64 << 10

// SetSecret gives a secret a value. Applications take it up at their next change. Who may
// write in the environment may.
func (s *Service) SetSecret(ctx context.Context, c slipway.Caller, in SetSecretInput) (out slipway.Secret, err error) {
	if err := need(c, slipway.ReadWrite); err != nil {
		return out, err
	}
	var f faults
	f.is("name", slipway.CheckName("a secret", in.Name))
	switch {
	case len(in.Value) == 0:
		f.add("value", "it is empty", "delete the secret instead")
	case len(in.Value) > maxSecret:
		f.add("value", fmt.Sprintf("it has %d bytes; at most %d are allowed", len(in.Value), maxSecret), "shorten it")
	case bytes.IndexByte(in.Value, 0) >= 0:
		f.add("value", "it holds a NUL byte, which no environment variable can", "encode it, for example in base64")
	}
	if err := f.err("the secret"); err != nil {
		return out, err
	}
	err = s.Store.InTx(ctx, func(tx *store.Tx) error {
		e, err := environment(ctx, tx, c, in.Project, in.Environment)
		if err != nil {
			return err
		}
		place, err := SecretPlace(ctx, tx, e.ID, in.Name)
		if err != nil {
			return err
		}
		sealed, err := s.Box.Seal(place, in.Value)
		if err != nil {
			return err
		}
		var before facts
		if old, err := tx.Secret(ctx, e.ID, in.Name); err == nil {
			before = facts{"version": old.Version}
		} else if !slipway.Is(err, slipway.NotFound) {
			return err
		}
		if out, err = tx.PutSecret(ctx, e.ID, in.Name, sealed, c.UserName); err != nil {
			return err
		}
		if err := s.wakePoolsWith(ctx, tx, e.ID, in.Name); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"secret.set", "secret", out.ID, e.Ref() + "/" + out.Name, before, facts{"version": out.Version}})
	})
	return out, err
}

// wakePoolsWith wakes the pools that register runners with a secret: what was refused with
// its last value is tried with the new one at once.
func (s *Service) wakePoolsWith(ctx context.Context, tx *store.Tx, environmentID int64, name string) error {
	pools, err := tx.RunnerPools(ctx)
	if err != nil {
		return err
	}
	for _, p := range pools {
		if p.EnvironmentID != environmentID || p.Spec.Credential != name {
			continue
		}
		if err := s.wake(ctx, tx, slipway.WakePool, p.ID); err != nil {
			return err
		}
	}
	return nil
}

// SecretPlace is what a secret's value is sealed for. Whoever opens values needs the same.
func SecretPlace(ctx context.Context, tx *store.Tx, environmentID int64, name string) (secret.Place, error) {
	i, err := tx.Installation(ctx)
	if err != nil {
		return secret.Place{}, err
	}
	return secret.Place{Installation: i.ID, Environment: environmentID, Name: name}, nil
}

// DeleteSecret removes a secret that no application uses.
func (s *Service) DeleteSecret(ctx context.Context, c slipway.Caller, project, env, name string) error {
	if err := need(c, slipway.ReadWrite); err != nil {
		return err
	}
	return s.Store.InTx(ctx, func(tx *store.Tx) error {
		e, err := environment(ctx, tx, c, project, env)
		if err != nil {
			return err
		}
		old, err := tx.Secret(ctx, e.ID, name)
		if err != nil {
			return err
		}
		uses, err := tx.SecretUses(ctx, e.ID, name)
		if err != nil {
			return err
		}
		if len(uses) > 0 {
			return slipway.Errorf(slipway.Conflict, "the secret %s is used by %s", name, strings.Join(uses, ", ")).
				WithHint("take it out of their application.toml and deploy them first")
		}
		if err := tx.DeleteSecret(ctx, e.ID, name); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"secret.delete", "secret", old.ID, e.Ref() + "/" + name, facts{"version": old.Version}, nil})
	})
}
