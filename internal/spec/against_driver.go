package spec

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// Positions knows where the paths of an application.toml stand. Its zero value knows
// nothing, for a spec that has no text any more.
type Positions struct {
	file  string
	root  *node
	known bool
}

// PositionsOf reads the places of a file that ParseApplication has accepted.
func PositionsOf(src []byte, file string) Positions {
	root, err := applicationNodes(src, file)
	return Positions{file: file, root: root, known: err == nil}
}

// fault makes a FieldError at a path: where it stands, or else where the nearest part of
// it stands that is written.
func (p Positions) fault(msg, hint string, path ...string) slipway.FieldError {
	f := slipway.FieldError{File: p.file, Msg: msg, Hint: hint}
	for _, part := range path {
		f.Path = appendPath(f.Path, part)
	}
	if !p.known {
		return f
	}
	at := p.root
	f.Line, f.Column = at.pos.line, at.pos.column
	for _, part := range path {
		next, place := at.child(part)
		if next == nil {
			break
		}
		at = next
		f.Line, f.Column = place.line, place.column
	}
	return f
}

// appendPath writes a part as join does, and an index as item does.
func appendPath(path, part string) string {
	if strings.HasPrefix(part, "[") && strings.HasSuffix(part, "]") {
		return path + part
	}
	return join(path, part)
}

// child finds an entry by its key, or an item by its index in brackets.
func (n *node) child(part string) (*node, pos) {
	for _, e := range n.keys {
		if e.key == part {
			if e.value.shape == tableShape || e.value.shape == listShape {
				return e.value, e.pos
			}
			return e.value, e.value.pos
		}
	}
	for i, v := range n.list {
		// Lists of named things are read like tables, so a path may have the name.
		if item("", i) == part || v.get("name").text() == part {
			return v, v.pos
		}
	}
	return nil, pos{}
}

// CheckAgainstDriver finds what a driver cannot do of a spec: versions, components,
// parameters. It returns nothing when all is well.
//
// Whether an image override is allowed on a component without a declared container is
// not decided here: it depends on the pods of the rendered chart.
func CheckAgainstDriver(s slipway.ApplicationSpec, d slipway.DriverSpec, at Positions) []slipway.FieldError {
	var faults []slipway.FieldError
	if err := VersionSupported(d, s.App.Version); err != nil {
		faults = append(faults, at.refusal(err, "app", "version"))
	} else if _, err := ChartFor(d, s.App.Version); err != nil {
		faults = append(faults, at.refusal(err, "app", "version"))
	}
	known := slices.Sorted(maps.Keys(d.Components))
	for _, name := range slices.Sorted(maps.Keys(s.Components)) {
		component, ok := d.Components[name]
		if !ok {
			faults = append(faults, at.fault("driver "+d.Name+" has no such component", didYouMean(name, known), "components", name))
			continue
		}
		if s.Components[name].Replicas != nil && !component.Scalable {
			faults = append(faults, at.fault("driver "+d.Name+" does not let this component be scaled", "leave replicas out", "components", name, "replicas"))
		}
	}
	faults = append(faults, parameterFaults(s, d, at)...)
	byPlace(faults)
	return faults
}

func parameterFaults(s slipway.ApplicationSpec, d slipway.DriverSpec, at Positions) []slipway.FieldError {
	schema, err := schemaOf(d)
	if err != nil {
		return []slipway.FieldError{at.fault("the driver's parameters cannot be read: load the driver again", "", "parameters")}
	}
	values, err := EffectiveParameters(d, s.Parameters)
	if err != nil {
		return []slipway.FieldError{at.fault("the driver's parameters cannot be read: load the driver again", "", "parameters")}
	}
	found, err := checkParameters(schema, values)
	if err != nil {
		return []slipway.FieldError{at.fault("the driver's parameters cannot be checked: load the driver again", "", "parameters")}
	}
	for _, name := range requiredSecrets(schema, values) {
		found = append(found, valueFault{[]string{name}, "is missing",
			"store it with: slipway secrets set NAME, and write " + name + ` = { secret = "NAME" }`})
	}
	var faults []slipway.FieldError
	for _, f := range found {
		faults = append(faults, at.fault(f.msg, f.hint, append([]string{"parameters"}, f.parts...)...))
	}
	return faults
}

// refusal puts a refusal of this package at a path.
func (p Positions) refusal(err error, path ...string) slipway.FieldError {
	var e *slipway.Error
	if errors.As(err, &e) {
		return p.fault(e.Msg, e.Hint, path...)
	}
	return p.fault(err.Error(), "", path...)
}
