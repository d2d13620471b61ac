package spec

import (
	"fmt"
	"regexp"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// ApplicationSchema is the newest schema_version of application.toml that is known.
const ApplicationSchema = 1

// Limits of application.toml. A file beyond them is not a person's wish any more.
const (
	MaxApplicationBytes = 256 << 10
	maxEnvValue         = 32 << 10
	maxReplicas         = 1000
)

// ParseApplication reads application.toml. It checks what the file alone can tell; whether
// the driver has such components and parameters is CheckAgainstDriver's question. Every
// fault is in the error's Fields.
func ParseApplication(src []byte, file string) (slipway.ApplicationSpec, error) {
	root, err := applicationNodes(src, file)
	if err != nil {
		return slipway.ApplicationSpec{}, err
	}
	r := &reader{file: file}
	spec := r.application(root)
	if err := r.err(named(file)); err != nil {
		return slipway.ApplicationSpec{}, err
	}
	return spec, nil
}

func applicationNodes(src []byte, file string) (*node, error) {
	if len(src) > MaxApplicationBytes {
		return nil, slipway.Errorf(slipway.TooLarge, "%s has %d bytes; at most %d are allowed", named(file), len(src), MaxApplicationBytes)
	}
	root, faults := parseTOML(src, file)
	if err := faultsError(named(file), faults); err != nil {
		return nil, err
	}
	return root, nil
}

func named(file string) string {
	if file == "" {
		return "the file"
	}
	return file
}

func (r *reader) application(root *node) slipway.ApplicationSpec {
	var s slipway.ApplicationSpec
	r.table(root, "", "schema_version", "name", "driver", "app", "parameters", "components", "backup", "services")

	version := r.need(root, "", "schema_version", fmt.Sprintf("write schema_version = %d as the first line", ApplicationSchema))
	if r.shaped(version, "schema_version", wholeShape, "") {
		s.SchemaVersion = int(version.whole())
		if s.SchemaVersion != ApplicationSchema {
			r.fault(version.pos, "schema_version", fmt.Sprintf("write schema_version = %d, or use a newer slipway", ApplicationSchema),
				"is %d; this slipway knows %d", s.SchemaVersion, ApplicationSchema)
		}
	}
	s.Name = r.name(r.need(root, "", "name", `write name = "…"`), "name", "an application")

	if services := root.get("services"); services != nil {
		s.Services = r.runnerServices(root, services)
		return s
	}
	driver := r.need(root, "", "driver", `write [driver] with name and version, as shown by: slipway driver list; or [services.runner] for a pool of runners`)
	if r.table(driver, "driver", "name", "version") {
		s.Driver.Name = r.filled(r.need(driver, "driver", "name", `write name = "…"`), "driver.name", "")
		s.Driver.Version = r.filled(r.need(driver, "driver", "version", `write version = "…"`), "driver.version", "")
	}
	app := r.need(root, "", "app", `write [app] with the version of the application to run`)
	if r.table(app, "app", "version") {
		v := r.need(app, "app", "version", `write version = "…"`)
		s.App.Version = r.filled(v, "app.version", "")
		if s.App.Version != "" {
			if hint, bad := badAppVersion(s.App.Version); bad {
				r.fault(v.pos, "app.version", hint, "%q is no version", s.App.Version)
			}
		}
	}
	s.Parameters = r.parameters(root.get("parameters"))
	s.Components = r.components(root.get("components"))
	s.Backup = r.backup(root.get("backup"))
	return s
}

// versionText is what may stand for a version: it goes into image tags and labels.
var versionText = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+-]{0,62}$`)

func badAppVersion(v string) (hint string, bad bool) {
	if versionText.MatchString(v) {
		return "", false
	}
	return `use letters, digits, dots and hyphens, at most 63 of them: "1.4.2"`, true
}

// parameters reads what the driver's schema will judge. Only what no schema can allow is
// refused here.
func (r *reader) parameters(n *node) map[string]any {
	if !r.shaped(n, "parameters", tableShape, "") || len(n.keys) == 0 {
		return nil
	}
	r.noDates(n, "parameters")
	return n.table()
}

// noDates refuses values that JSON does not have.
func (r *reader) noDates(n *node, path string) {
	for _, e := range n.keys {
		r.noDates(e.value, join(path, e.key))
	}
	for i, v := range n.list {
		r.noDates(v, item(path, i))
	}
	if n.shape == dateShape {
		r.fault(n.pos, path, fmt.Sprintf("write it in quotes: %q", n.raw), "a parameter cannot be %s", n.shape)
	}
	if f, ok := n.value.(float64); ok && (f != f || f-f != 0) {
		r.fault(n.pos, path, "write a number with an end", "a parameter cannot be %s", strings.TrimLeft(n.raw, "+-"))
	}
}

func (r *reader) components(n *node) map[string]slipway.ComponentConfig {
	if !r.shaped(n, "components", tableShape, "") || len(n.keys) == 0 {
		return nil
	}
	out := make(map[string]slipway.ComponentConfig, len(n.keys))
	for _, e := range n.keys {
		path := join("components", e.key)
		r.checkName(e.pos, path, "a component", e.key)
		if r.table(e.value, path, "image", "replicas", "env", "secrets") {
			out[e.key] = r.component(e.value, path)
		}
	}
	return out
}

func (r *reader) component(n *node, path string) slipway.ComponentConfig {
	var c slipway.ComponentConfig
	if image := n.get("image"); image != nil {
		c.Image = r.filled(image, path+".image", "leave it out to run the chart's image")
		if c.Image != "" {
			if msg, hint := badImage(c.Image); msg != "" {
				r.fault(image.pos, path+".image", hint, "%s", msg)
			}
		}
	}
	if replicas := n.get("replicas"); replicas != nil {
		count := int(r.whole(replicas, path+".replicas", 0, maxReplicas))
		c.Replicas = &count
	}
	c.Env = emptyIsNil(r.texts(n.get("env"), path+".env", func(e entry, p, value string) {
		r.envName(e.pos, p, e.key)
		if len(value) > maxEnvValue {
			r.fault(e.value.pos, p, "", "has %d bytes; at most %d are allowed", len(value), maxEnvValue)
		}
		if strings.ContainsRune(value, 0) {
			r.fault(e.value.pos, p, "", "may not hold a NUL character")
		}
	}))
	c.Secrets = emptyIsNil(r.texts(n.get("secrets"), path+".secrets", func(e entry, p, secret string) {
		r.envName(e.pos, p, e.key)
		r.checkName(e.value.pos, p, "a secret", secret)
		if _, twice := c.Env[e.key]; twice {
			r.fault(e.pos, p, "keep one of the two", "is set in %s as well", path+".env")
		}
	}))
	return c
}

func emptyIsNil(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return m
}

// envName is what Kubernetes takes as the name of an environment variable.
var envName = regexp.MustCompile(`^[-._a-zA-Z][-._a-zA-Z0-9]*$`)

func (r *reader) envName(p pos, path, name string) {
	if !envName.MatchString(name) || len(name) > 253 {
		r.fault(p, path, "use letters, digits and underscores: LOG_LEVEL", "%q cannot name an environment variable", name)
	}
}
