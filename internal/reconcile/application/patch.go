package application

import (
	"slipway.dev/slipway/internal/outside/helm"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// PatchFor says what is put into a chart after it is rendered: our labels, and what the
// team set on components in the configuration that frozen describes. stopped are the
// components that are stopped now, whatever the context was when it was frozen; secrets
// names the versions of the secrets in use.
func PatchFor(app slipway.Application, d slipway.DriverSpec, frozen spec.GlobalContext, stopped map[string]bool, secrets string) helm.Patch {
	p := helm.Patch{App: app, Components: map[string]helm.ComponentPatch{}}
	for name, component := range d.Components {
		c := frozen.Components[name]
		part := helm.ComponentPatch{
			Selector: component.Selector, Container: component.Container,
			Replicas: c.Replicas, Env: envOf(c), Stopped: stopped[name],
		}
		if c.ImageOverride != nil {
			part.Image = slipway.ExpandImage(*c.ImageOverride, frozen.App.Version)
		}
		// A pod is restarted for a secret that it reads, and for no other.
		for _, v := range c.Env {
			if v.SecretRef != nil {
				part.Secrets = secrets
			}
		}
		p.Components[name] = part
	}
	return p
}
