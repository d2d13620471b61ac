package api

import (
	"context"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerProjects() {
	register(s, "list-projects", s.listProjects)
	register(s, "create-project", s.createProject)
	register(s, "get-project", s.getProject)
	register(s, "delete-project", s.deleteProject)
}

// ProjectPath is the part of a request that names a project.
type ProjectPath struct {
	Project string `path:"project" maxLength:"40"`
}

func wireProject(p slipway.Project) wire.Project {
	return wire.Project{Name: p.Name, CreatedAt: p.CreatedAt}
}

func (s *service) listProjects(ctx context.Context, c slipway.Caller, in *Page) (*answer[wire.List[wire.Project]], error) {
	l, err := s.View.Projects(ctx, c, in.view())
	return listing(l, err, wireProject)
}

func (s *service) createProject(ctx context.Context, c slipway.Caller, in *struct {
	Keyed
	Body wire.NewProject
},
) (*answer[wire.Project], error) {
	p, err := s.Change.CreateProject(ctx, c, change.CreateProjectInput{Name: in.Body.Name, IdempotencyKey: in.Key})
	return reply(wireProject(p), err)
}

func (s *service) getProject(ctx context.Context, c slipway.Caller, in *ProjectPath) (*answer[wire.Project], error) {
	p, err := s.View.Project(ctx, c, in.Project)
	return reply(wireProject(p), err)
}

func (s *service) deleteProject(ctx context.Context, c slipway.Caller, in *ProjectPath) (*nothing, error) {
	return nil, s.Change.DeleteProject(ctx, c, in.Project)
}
