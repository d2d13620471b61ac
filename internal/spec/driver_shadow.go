package spec

import (
	_ "embed"
	"path"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// stdlib lists the modules of Python's standard library, from sys.stdlib_module_names.
//
//go:embed stdlib.txt
var stdlib string

// shadowed lists the modules that an action needs to run at all.
var shadowed = append(strings.Fields(stdlib), "prefect", "slipway", "styrmin_backend", "pydantic", "httpx", "anyio")

// shadowing refuses files that hide a module. Python looks in the directory of the action
// first, so a prefect.py beside it would be imported in place of Prefect, with an error
// that nobody understands.
func (d *driverReader) shadowing(actions []slipway.Action) {
	dirs := map[string]bool{".": true}
	for _, a := range actions {
		dirs[path.Dir(a.File)] = true
	}
	if len(actions) == 0 {
		return // nothing is imported
	}
	for _, p := range d.bundle.Paths() {
		dir, base := path.Split(p)
		dir = path.Clean(dir)
		module := strings.TrimSuffix(base, ".py")
		if base == "__init__.py" {
			dir, module = path.Dir(dir), path.Base(dir)
		} else if path.Ext(base) != ".py" {
			continue
		}
		if dirs[dir] && slices.Contains(shadowed, module) {
			d.faults = append(d.faults, slipway.FieldError{File: p, Msg: "hides the Python module " + module + " from the actions", Hint: "give the file another name"})
		}
	}
}
