package application

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/redact"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// secretValues opens the secrets that an application uses. versions names them with their
// versions, "db@3 mail@1": a new value changes it, and so restarts the pods.
func (r *Reconciler) secretValues(ctx context.Context, app slipway.Application, s slipway.ApplicationSpec) (values map[string][]byte, versions string, err error) {
	used := spec.SecretsOf(s)
	sealed := map[string][]byte{}
	var marks []string
	err = r.Store.Read(ctx, func(tx *store.Tx) error {
		all, err := tx.Secrets(ctx, app.EnvironmentID)
		if err != nil {
			return err
		}
		for _, have := range all {
			if !slices.Contains(used, have.Name) {
				continue
			}
			if sealed[have.Name], err = tx.SecretSealed(ctx, app.EnvironmentID, have.Name); err != nil {
				return err
			}
			marks = append(marks, fmt.Sprintf("%s@%d", have.Name, have.Version))
		}
		return nil
	})
	if err != nil {
		return nil, "", fmt.Errorf("read the secrets of %s: %w", app.Ref(), err)
	}
	values = map[string][]byte{}
	for _, name := range used {
		box, ok := sealed[name]
		if !ok {
			return nil, "", slipway.Errorf(slipway.NotFound, "there is no secret %q in %s/%s", name, app.Project, app.Environment).
				WithHint("set it with  slipway secrets set %s -e %s/%s", name, app.Project, app.Environment)
		}
		place := secret.Place{Installation: r.Installation.ID, Environment: app.EnvironmentID, Name: name}
		if values[name], err = r.Box.Open(place, box); err != nil {
			return nil, "", err
		}
	}
	slices.Sort(marks)
	return values, strings.Join(marks, " "), nil
}

// redactor masks the application's secrets and anything that looks like one. tokens are
// further values, such as that of the task's token.
func (r *Reconciler) redactor(ctx context.Context, app slipway.Application, s slipway.ApplicationSpec, tokens ...string) func(string) string {
	values, _, err := r.secretValues(ctx, app, s)
	if err != nil {
		// A secret that was removed meanwhile cannot be looked for; patterns still are.
		r.Log.WarnContext(ctx, "not all secrets can be masked by value", "application", app.Ref(), "error", err)
	}
	known := slices.Clone(tokens)
	for _, v := range slices.Collect(maps.Values(values)) {
		known = append(known, string(v))
	}
	return redact.New(known...).String
}
