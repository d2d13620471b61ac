package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec/template"
)

// What a template rendered is read within these bounds. The parser takes the square of the
// number of entries and cannot be stopped, so what is far too much is not begun.
const (
	parseTime  = 5 * time.Second
	maxEntries = 30_000 // lines and commas
)

// Values renders the driver's values template for a context, and reads the result. A
// driver without a template has no values of its own. The same arguments give the same
// values.
func Values(b Bundle, d slipway.DriverSpec, c GlobalContext) (map[string]any, error) {
	if d.Chart.Values == "" {
		return map[string]any{}, nil
	}
	src, ok := b.File(d.Chart.Values)
	if !ok {
		return nil, slipway.Errorf(slipway.Invalid, "driver %s %s holds no %s", d.Name, d.Version, d.Chart.Values)
	}
	globals, err := contextGlobals(c)
	if err != nil {
		return nil, err
	}
	text, err := template.Render(string(src), globals, template.DefaultLimits())
	if err != nil {
		return nil, templateFault(d, err)
	}
	return readValues(d, text)
}

// contextGlobals turns a context into the names that a template sees.
func contextGlobals(c GlobalContext) (map[string]any, error) {
	b, err := c.JSON()
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		return nil, fmt.Errorf("read the context of %s: %w", c.Deployment.Name, err)
	}
	return normalTable(m), nil
}

func templateFault(d slipway.DriverSpec, err error) error {
	var t *template.Error
	if !errors.As(err, &t) {
		return fmt.Errorf("render %s of driver %s: %w", d.Chart.Values, d.Name, err)
	}
	e := slipway.Errorf(slipway.Invalid, "the values template %s of driver %s %s cannot be rendered: %s", d.Chart.Values, d.Name, d.Version, t.Error())
	e.Hint = t.Hint
	e.Fields = []slipway.FieldError{{File: d.Chart.Values, Line: t.Line, Column: t.Column, Msg: t.Msg, Hint: t.Hint}}
	return e
}

// readValues reads rendered YAML as Helm would read a values file.
func readValues(d slipway.DriverSpec, text string) (map[string]any, error) {
	if strings.Count(text, "\n")+strings.Count(text, ",") > maxEntries {
		return nil, slipway.Errorf(slipway.TooLarge, "the values that %s of driver %s %s renders have more than %d lines and entries", d.Chart.Values, d.Name, d.Version, maxEntries)
	}
	type result struct {
		root   *node
		faults []slipway.FieldError
	}
	done := make(chan result, 1)
	go func() {
		root, faults := parseYAML([]byte(text), d.Chart.Values)
		done <- result{root, faults}
	}()
	var got result
	select {
	case got = <-done:
	case <-time.After(parseTime):
		return nil, slipway.Errorf(slipway.TooLarge, "the values that %s of driver %s %s renders take longer than %s to read", d.Chart.Values, d.Name, d.Version, parseTime)
	}
	if len(got.faults) > 0 {
		f := got.faults[0]
		e := slipway.Errorf(slipway.Invalid, "the values template %s of driver %s %s renders to no YAML: %s", d.Chart.Values, d.Name, d.Version, f.Msg)
		e.Hint = f.Hint
		if line := lineOf(text, f.Line); line != "" {
			e.Msg += fmt.Sprintf(", at %q", line)
		}
		// The line is one of the result, which nobody can open; it is in the message.
		e.Fields = []slipway.FieldError{{File: d.Chart.Values, Path: f.Path, Msg: f.Msg, Hint: f.Hint}}
		return nil, e
	}
	if got.root == nil || got.root.shape == nullShape {
		return map[string]any{}, nil
	}
	if got.root.shape != tableShape {
		return nil, slipway.Errorf(slipway.Invalid, "the values template %s of driver %s %s renders to %s, not to a table", d.Chart.Values, d.Name, d.Version, got.root.shape)
	}
	values, err := helmTable(got.root, "")
	if err != nil {
		return nil, slipway.Errorf(slipway.Invalid, "the values template %s of driver %s %s renders %s", d.Chart.Values, d.Name, d.Version, err)
	}
	return values, nil
}

func lineOf(text string, line int) string {
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	return cut(strings.TrimSpace(lines[line-1]), 100)
}

// helmValue turns a node into what Helm's own reader makes of it. That reader knows
// YAML 1.1, in which an unquoted yes is true.
func helmValue(n *node, path string) (any, error) {
	switch n.shape {
	case tableShape:
		return helmTable(n, path)
	case listShape:
		l := make([]any, len(n.list))
		for i, e := range n.list {
			v, err := helmValue(e, item(path, i))
			if err != nil {
				return nil, err
			}
			l[i] = v
		}
		return l, nil
	case nullShape:
		return nil, nil
	case textShape:
		if b, ok := oldBooleans[n.raw]; ok {
			return b, nil
		}
		if oldNumber.MatchString(n.raw) {
			if f, err := strconv.ParseFloat(n.raw, 64); err == nil && !math.IsInf(f, 0) {
				return normalNumbers(f), nil
			}
		}
	case numberShape:
		if f, ok := n.value.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return nil, fmt.Errorf("%s as a number that is none", path)
		}
	}
	return n.value, nil
}

func helmTable(n *node, path string) (map[string]any, error) {
	m := make(map[string]any, len(n.keys))
	for _, e := range n.keys {
		v, err := helmValue(e.value, join(path, e.key))
		if err != nil {
			return nil, err
		}
		m[e.key] = v
	}
	return m, nil
}

// oldNumber is what that reader takes for a number beyond ours: 1e3, 08.
var oldNumber = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)

var oldBooleans = map[string]bool{
	"y": true, "Y": true, "n": false, "N": false,
	"yes": true, "Yes": true, "YES": true, "on": true, "On": true, "ON": true,
	"no": false, "No": false, "NO": false, "off": false, "Off": false, "OFF": false,
}
