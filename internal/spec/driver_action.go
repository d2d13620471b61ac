package spec

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

var (
	actionName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,62}$`)
	pythonName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	// laterHooks are hooks of the format that this slipway keeps but does not run.
	laterHooks = []string{"on_demand"}
	hooks      = []string{string(slipway.Setup), string(slipway.Upgrade), string(slipway.Rollback), string(slipway.BackupHook), string(slipway.RestoreHook)}
	modes      = []string{string(slipway.Pre), string(slipway.Core), string(slipway.Post)}
)

func (d *driverReader) actions(n *node, components map[string]slipway.Component) []slipway.Action {
	if !d.shaped(n, "spec.actions", listShape, "write a list of actions") {
		return nil
	}
	var out []slipway.Action
	names := map[string]int{}
	for i, v := range n.list {
		path := item("spec.actions", i)
		if !d.table(v, path, "name", "hook", "mode", "location", "description", "timeout", "irreversible", "stops", "prompts", "title") {
			continue
		}
		a := d.action(v, path)
		a.Stops = d.stops(v.get("stops"), path+".stops", components)
		if first, twice := names[a.Name]; twice && a.Name != "" {
			d.fault(v.get("name").pos, path+".name", "give each action a name of its own", "%s is the name of spec.actions[%d] too", a.Name, first)
		}
		names[a.Name] = i
		for _, other := range out {
			if a.Function != "" && other.Hook == a.Hook && other.Mode == a.Mode && other.File == a.File && other.Function == a.Function {
				d.note(v.pos, path, "", "runs %s a second time in the same mode, after or before %s", a.Function, other.Name)
			}
		}
		out = append(out, a)
	}
	return out
}

func (d *driverReader) action(n *node, path string) slipway.Action {
	a := slipway.Action{
		Name:         d.filled(d.need(n, path, "name", ""), path+".name", ""),
		Description:  d.text(n.get("description"), path+".description"),
		Timeout:      d.duration(n.get("timeout"), path+".timeout", time.Second, slipway.MaxActionTimeout),
		Irreversible: d.boolean(n.get("irreversible"), path+".irreversible"),
	}
	if a.Name != "" && !actionName.MatchString(a.Name) {
		d.fault(n.get("name").pos, path+".name", "use letters, digits, _ and -, at most 63, starting with a letter", "%q cannot name an action", cut(a.Name, 80))
	}
	if prompts := n.get("prompts"); prompts != nil {
		d.note(prompts.pos, path+".prompts", "", "is accepted and has no effect yet: nobody is asked")
	}
	d.when(n, path, &a)
	location := d.need(n, path, "location", `write location: "actions.py::`+nonEmpty(a.Name, "function")+`"`)
	a.File, a.Function = d.location(location, path+".location")
	return a
}

// stops reads which components an action stops for a while. It is for the plan, which
// nobody could tell it otherwise; the action's calls alone stop anything.
func (d *driverReader) stops(n *node, at string, components map[string]slipway.Component) []string {
	if !d.shaped(n, at, listShape, "write a list of components: [worker]") {
		return nil
	}
	known := slices.Sorted(maps.Keys(components))
	var out []string
	for i, v := range n.list {
		path := item(at, i)
		name := d.filled(v, path, "name a component")
		switch {
		case name == "":
		case slices.Contains(out, name):
			d.fault(v.pos, path, "name it once", "%s is named twice", name)
		case !slices.Contains(known, name):
			hint := didYouMean(name, known)
			if len(known) == 0 {
				hint = "declare it under spec.components"
			}
			d.fault(v.pos, path, hint, "there is no component %q", cut(name, 60))
		default:
			out = append(out, name)
		}
	}
	return out
}

// when reads hook and mode.
func (d *driverReader) when(n *node, path string, a *slipway.Action) {
	hook := d.need(n, path, "hook", "write hook: "+listOf(hooks, "or"))
	h := d.text(hook, path+".hook")
	mode := n.get("mode")
	m := d.text(mode, path+".mode")
	switch {
	case h == "":
	case slices.Contains(laterHooks, h):
		d.note(hook.pos, path+".hook", "", "%s actions are accepted, and not run yet", h)
	case !slices.Contains(hooks, h):
		d.fault(hook.pos, path+".hook", didYouMean(h, slices.Concat(hooks, laterHooks)), "%q is no hook", cut(h, 40))
	case mode == nil && (h == string(slipway.BackupHook) || h == string(slipway.RestoreHook)):
		m = string(slipway.Core) // what such an action is for
	case mode == nil:
		d.fault(n.pos, path+".mode", "write mode: "+listOf(modes, "or"), "is missing")
	}
	switch {
	case m == "":
	case !slices.Contains(modes, m):
		d.fault(mode.pos, path+".mode", didYouMean(m, modes), "%q is no mode", cut(m, 40))
	case h == string(slipway.Setup) && m == string(slipway.Core):
		d.fault(mode.pos, path+".mode", "use pre or post", "the core mode of the setup hook is the installation itself")
	}
	a.Hook, a.Mode = slipway.Hook(h), slipway.Mode(m)
}

// location reads actions.py::function.
func (d *driverReader) location(n *node, at string) (file, function string) {
	s := d.filled(n, at, `write it as actions.py::function`)
	if s == "" {
		return "", ""
	}
	file, function, ok := strings.Cut(s, "::")
	if !ok {
		hint := "write it as actions.py::function"
		if f, fn, one := strings.Cut(s, ":"); one {
			hint = fmt.Sprintf("write it with two colons: %s::%s", f, fn)
		}
		d.fault(n.pos, at, hint, "names no function in a file")
		return "", ""
	}
	clean, err := cleanPath(file)
	switch {
	case err != nil:
		d.fault(n.pos, at, "give a file in the driver's directory", "leads outside of the driver's directory")
		return "", ""
	case !strings.HasSuffix(clean, ".py"):
		d.fault(n.pos, at, "name a file that ends in .py", "%s is no Python file", clean)
	case !pythonName.MatchString(function):
		d.fault(n.pos, at, "name one function of the file", "%q cannot name a function", cut(function, 60))
	default:
		if _, there := d.bundle.File(clean); !there {
			d.fault(n.pos, at, didYouMean(clean, d.python()), "there is no %s in the driver's directory", clean)
		}
	}
	return clean, function
}

// python lists the Python files of the bundle.
func (d *driverReader) python() []string {
	return slices.DeleteFunc(d.bundle.Paths(), func(p string) bool { return path.Ext(p) != ".py" })
}

func nonEmpty(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
