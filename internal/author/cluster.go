package author

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/reconcile/application"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// cluster is a simulated cluster with one application on it: the workloads of its rendered
// chart, what is stopped, and the Job that the last command left. All goes well, at once,
// unless a play says otherwise.
type cluster struct {
	tools   *Tools
	preview Preview // the configuration; its version is the one that is wanted
	plays   []*part

	applied   int64  // the revision that is there; 0: none
	version   string // the application's, on the cluster
	workloads []kube.Workload
	stopped   map[string]bool
	tasks     int64
	job       *oldJob
}

// part is a play and how often it was played.
type part struct {
	spec.Play
	used int
}

// oldJob is the Job that an earlier command left.
type oldJob struct{ flowRun, task string }

func newCluster(t *Tools, p Preview, plays []spec.Play) *cluster {
	c := &cluster{tools: t, preview: p, stopped: map[string]bool{}}
	for _, play := range plays {
		c.plays = append(c.plays, &part{Play: play})
	}
	return c
}

// play finds what is to happen for a call; nil: all goes well.
func (c *cluster) play(p slipway.Primitive, args []string) *spec.Play {
	for _, x := range c.plays {
		if x.Matches(p, args) && (x.Times == 0 || x.used < x.Times) {
			x.used++
			return &x.Play
		}
	}
	return nil
}

// nextTask numbers tasks as they are started.
func (c *cluster) nextTask() int64 { c.tasks++; return c.tasks }

// apply puts the wanted configuration on the cluster, with what is stopped kept so.
func (c *cluster) apply(ctx context.Context, frozen spec.GlobalContext, revision int64) error {
	out, err := c.tools.Render(ctx, Rendering{
		Bundle: c.preview.Bundle, Spec: c.preview.Spec, App: c.preview.application(),
		Context: frozen, Stopped: c.stopped, Upgrade: c.applied > 0,
	})
	if err != nil {
		return err
	}
	c.workloads, c.version, c.applied = out.Workloads, frozen.App.Version, revision
	return nil
}

// of returns the workloads of a component, as the real one looks for them.
func (c *cluster) of(component slipway.Component) []kube.Workload {
	var out []kube.Workload
	for _, w := range c.workloads {
		if w.Matches(component.Selector) {
			out = append(out, w)
		}
	}
	return out
}

// chosen checks the components of a call; repeated names count once.
func (c *cluster) chosen(names []string) ([]string, *failure) {
	if len(names) == 0 {
		return nil, &failure{code: slipway.CodeInvalidArgument, text: "no component is named"}
	}
	var out []string
	for _, n := range names {
		if _, ok := c.preview.Spec.Components[n]; !ok {
			return nil, &failure{slipway.CodeUnknownComponent, message(application.UnknownComponent(c.preview.Spec, n)), ""}
		}
		if !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out, nil
}

// turn stops or starts components. Those that are as they shall be are left out; when all
// are, there is no task.
func (c *cluster) turn(names []string, stop bool, call *Call) *failure {
	chosen, why := c.chosen(names)
	if why != nil {
		return why
	}
	todo := slices.DeleteFunc(slices.Clone(chosen), func(n string) bool { return c.stopped[n] == stop })
	if len(todo) == 0 {
		call.Result = map[string]any{"already": map[bool]string{true: "stopped", false: "running"}[stop]}
		return nil
	}
	kind, primitive := slipway.StartTask, slipway.StartComponents
	if stop {
		kind, primitive = slipway.StopTask, slipway.StopComponents
	}
	call.Task = c.nextTask()
	for _, n := range todo {
		c.stopped[n] = stop // recorded first, so it stays when the rest fails
		if len(c.of(c.preview.Spec.Components[n])) == 0 {
			note := n + " has no workload on the cluster yet"
			if stop {
				note += "; it will be installed stopped"
			}
			call.Notes = append(call.Notes, note)
		}
	}
	if p := c.play(primitive, chosen); p != nil && p.Fails != "" {
		return childFailed(kind, call.Task, p.Fails)
	}
	call.Result = map[string]any{"task": call.Task}
	return nil
}

func childFailed(kind slipway.TaskKind, task int64, why string) *failure {
	return &failure{slipway.CodeTaskFailed, application.ChildFailed(slipway.Task{ID: task, Kind: kind, State: slipway.Failed, Error: why}), ""}
}

// images answers get_component_images.
func (c *cluster) images(name string, frozen spec.GlobalContext, call *Call) *failure {
	component, ok := c.preview.Spec.Components[name]
	if !ok {
		return failed(application.UnknownComponent(c.preview.Spec, name))
	}
	if p := c.play(slipway.ComponentImages, []string{name}); p != nil {
		if p.Fails != "" {
			return &failure{slipway.CodeNoWorkload, p.Fails, ""}
		}
		if p.Images != nil {
			call.Result = map[string]any{"images": p.Images}
			return nil
		}
	}
	rule := kube.ImageRule{Component: name, Container: component.Container}
	if o := frozen.Components[name].ImageOverride; o != nil {
		rule.Override = slipway.ExpandImage(*o, frozen.App.Version)
	}
	images, err := kube.ComponentImages(c.of(component), rule)
	if err != nil {
		return failed(err)
	}
	call.Result = map[string]any{"images": images}
	return nil
}

// stoppedComponents lists what is stopped, sorted.
func (c *cluster) stoppedComponents() []string {
	out := []string{}
	for _, name := range slices.Sorted(maps.Keys(c.stopped)) {
		if c.stopped[name] {
			out = append(out, name)
		}
	}
	return out
}

// failure is a failed call, as the action hears of it.
type failure struct{ code, text, output string }

func (f *failure) Error() string { return f.text }

// failed turns an error of the real rules into a failed call.
func failed(err error) *failure {
	text := message(err)
	if e, ok := errorOf(err); ok && e.Hint != "" {
		text += " (" + e.Hint + ")"
	}
	return &failure{application.CodeOf(err), text, ""}
}

// commandLine writes an argv for people, cut as the real error is.
func commandLine(argv []string) string {
	text := strings.Join(argv, " ")
	if runes := []rune(text); len(runes) > 200 {
		return string(runes[:199]) + "…"
	}
	return text
}

func (f *failure) withOutput(text string) *failure { f.output = text; return f }

func commandFailed(code, format string, argv []string, args ...any) *failure {
	return &failure{code: code, text: fmt.Sprintf("the command %q "+format, append([]any{commandLine(argv)}, args...)...)}
}
