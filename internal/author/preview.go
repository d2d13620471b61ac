package author

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// Preview asks for what a driver makes of an application, which need not exist.
type Preview struct {
	Bundle      spec.Bundle
	Spec        slipway.DriverSpec
	App         slipway.ApplicationSpec
	At          spec.Positions      // of App's file, when it has one
	Environment slipway.Environment // the zero value: an imagined one
	Kube        string
}

// Preview renders an application that was checked against the driver first.
func (t *Tools) Preview(ctx context.Context, p Preview) (Rendered, error) {
	if err := p.check(); err != nil {
		return Rendered{}, err
	}
	frozen, err := p.context(contextChange{kind: slipway.InstallTask, number: 1, revision: 1})
	if err != nil {
		return Rendered{}, err
	}
	return t.Render(ctx, Rendering{Bundle: p.Bundle, Spec: p.Spec, App: p.application(), Context: frozen, Kube: p.Kube})
}

func (p *Preview) check() error {
	if p.Environment.Namespace == "" {
		p.Environment = slipway.Environment{Project: "example", Name: "check", Namespace: spec.ExampleNamespace}
	}
	faults := spec.CheckAgainstDriver(p.App, p.Spec, p.At)
	if p.App.Driver.Name != p.Spec.Name {
		faults = append(faults, p.At.Fault("is another driver than "+p.Spec.Name, "write name = \""+p.Spec.Name+"\"", "driver", "name"))
	}
	if len(faults) == 0 {
		return nil
	}
	e := slipway.Errorf(slipway.Invalid, "the driver %s cannot do what the application asks for", p.Spec.Name)
	e.Fields = faults
	return e
}

func (p *Preview) application() slipway.Application {
	return slipway.Application{
		ID: 1, Project: p.Environment.Project, Environment: p.Environment.Name, Namespace: p.Environment.Namespace, Name: p.App.Name,
		Kind: slipway.DriverApplication, DriverName: p.Spec.Name, DriverVersion: p.Spec.Version,
	}
}

// contextChange is what of a change its context holds.
type contextChange struct {
	kind             slipway.TaskKind
	task             int64
	number, revision int64
	from             string // the application's version before; empty: an install
	stopped          map[string]bool
}

// context is the frozen context of a change of the application.
func (p *Preview) context(c contextChange) (spec.GlobalContext, error) {
	in := spec.ContextInput{
		Task:        slipway.Task{ID: c.task, Kind: c.kind},
		Change:      slipway.Change{ID: c.number, Kind: slipway.InstallChange, Number: c.number, Revision: c.revision},
		Cluster:     spec.ContextCluster{ID: "simulated", Name: "simulated"},
		Environment: p.Environment, Application: p.application(), Spec: p.App,
		Driver:          slipway.Driver{Name: p.Spec.Name, Version: p.Spec.Version, Digest: p.Bundle.Digest(), Spec: p.Spec},
		PreviousVersion: c.from,
	}
	if c.from != "" {
		in.Change.Kind, in.PreviousDriver = slipway.UpgradeChange, p.Spec.Version
	}
	for name := range c.stopped {
		in.States = append(in.States, slipway.ComponentState{Component: name, Stopped: c.stopped[name]})
	}
	return spec.BuildContext(in)
}
