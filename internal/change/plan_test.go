package change

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// renderer is a fake of Helm: a component's pods have its image, its env and its replicas
// not.
type renderer struct{ err error }

func (r renderer) Rendered(_ context.Context, b spec.Bundle, d slipway.Driver, s slipway.ApplicationSpec, c spec.GlobalContext) (map[string]string, error) {
	if r.err != nil {
		return nil, r.err
	}
	out := map[string]string{}
	for name := range d.Spec.Components {
		out[name] = fmt.Sprint(s.Components[name].Image, s.Components[name].Env, len(b.Paths()) > 0)
		if name == "web" {
			out[name] += s.App.Version + c.App.Version
		}
	}
	return out, nil
}

// example is the application of the design's example: revision 3 at 1.0.0. Its driver's
// bundle is real, so that it can be unpacked to be rendered.
func example(t *testing.T) (*world, Accepted) {
	t.Helper()
	w := newWorld(t)
	spec := strings.ReplaceAll(string(bundle("4.0.0", nil)["driver.slipway.yml"]), "name: board", "name: guestbook")
	spec = strings.Replace(spec, "web: {", "worker: { selector: { app: worker }, container: worker }\n    web: { scalable: true,", 1) +
		"    - { name: migrate, hook: upgrade, mode: core, location: \"actions.py::backup\" }\n" +
		"    - { name: check, hook: upgrade, mode: post, location: \"actions.py::backup\" }\n"
	_, err := w.s.LoadDriver(t.Context(), w.admin, LoadDriverInput{Archive: packed(t, bundle("4.0.0", map[string]string{"driver.slipway.yml": spec}))})
	w.ok(err)
	w.s.Renderer = renderer{}
	a := w.mustDeploy(0, toml("1.0.0", "4.0.0"))
	w.end(a, slipway.Succeeded, "1.0.0", "4.0.0")
	for n := int64(1); n < 3; n++ {
		a = w.mustDeploy(n, toml("1.0.0", "4.0.0", "[components.web]", `env = { LOG_LEVEL = "info" }`))
		w.end(a, slipway.Succeeded, "1.0.0", "4.0.0")
	}
	return w, a
}

func TestThePlanOfTheDesign(t *testing.T) {
	t.Parallel()
	w, _ := example(t)
	p, err := w.s.Plan(t.Context(), w.reader, production(toml("1.1.0", "4.0.0", "[components.web]", `env = { LOG_LEVEL = "debug" }`)))
	w.ok(err)
	if p.Name != "guestbook" || p.Kind != slipway.UpgradeChange || p.Revision != 3 || p.NewRevision != 4 || p.FromVersion != "1.0.0" || p.Version != "1.1.0" ||
		p.FromDriver != (slipway.DriverRef{Name: "guestbook", Version: "4.0.0"}) || p.Project != "shop" || p.Environment != "production" {
		t.Errorf("plan = %+v", p)
	}
	want := []DiffLine{{Path: "app.version", Old: "1.0.0", New: "1.1.0"}, {Path: "components.web.env.LOG_LEVEL", Old: "info", New: "debug"}}
	if d := cmp.Diff(want, p.Diff); d != "" {
		t.Errorf("diff (-want +got):\n%s", d)
	}
	if got, want := p.Summary(), "runs: upgrade pre (backup), upgrade (migrate), upgrade post (check) · restarts: web"; got != want {
		t.Errorf("Summary() = %q, want %q", got, want)
	}
}

// Making a plan leaves no trace, whatever comes of it.
func TestAPlanWritesNothing(t *testing.T) {
	t.Parallel()
	w, _ := example(t)
	w.woken = nil
	before := w.dump()
	for _, source := range [][]byte{
		toml("1.1.0", "4.0.0"), toml("1.0.0", "4.0.0"), toml("0.1.0", "4.0.0"), []byte("x"),
		[]byte(strings.Replace(string(toml("1.0.0", "4.0.0")), `name = "guestbook"`, `name = "new"`, 1)),
	} {
		_, _ = w.s.Plan(t.Context(), w.writer, production(source))
		_, _ = w.s.Validate(t.Context(), w.writer, production(source))
	}
	if d := cmp.Diff(before, w.dump()); d != "" {
		t.Errorf("plans wrote (-before +after):\n%s", d)
	}
	if len(before["applications"]) != 1 || len(w.woken) > 0 {
		t.Errorf("%d applications, woken %q", len(before["applications"]), w.woken)
	}
}

func TestWhatRestarts(t *testing.T) {
	t.Parallel()
	w, a := example(t)
	same := "[components.web]\n" + `env = { LOG_LEVEL = "info" }`
	for _, tc := range []struct {
		name    string
		source  []byte
		render  Renderer
		stopped []string
		want    string // of the summary
	}{
		{"nothing", toml("1.0.0", "4.0.0", same), renderer{}, nil, ""},
		{"replicas alone restart nothing", toml("1.0.0", "4.0.0", same, "replicas = 3"), renderer{}, nil, ""},
		{"two components", toml("1.0.0", "4.0.0", "[components.web]", `image = "a:1"`, "[components.worker]", `image = "a:1"`), renderer{}, nil, "restarts: web, worker"},
		{"a renderer that fails", toml("1.0.0", "4.0.0"), renderer{errors.New("template: no such value")}, nil, "restarts: not known: render what is wanted now: template: no such value"},
		{"no renderer", toml("1.0.0", "4.0.0"), nil, nil, "restarts: not known: this server does not render charts"},
		{"a stopped component does not restart", toml("1.0.0", "4.0.0", "[components.web]", `image = "a:1"`, "[components.worker]", `image = "a:1"`), renderer{}, []string{"worker"}, "restarts: web"},
	} {
		w.s.Renderer = tc.render
		w.stopped(a.Application, tc.stopped...)
		p, err := w.s.Plan(t.Context(), w.reader, production(tc.source))
		w.ok(err)
		if got := p.Summary(); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestThePlanOfAnInstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, err := w.s.Plan(t.Context(), w.reader, production(toml("1.0.0", "1.0.0")))
	w.ok(err)
	if p.Kind != slipway.InstallChange || p.Revision != 0 || p.NewRevision != 1 || p.FromVersion != "" || p.FromDriver.Name != "" || !p.RestartsKnown {
		t.Errorf("plan = %+v", p)
	}
	if got := p.Summary(); got != "runs: setup pre (prepare)" {
		t.Errorf("Summary() = %q", got)
	}
}

// Pure.
func TestPlannedHooks(t *testing.T) {
	t.Parallel()
	d := slipway.DriverSpec{Actions: []slipway.Action{
		{Name: "a", Hook: slipway.Setup, Mode: slipway.Post}, {Name: "b", Hook: slipway.Upgrade, Mode: slipway.Post},
		{Name: "c", Hook: slipway.Upgrade, Mode: slipway.Post, Irreversible: true},
	}}
	for kind, want := range map[slipway.ChangeKind][]string{
		slipway.InstallChange:   {"setup post (a)"},
		slipway.UpgradeChange:   {"upgrade", "upgrade post (b, c)"}, // the core always runs
		slipway.ConfigureChange: nil,
		slipway.DeleteChange:    nil,
	} {
		var got []string
		for _, h := range plannedHooks(d, kind) {
			got = append(got, h.String())
			if h.Irreversible != (h.Mode == slipway.Post && kind == slipway.UpgradeChange) {
				t.Errorf("%s: irreversible = %v", h, h.Irreversible)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", kind, d)
		}
	}
}
