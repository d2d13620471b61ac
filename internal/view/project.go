package view

import (
	"context"
	"encoding/json"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Projects lists the projects that the caller sees, by name.
func (r *Reader) Projects(ctx context.Context, c slipway.Caller, p Page) (List[slipway.Project], error) {
	return read(ctx, r, c, func(tx *store.Tx) (List[slipway.Project], error) {
		if c.Project == "" {
			return tx.Projects(ctx, p)
		}
		found, err := tx.ProjectByName(ctx, c.Project)
		if slipway.Is(err, slipway.NotFound) {
			return List[slipway.Project]{}, nil // deleted since the token was made
		}
		return List[slipway.Project]{Items: []slipway.Project{found}}, err
	})
}

// Project returns one project.
func (r *Reader) Project(ctx context.Context, c slipway.Caller, name string) (slipway.Project, error) {
	return read(ctx, r, c, func(tx *store.Tx) (slipway.Project, error) {
		if c.Project != "" && c.Project != name {
			return slipway.Project{}, missing("project %s", name)
		}
		return tx.ProjectByName(ctx, name)
	})
}

// Environments lists the environments that the caller sees, of one project or of all when
// project is empty.
func (r *Reader) Environments(ctx context.Context, c slipway.Caller, project string, p Page) (List[slipway.Environment], error) {
	return read(ctx, r, c, func(tx *store.Tx) (List[slipway.Environment], error) {
		project, environment, ok := confine(c, project, "")
		switch {
		case !ok:
			return List[slipway.Environment]{}, nil
		case environment == "":
			return tx.Environments(ctx, project, p)
		}
		e, err := tx.EnvironmentByName(ctx, project, environment)
		if slipway.Is(err, slipway.NotFound) {
			return List[slipway.Environment]{}, nil
		}
		return List[slipway.Environment]{Items: []slipway.Environment{e}}, err
	})
}

// Environment returns one environment.
func (r *Reader) Environment(ctx context.Context, c slipway.Caller, project, name string) (slipway.Environment, error) {
	return read(ctx, r, c, func(tx *store.Tx) (slipway.Environment, error) { return environment(ctx, tx, c, project, name) })
}

func environment(ctx context.Context, tx *store.Tx, c slipway.Caller, project, name string) (slipway.Environment, error) {
	if !c.Sees(project, name) {
		return slipway.Environment{}, missing("environment %s", slipway.EnvironmentRef(project, name))
	}
	return tx.EnvironmentByName(ctx, project, name)
}

// SecretRow is a secret's public part and who uses it.
type SecretRow struct {
	slipway.Secret
	UsedBy []string // applications: shop/production/guestbook
}

// Secrets lists the secrets of an environment by name. It knows no values.
func (r *Reader) Secrets(ctx context.Context, c slipway.Caller, project, name string, p Page) (List[SecretRow], error) {
	return read(ctx, r, c, func(tx *store.Tx) (out List[SecretRow], err error) {
		env, err := environment(ctx, tx, c, project, name)
		if err != nil {
			return out, err
		}
		secrets, err := tx.Secrets(ctx, env.ID)
		if err != nil {
			return out, err
		}
		uses, err := secretUses(ctx, tx, env)
		if err != nil {
			return out, err
		}
		for _, s := range secrets {
			switch {
			case s.Name <= p.After:
			case len(out.Items) == p.Length():
				out.Next = out.Items[len(out.Items)-1].Name
				return out, nil
			default:
				out.Items = append(out.Items, SecretRow{Secret: s, UsedBy: uses[s.Name]})
			}
		}
		return out, nil
	})
}

// secretUses reads the wanted specs of an environment once and returns who names which
// secret.
func secretUses(ctx context.Context, tx *store.Tx, env slipway.Environment) (map[string][]string, error) {
	rows, err := tx.SQL().QueryContext(ctx, `SELECT a.name, r.spec FROM applications a
		JOIN revisions r ON r.application_id = a.id AND r.number = a.revision
		WHERE a.environment_id = $1 AND a.deleted_at IS NULL ORDER BY a.name`, env.ID)
	if err != nil {
		return nil, fmt.Errorf("read the specs of environment %s: %w", env.Ref(), err)
	}
	defer rows.Close()
	uses := map[string][]string{}
	for rows.Next() {
		var name string
		var raw []byte
		if err := rows.Scan(&name, &raw); err != nil {
			return nil, fmt.Errorf("read the specs of environment %s: %w", env.Ref(), err)
		}
		var s slipway.ApplicationSpec
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("decode the spec of %s/%s: %w", env.Ref(), name, err)
		}
		for secret := range s.SecretNames() {
			uses[secret] = append(uses[secret], env.Ref()+"/"+name)
		}
	}
	return uses, rows.Err()
}
