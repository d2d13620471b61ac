package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

const secretColumns = `id, environment_id, name, version, updated_by, created_at, updated_at`

func readSecret(scan scan) (s slipway.Secret, err error) {
	return s, scan(&s.ID, &s.EnvironmentID, &s.Name, &s.Version, &s.UpdatedBy, at(&s.CreatedAt), at(&s.UpdatedAt))
}

// PutSecret sets a secret's sealed value, and makes the secret if there is none.
func (tx *Tx) PutSecret(ctx context.Context, environmentID int64, name string, sealed []byte, by string) (slipway.Secret, error) {
	s, err := one(ctx, tx, "secret "+name, readSecret, `INSERT INTO secrets (environment_id, name, version, sealed, updated_by, created_at, updated_at)
		VALUES (?, ?, 1, ?, ?, ?, ?)
		ON CONFLICT (environment_id, name) DO UPDATE SET version = secrets.version + 1, sealed = excluded.sealed,
			updated_by = excluded.updated_by, updated_at = excluded.updated_at
		RETURNING `+secretColumns, environmentID, name, sealed, by, tx.Now, tx.Now)
	return s, orMissing(err, "there is no environment %d", environmentID)
}

func (tx *Tx) Secret(ctx context.Context, environmentID int64, name string) (slipway.Secret, error) {
	return one(ctx, tx, "secret "+name, readSecret, `SELECT `+secretColumns+` FROM secrets WHERE environment_id = ? AND name = ?`,
		environmentID, name)
}

// SecretSealed returns the sealed value. Package secret alone can open it.
func (tx *Tx) SecretSealed(ctx context.Context, environmentID int64, name string) ([]byte, error) {
	return one(ctx, tx, "secret "+name, func(scan scan) (b []byte, err error) { return b, scan(&b) },
		`SELECT sealed FROM secrets WHERE environment_id = ? AND name = ?`, environmentID, name)
}

// Secrets lists the secrets of an environment by name.
func (tx *Tx) Secrets(ctx context.Context, environmentID int64) ([]slipway.Secret, error) {
	s, err := all(ctx, tx, readSecret, `SELECT `+secretColumns+` FROM secrets WHERE environment_id = ? ORDER BY name`, environmentID)
	if err != nil {
		return nil, fmt.Errorf("list the secrets of environment %d: %w", environmentID, err)
	}
	return s, nil
}

func (tx *Tx) DeleteSecret(ctx context.Context, environmentID int64, name string) error {
	n, err := tx.exec(ctx, `DELETE FROM secrets WHERE environment_id = ? AND name = ?`, environmentID, name)
	if err != nil {
		return fmt.Errorf("delete secret %s: %w", name, err)
	}
	if n == 0 {
		return slipway.Errorf(slipway.NotFound, "there is no secret %s", name)
	}
	return nil
}

// AnySecret reports whether the database holds a sealed value: then the key that sealed it
// must be there, and a new one must not take its place.
func (tx *Tx) AnySecret(ctx context.Context) (bool, error) {
	var there bool
	if err := tx.value(ctx, []any{&there}, `SELECT EXISTS (SELECT 1 FROM secrets)`); err != nil {
		return false, fmt.Errorf("look for secrets: %w", err)
	}
	return there, nil
}

// SecretUses lists, as shop/production/guestbook, the applications of an environment whose
// wanted revision names the secret, the backup locations that do, and the applications with
// runners that were registered with it: it takes their registrations away again.
func (tx *Tx) SecretUses(ctx context.Context, environmentID int64, name string) ([]string, error) {
	refs, err := tx.specUses(ctx, environmentID, func(s slipway.ApplicationSpec) bool { return s.SecretNames()[name] })
	if err != nil {
		return nil, fmt.Errorf("look for uses of secret %s: %w", name, err)
	}
	locations, err := tx.BackupLocations(ctx, environmentID)
	for _, l := range locations {
		if l.S3.AccessKeySecret == name || l.S3.SecretKeySecret == name {
			refs = append(refs, "the backup location "+l.Name)
		}
	}
	if err != nil {
		return nil, err
	}
	runners, err := all(ctx, tx, func(scan scan) (ref string, err error) {
		var project, environment, application string
		err = scan(&project, &environment, &application)
		return "runners of " + slipway.EnvironmentRef(project, environment) + "/" + application + " that are not cleaned up yet", err
	}, `SELECT DISTINCT pr.name, e.name, a.name FROM runner_slots s JOIN runner_pools p ON p.id = s.pool_id
		JOIN applications a ON a.id = p.application_id JOIN environments e ON e.id = a.environment_id JOIN projects pr ON pr.id = e.project_id
		WHERE a.environment_id = ? AND s.credential = ? AND s.closed_at IS NULL ORDER BY a.name`, environmentID, name)
	if err != nil {
		return nil, fmt.Errorf("look for runners registered with secret %s: %w", name, err)
	}
	return append(refs, runners...), nil
}

// specUses lists the applications of an environment whose wanted spec fits.
func (tx *Tx) specUses(ctx context.Context, environmentID int64, fits func(slipway.ApplicationSpec) bool) ([]string, error) {
	type use struct {
		ref  string
		spec slipway.ApplicationSpec
	}
	// The specs are read and not queried into: the two databases have no common language
	// for JSON, and an environment has few applications.
	uses, err := all(ctx, tx, func(scan scan) (u use, err error) {
		var project, environment, application string
		err = scan(&project, &environment, &application, fromJSON(&u.spec))
		u.ref = slipway.EnvironmentRef(project, environment) + "/" + application
		return u, err
	}, `SELECT p.name, e.name, a.name, r.spec FROM applications a
		JOIN environments e ON e.id = a.environment_id
		JOIN projects p ON p.id = e.project_id
		JOIN revisions r ON r.application_id = a.id AND r.number = a.revision
		WHERE a.environment_id = ? AND a.deleted_at IS NULL ORDER BY a.name`, environmentID)
	var refs []string
	for _, u := range uses {
		if fits(u.spec) {
			refs = append(refs, u.ref)
		}
	}
	return refs, err
}
