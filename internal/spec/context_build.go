package spec

import (
	"maps"
	"slices"

	"slipway.dev/slipway/internal/slipway"
)

// ContextInput is everything that a context is made from.
type ContextInput struct {
	Task            slipway.Task
	Change          slipway.Change
	Cluster         ContextCluster
	Environment     slipway.Environment
	Application     slipway.Application
	Spec            slipway.ApplicationSpec // of the change's revision
	Driver          slipway.Driver
	PreviousVersion string // of the application; empty on install
	PreviousDriver  string // the driver's version before; empty on install
	ChartDigest     string // recorded at load; may be empty
	States          []slipway.ComponentState
	Kinds           map[string][]string // component → kinds of its workloads, when known
	Backup          *ContextBackup      // of a backup or a restore
}

// SecretObject names the Kubernetes Secret that holds the secrets of an application's
// release. One Secret with a key for each secret it uses, so that deleting the
// application deletes exactly its copies.
func SecretObject(release string) string { return release + "-slipway" }

// HelmRelease is the name of an application's release in its namespace.
func HelmRelease(application string) string { return application }

// BuildContext makes the frozen context of a change. It calls nobody.
func BuildContext(in ContextInput) (GlobalContext, error) {
	d := in.Driver.Spec
	chart, err := ChartFor(d, in.Spec.App.Version)
	if err != nil {
		return GlobalContext{}, err
	}
	if in.ChartDigest != "" {
		chart.Digest = in.ChartDigest
	}
	parameters, err := EffectiveParameters(d, in.Spec.Parameters)
	if err != nil {
		return GlobalContext{}, err
	}
	release := HelmRelease(in.Application.Name)
	c := GlobalContext{
		SchemaVersion: ContextSchema,
		Task:          ContextTask{ID: in.Task.ID, Kind: in.Task.Kind, Change: in.Change.Number},
		Cluster:       in.Cluster,
		Environment: ContextEnvironment{
			ID: in.Environment.ID, Project: in.Environment.Project, Name: in.Environment.Name,
			Settings: map[string]string{},
		},
		Deployment: ContextDeployment{
			ID: in.Application.ID, Name: in.Application.Name, DisplayName: in.Application.Ref(), DesiredPhase: "running",
		},
		Instance: ContextInstance{
			ID: in.Change.Revision, Namespace: in.Environment.Namespace, HelmRelease: release, Config: map[string]any{},
		},
		App: ContextApp{
			Name: in.Application.Name, Version: in.Spec.App.Version, PreviousVersion: orNull(in.PreviousVersion),
			Driver: ContextDriver{Name: in.Driver.Name, Version: in.Driver.Version, Digest: in.Driver.Digest, PreviousVersion: orNull(in.PreviousDriver)},
			Chart:  ContextChart{Ref: chart.Location, Version: chart.Version, Digest: orNull(chart.Digest)},
		},
		Components: map[string]ContextComponent{},
		Parameters: map[string]any{},
		Services:   map[string]ContextService{},
		Backup:     in.Backup,
	}
	if in.Change.Kind == slipway.DeleteChange {
		c.Deployment.DesiredPhase = "deleting"
	}
	maps.Copy(c.Environment.Settings, in.Environment.Settings)
	for k, v := range in.Environment.Settings {
		c.Instance.Config[k] = v
	}
	for name, v := range parameters {
		if secret, ok := slipway.SecretParameter(v); ok {
			c.Parameters[name] = ContextSecret{SecretRef{Name: SecretObject(release), Key: secret}}
			continue
		}
		c.Parameters[name], c.Instance.Config[name] = v, v
	}
	for name, component := range d.Components {
		c.Components[name] = contextComponent(in, name, component, release)
	}
	for name, s := range d.Services {
		c.Services[name] = ContextService{Component: s.Component, Kind: s.Kind, Port: s.Port, Scope: s.Scope, Path: s.Path}
	}
	return c, nil
}

func contextComponent(in ContextInput, name string, component slipway.Component, release string) ContextComponent {
	set := in.Spec.Components[name]
	out := ContextComponent{
		Selector:      maps.Clone(component.Selector),
		Kinds:         slices.Clone(in.Kinds[name]),
		Container:     orNull(component.Container),
		ImageOverride: orNull(set.Image),
		Env:           map[string]ContextEnv{},
		Replicas:      set.Replicas,
	}
	if out.Selector == nil {
		out.Selector = map[string]string{}
	}
	if out.Kinds == nil {
		out.Kinds = []string{}
	}
	for k, v := range set.Env {
		out.Env[k] = ContextEnv{Value: &v}
	}
	for k, secret := range set.Secrets {
		out.Env[k] = ContextEnv{SecretRef: &SecretRef{Name: SecretObject(release), Key: secret}}
	}
	for _, s := range in.States {
		if s.Component == name {
			out.Stopped = s.Stopped
		}
	}
	return out
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// SecretsOf lists, sorted, the names of the secrets that an application uses, in
// components and in parameters.
func SecretsOf(s slipway.ApplicationSpec) []string {
	names := map[string]bool{}
	for _, c := range s.Components {
		for _, name := range c.Secrets {
			names[name] = true
		}
	}
	for _, v := range s.Parameters {
		if name, ok := slipway.SecretParameter(v); ok {
			names[name] = true
		}
	}
	for _, service := range s.Services {
		for _, name := range []string{service.Actions.Credential, service.Actions.JobsCredential} {
			if name != "" {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
