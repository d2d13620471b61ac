package change

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// CreateProject makes a project. Administrators may.
func (s *Service) CreateProject(ctx context.Context, c slipway.Caller, in CreateProjectInput) (slipway.Project, error) {
	if err := needWhole(c, slipway.Administrator); err != nil {
		return slipway.Project{}, err
	}
	var f faults
	f.is("name", slipway.CheckName("a project", in.Name))
	if err := f.err("the project"); err != nil {
		return slipway.Project{}, err
	}
	p, _, err := once(ctx, s.Store, request{c, in.IdempotencyKey, "project.create", in.Name}, func(tx *store.Tx) (slipway.Project, error) {
		p, err := tx.CreateProject(ctx, slipway.Project{Name: in.Name})
		if err != nil {
			return p, err
		}
		return p, record(ctx, tx, c, deed{"project.create", "project", p.ID, p.Name, nil, facts{"name": p.Name}})
	})
	return p, err
}

// DeleteProject removes a project without environments. Administrators may.
func (s *Service) DeleteProject(ctx context.Context, c slipway.Caller, name string) error {
	if err := needWhole(c, slipway.Administrator); err != nil {
		return err
	}
	return s.Store.InTx(ctx, func(tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, name)
		if err != nil {
			return err
		}
		if err := tx.DeleteProject(ctx, p.ID); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"project.delete", "project", p.ID, p.Name, facts{"name": p.Name}, nil})
	})
}
