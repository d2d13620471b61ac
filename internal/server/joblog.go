package server

import (
	"context"
	"errors"
	"fmt"
	"io"

	"slipway.dev/slipway/internal/joblog"
	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// jobForge reads jobs at their forge with the jobs' credential of a pool. The credential is
// opened for each request, and not kept.
type jobForge struct {
	store        *store.Store
	box          secretBox
	installation string
	open         func(baseURL, credential string) (forge.Jobs, error)
}

// secretBox is what reading jobs needs of package secret.
type secretBox interface {
	Open(p secret.Place, sealed []byte) ([]byte, error)
}

func (s *Server) jobForge() joblog.Source {
	return jobForge{
		store: s.Store, box: s.box, installation: s.Installation.ID,
		open: func(baseURL, credential string) (forge.Jobs, error) { return s.forges.For(baseURL, credential) },
	}
}

func (f jobForge) Steps(ctx context.Context, p slipway.RunnerPool, j slipway.Job) ([]joblog.Step, error) {
	client, err := f.client(ctx, p)
	if err != nil {
		return nil, err
	}
	job, err := client.Job(ctx, forge.Repository{Owner: j.Owner, Name: j.Repository}, j.ID)
	if err != nil {
		return nil, ours(p, err)
	}
	out := make([]joblog.Step, len(job.Steps))
	for i, st := range job.Steps {
		out[i] = joblog.Step(st)
	}
	return out, nil
}

func (f jobForge) Log(ctx context.Context, p slipway.RunnerPool, j slipway.Job, limit int64) (io.ReadCloser, error) {
	client, err := f.client(ctx, p)
	if err != nil {
		return nil, err
	}
	r, err := client.Log(ctx, forge.Repository{Owner: j.Owner, Name: j.Repository}, j.ID, limit)
	if err != nil {
		return nil, ours(p, err)
	}
	return r, nil
}

func (f jobForge) client(ctx context.Context, p slipway.RunnerPool) (forge.Jobs, error) {
	name := p.Spec.Jobs()
	var sealed []byte
	err := f.store.Read(ctx, func(tx *store.Tx) (err error) {
		sealed, err = tx.SecretSealed(ctx, p.EnvironmentID, name)
		return err
	})
	if slipway.Is(err, slipway.NotFound) {
		return nil, slipway.Errorf(slipway.Conflict, "the secret %q, with which jobs of the pool %s are read, is not there any more", name, p.Ref()).
			WithHint("set it with  slipway secrets set %s -e %s", name, slipway.EnvironmentRef(p.Project, p.Environment))
	}
	if err != nil {
		return nil, fmt.Errorf("read the secret %s: %w", name, err)
	}
	value, err := f.box.Open(secret.Place{Installation: f.installation, Environment: p.EnvironmentID, Name: name}, sealed)
	if err != nil {
		return nil, fmt.Errorf("open the secret %s: %w", name, err)
	}
	client, err := f.open(p.Spec.Scope.BaseURL, string(value))
	if err != nil {
		return nil, ours(p, err)
	}
	return client, nil
}

// ours makes of a credential that the forge refuses what it is to the reader: a part that
// Slipway needs and that does not work. As it stands it would read as if the reader might
// not.
func ours(p slipway.RunnerPool, err error) error {
	var e *slipway.Error
	if !forge.Is(err, forge.Refused) || !errors.As(err, &e) {
		return err
	}
	return &slipway.Error{
		Kind: slipway.Unavailable, Msg: fmt.Sprintf("jobs of the pool %s cannot be read with the secret %s: %s", p.Ref(), p.Spec.Jobs(), e.Msg), Hint: e.Hint, Err: e.Err,
	}
}
