package spec

import (
	"maps"
	"regexp"
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// named reads a table of named things, or a list of things with a name each.
func (d *driverReader) named(n *node, path string) []entry {
	if n == nil || n.shape != listShape {
		if !d.shaped(n, path, tableShape, "") {
			return nil
		}
		return n.keys
	}
	var out []entry
	for i, v := range n.list {
		p := item(path, i)
		if !d.shaped(v, p, tableShape, "") {
			continue
		}
		name := d.filled(d.need(v, p, "name", ""), p+".name", "")
		if name == "" {
			continue
		}
		rest := *v
		rest.keys = slices.DeleteFunc(slices.Clone(v.keys), func(e entry) bool { return e.key == "name" })
		out = append(out, entry{name, v.get("name").pos, &rest})
	}
	return out
}

func (d *driverReader) components(n *node) map[string]slipway.Component {
	out := map[string]slipway.Component{}
	entries := d.named(n, "spec.components")
	for _, e := range entries {
		path := join("spec.components", e.key)
		d.checkName(e.pos, path, "a component", e.key)
		if _, twice := out[e.key]; twice {
			d.fault(e.pos, path, "", "is there twice")
		}
		if !d.table(e.value, path, "selector", "container", "scalable", "ready", "backup", "description", "defaults", "title") {
			continue
		}
		out[e.key] = d.component(e.value, path)
		if b := e.value.get("defaults"); b != nil {
			d.note(b.pos, path+".defaults", "", "is accepted and has no effect yet")
		}
	}
	d.sameSelector(entries, out)
	if len(out) == 0 {
		return nil
	}
	return out
}

func (d *driverReader) component(n *node, path string) slipway.Component {
	var c slipway.Component
	selector := d.need(n, path, "selector", "labels of the component's pods: { app.kubernetes.io/component: web }")
	c.Selector = d.texts(selector, path+".selector", func(e entry, p, value string) {
		if !labelKey.MatchString(e.key) {
			d.fault(e.pos, p, "write it as app.kubernetes.io/component", "%q is no label", cut(e.key, 80))
		}
		if !labelValue.MatchString(value) {
			d.fault(e.value.pos, p, "use letters, digits, dots and hyphens, at most 63", "%q is no label's value", cut(value, 80))
		}
	})
	if selector != nil && selector.shape == tableShape && len(selector.keys) == 0 {
		d.fault(selector.pos, path+".selector", "name a label", "may not be empty: it would match every workload")
	}
	c.Container = d.text(n.get("container"), path+".container")
	if c.Container != "" && !dnsLabel.MatchString(c.Container) {
		d.fault(n.get("container").pos, path+".container", "", "%q cannot name a container", cut(c.Container, 80))
	}
	c.Scalable = d.boolean(n.get("scalable"), path+".scalable")
	if ready := n.get("ready"); d.table(ready, path+".ready", "timeout") {
		c.ReadyTimeout = d.duration(ready.get("timeout"), path+".ready.timeout", time.Second, slipway.MaxActionTimeout)
	}
	c.Backup = d.backup(n.get("backup"), path+".backup")
	return c
}

var (
	labelKey   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`)
	labelValue = regexp.MustCompile(`^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$`)
	dnsLabel   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
)

// sameSelector refuses two components that would always be the same workloads.
func (d *driverReader) sameSelector(entries []entry, components map[string]slipway.Component) {
	for i, a := range entries {
		for _, b := range entries[i+1:] {
			same := maps.Equal(components[a.key].Selector, components[b.key].Selector)
			if same && a.key != b.key && len(components[a.key].Selector) > 0 {
				d.fault(b.pos, join("spec.components", b.key)+".selector", "give each component labels of its own", "is the same as that of %s", a.key)
			}
		}
	}
}

// duration reads a time such as 45m.
func (d *driverReader) duration(n *node, path string, low, high time.Duration) time.Duration {
	const hint = "write it with a unit: 45m, 90s, 1h30m"
	if n != nil && n.shape != textShape {
		d.fault(n.pos, path, hint, "must be a time, not %s", n.shape)
		return 0
	}
	s := d.filled(n, path, hint)
	if s == "" {
		return 0
	}
	v, err := time.ParseDuration(s)
	switch {
	case err != nil:
		d.fault(n.pos, path, hint, "%q is no time", cut(s, 40))
		return 0
	case v < low || v > high:
		d.fault(n.pos, path, "", "is %s; it must be from %s to %s", v, low, high)
		return 0
	}
	return v
}

var word = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

func (d *driverReader) services(n *node, components map[string]slipway.Component) map[string]slipway.Service {
	out := map[string]slipway.Service{}
	for _, e := range d.named(n, "spec.services") {
		path := join("spec.services", e.key)
		d.checkName(e.pos, path, "a service", e.key)
		if !d.table(e.value, path, "component", "kind", "port", "scope", "path", "description", "title") {
			continue
		}
		s := slipway.Service{
			Component: d.filled(d.need(e.value, path, "component", "the component that serves it"), path+".component", ""),
			Kind:      d.text(e.value.get("kind"), path+".kind"),
			Scope:     d.text(e.value.get("scope"), path+".scope"),
			Path:      d.text(e.value.get("path"), path+".path"),
			Port:      int(d.whole(e.value.get("port"), path+".port", 1, 65535)),
		}
		if _, known := components[s.Component]; !known && s.Component != "" {
			d.fault(e.value.get("component").pos, path+".component", didYouMean(s.Component, slices.Collect(maps.Keys(components))), "there is no component %s", s.Component)
		}
		for key, v := range map[string]string{"kind": s.Kind, "scope": s.Scope} {
			if v != "" && !word.MatchString(v) {
				d.fault(e.value.get(key).pos, path+"."+key, "", "must be one word in lower case")
			}
		}
		if s.Path != "" && s.Path[0] != '/' {
			d.fault(e.value.get("path").pos, path+".path", "write /"+s.Path, "must start with /")
		}
		out[e.key] = s
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
