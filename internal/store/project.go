package store

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

func readProject(scan scan) (p slipway.Project, err error) {
	return p, scan(&p.ID, &p.Name, at(&p.CreatedAt))
}

func (tx *Tx) CreateProject(ctx context.Context, p slipway.Project) (slipway.Project, error) {
	p.CreatedAt = tx.Now
	id, err := tx.insert(ctx, `INSERT INTO projects (name, created_at) VALUES (?, ?) RETURNING id`, p.Name, p.CreatedAt)
	if err != nil {
		return p, fmt.Errorf("create project %s: %w", p.Name, orExists(err, "there is a project %s already", p.Name))
	}
	p.ID = id
	return p, nil
}

func (tx *Tx) ProjectByName(ctx context.Context, name string) (slipway.Project, error) {
	return one(ctx, tx, "project "+name, readProject, `SELECT id, name, created_at FROM projects WHERE name = ?`, name)
}

// Projects lists the projects by name.
func (tx *Tx) Projects(ctx context.Context, p Page) (List[slipway.Project], error) {
	after, _, err := p.after(1)
	if err != nil {
		return List[slipway.Project]{}, err
	}
	rows, err := all(ctx, tx, readProject, `SELECT id, name, created_at FROM projects WHERE name > ? ORDER BY name LIMIT ?`,
		after[0], p.more())
	if err != nil {
		return List[slipway.Project]{}, fmt.Errorf("list projects: %w", err)
	}
	return list(p, rows, func(p slipway.Project) []string { return []string{p.Name} }), nil
}

// DeleteProject is a Conflict while the project has environments.
func (tx *Tx) DeleteProject(ctx context.Context, id int64) error {
	n, err := tx.exec(ctx, `DELETE FROM projects WHERE id = ?`, id)
	switch {
	case faultOf(err) == FaultForeign:
		return &slipway.Error{Kind: slipway.Conflict, Msg: "the project has environments", Hint: "delete them first", Err: err}
	case err != nil:
		return fmt.Errorf("delete project %d: %w", id, err)
	case n == 0:
		return slipway.Errorf(slipway.NotFound, "there is no project %d", id)
	}
	return nil
}
