package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"slipway.dev/slipway/internal/author"
	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// tools look at a driver's files for package change, which may not see the folders that
// know Python and Helm.
type tools struct{ *author.Tools }

// CheckDriver is what an author's own check finds, and nothing else.
func (t tools) CheckDriver(ctx context.Context, b spec.Bundle) (change.DriverFacts, error) {
	r, err := t.Check(ctx, b)
	return change.DriverFacts{Spec: r.Spec, Faults: r.Faults, Warnings: spec.Sentences(r.Warnings)}, err
}

// Rendered renders the chart as it would be applied, and sums up each component's pods.
func (t tools) Rendered(ctx context.Context, b spec.Bundle, d slipway.Driver, s slipway.ApplicationSpec, c spec.GlobalContext) (map[string]string, error) {
	out, err := t.Render(ctx, author.Rendering{
		Bundle: b, Spec: d.Spec, Context: c,
		App: slipway.Application{
			Project: c.Environment.Project, Environment: c.Environment.Name, Name: s.Name, Namespace: c.Instance.Namespace,
		},
	})
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, w := range out.Workloads {
		if w.Component == "" {
			continue
		}
		sum := sha256.New()
		_, _ = io.WriteString(sum, sums[w.Component]+w.String()+w.TemplateHash()) // a hash takes everything
		sums[w.Component] = hex.EncodeToString(sum.Sum(nil))
	}
	return sums, nil
}
