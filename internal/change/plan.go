package change

import (
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// Plan says what a deploy would do. Making it writes nothing.
type Plan struct {
	Project     string
	Environment string
	Name        string
	Kind        slipway.ChangeKind

	// Revision is the one wanted now, and what a deploy must name as expected; 0 when
	// there is no such application yet. NewRevision is what a deploy would make.
	Revision    int64
	NewRevision int64
	Target      int64 // of a rollback: the revision whose content comes back

	FromVersion   string // of the application; empty for an install
	Version       string
	FromDriver    slipway.DriverRef
	Driver        slipway.DriverRef
	Diff          []DiffLine
	Hooks         []PlannedHook // in the order in which they run
	Restarts      []string      // components whose pods are replaced; they are running now
	RestartsKnown bool
	RestartsWhy   string   // when not known: why
	Stops         []string // components that the driver says it stops meanwhile
	Pools         []PlannedPool
	Places        []slipway.Place // what the runners of pools that grow reserve, and what is free for them
	Warnings      []string
}

// DiffLine is one difference between the wanted spec and the new one. An empty Old means
// that the path is new, an empty New that it is gone.
type DiffLine = spec.DiffLine

// PlannedHook is one mode of a hook that will run, with the names of its actions. The
// upgrade's core runs also without an action: then Slipway itself changes the version.
type PlannedHook struct {
	Hook         slipway.Hook
	Mode         slipway.Mode
	Actions      []string
	Irreversible bool
}

// String writes the hook as the plan shows it: "upgrade pre (backup)", "upgrade (migrate)".
func (h PlannedHook) String() string {
	s := string(h.Hook)
	if h.Mode != slipway.Core {
		s += " " + string(h.Mode)
	}
	if len(h.Actions) > 0 {
		s += " (" + strings.Join(h.Actions, ", ") + ")"
	}
	return s
}

// Summary is the plan's last line: "runs: upgrade pre (backup), upgrade (migrate) ·
// restarts: web · stops meanwhile: worker"; of a runner application it says what becomes of
// each pool. It is empty when nothing runs or restarts.
func (p Plan) Summary() string {
	var parts []string
	if len(p.Hooks) > 0 {
		hooks := make([]string, len(p.Hooks))
		for i, h := range p.Hooks {
			hooks[i] = h.String()
		}
		parts = append(parts, "runs: "+strings.Join(hooks, ", "))
	}
	switch {
	case !p.RestartsKnown && p.RestartsWhy != "":
		parts = append(parts, "restarts: not known: "+p.RestartsWhy)
	case len(p.Restarts) > 0:
		parts = append(parts, "restarts: "+strings.Join(p.Restarts, ", "))
	}
	if len(p.Stops) > 0 {
		parts = append(parts, "stops meanwhile: "+strings.Join(p.Stops, ", "))
	}
	for _, pool := range p.Pools {
		parts = append(parts, pool.String())
	}
	return strings.Join(parts, " · ")
}
