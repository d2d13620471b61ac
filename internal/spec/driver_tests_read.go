package spec

import (
	"slices"

	"slipway.dev/slipway/internal/slipway"
)

const maxDriverTests = 200

// ParseDriverTests reads the tests of a bundle; ok is false when it has none.
func ParseDriverTests(b Bundle) (t DriverTests, ok bool, err error) {
	src, ok := b.File(DriverTestsFile)
	if !ok {
		return DriverTests{}, false, nil
	}
	if len(src) > maxDriverFile {
		return DriverTests{}, true, slipway.Errorf(slipway.TooLarge, "%s has %d bytes; at most %d are allowed", DriverTestsFile, len(src), maxDriverFile)
	}
	root, faults := parseYAML(src, DriverTestsFile)
	if err := faultsError(DriverTestsFile, faults); err != nil {
		return DriverTests{}, true, err
	}
	r := &testsReader{reader: &reader{file: DriverTestsFile}, bundle: b}
	if root == nil {
		r.fault(pos{1, 1}, "tests", "write a list of tests, or remove the file", "is missing")
	} else {
		t = r.tests(root)
	}
	return t, true, r.err(DriverTestsFile)
}

type testsReader struct {
	*reader
	bundle Bundle
}

func (r *testsReader) tests(root *node) DriverTests {
	var out DriverTests
	if !r.table(root, "", "application", "tests") {
		return out
	}
	out.Application = r.inBundle(root.get("application"), "application")
	list := r.need(root, "", "tests", "write a list of tests")
	if !r.shaped(list, "tests", listShape, "write a list of tests") {
		return out
	}
	if len(list.list) == 0 || len(list.list) > maxDriverTests {
		r.fault(list.pos, "tests", "", "has %d tests; it must have from 1 to %d", len(list.list), maxDriverTests)
	}
	names := map[string]bool{}
	for i, n := range list.list {
		path := item("tests", i)
		if !r.table(n, path, "name", "from", "install", "upgrade", "application", "parameters", "components", "cluster", "expect") {
			continue
		}
		t := r.test(n, path)
		if names[t.Name] && t.Name != "" {
			r.fault(n.get("name").pos, path+".name", "give each test a sentence of its own", "is the name of another test too")
		}
		names[t.Name] = true
		out.Tests = append(out.Tests, t)
	}
	return out
}

func at(n *node) Place {
	if n == nil {
		return Place{}
	}
	return Place{n.pos.line, n.pos.column}
}

func (r *testsReader) test(n *node, path string) DriverTest {
	t := DriverTest{
		Place:       at(n),
		Name:        r.filled(r.need(n, path, "name", "write a sentence that says what must be true"), path+".name", "write a sentence that says what must be true"),
		From:        r.version(n.get("from"), path+".from"),
		Install:     r.version(n.get("install"), path+".install"),
		Upgrade:     r.version(n.get("upgrade"), path+".upgrade"),
		Application: r.inBundle(n.get("application"), path+".application"),
		Parameters:  r.parametersAt(n.get("parameters"), path+".parameters"),
	}
	if c := n.get("components"); c != nil {
		inner := &reader{file: r.file}
		t.Components = inner.components(c)
		for _, f := range inner.faults {
			f.Path = path + "." + f.Path
			r.faults = append(r.faults, f)
		}
	}
	switch {
	case n.get("install") == nil && n.get("upgrade") == nil:
		r.fault(n.pos, path, "write install: VERSION, or from: and upgrade:", "neither installs nor upgrades")
	case n.get("from") != nil && n.get("install") != nil:
		r.fault(n.get("from").pos, path+".from", "leave out from, or install", "stands beside install: what is installed already is not installed again")
	case n.get("upgrade") != nil && n.get("install") == nil && n.get("from") == nil:
		r.fault(n.get("upgrade").pos, path+".from", "write from: with the version that is installed before", "is missing")
	}
	t.Plays = r.plays(n.get("cluster"), path+".cluster")
	t.Expect = r.expectation(n.get("expect"), path+".expect")
	return t
}

// version reads a version of the application.
func (r *testsReader) version(n *node, path string) string {
	if n != nil && (n.shape == numberShape || n.shape == wholeShape) {
		r.fault(n.pos, path, `write it in quotes: "`+n.raw+`"`, "must be text, not %s", n.shape)
		return ""
	}
	v := r.filled(n, path, "")
	if v != "" {
		if hint, bad := badAppVersion(v); bad {
			r.fault(n.pos, path, hint, "%q is no version", cut(v, 60))
		}
	}
	return v
}

// inBundle reads the path of a file of the driver.
func (r *testsReader) inBundle(n *node, path string) string {
	s := r.filled(n, path, "")
	if s == "" {
		return ""
	}
	clean, err := cleanPath(s)
	if err != nil {
		r.fault(n.pos, path, "give a file in the driver's directory", "leads outside of the driver's directory")
		return ""
	}
	if _, there := r.bundle.File(clean); !there {
		r.fault(n.pos, path, didYouMean(clean, r.bundle.Paths()), "there is no %s in the driver's directory", clean)
	}
	return clean
}

func (r *testsReader) parametersAt(n *node, path string) map[string]any {
	if !r.shaped(n, path, tableShape, "") || len(n.keys) == 0 {
		return nil
	}
	r.noDates(n, path)
	return n.table()
}

// primitives are the keys by which a call is named.
var primitives = []string{
	string(slipway.StopComponents), string(slipway.StartComponents), string(slipway.ChangeVersion),
	string(slipway.ComponentImages), string(slipway.ExecuteCommands),
}

// pattern reads which calls an entry is about: the one key that names a primitive.
func (r *testsReader) pattern(n *node, path string, more ...string) (p CallPattern, ok bool) {
	if !r.table(n, path, append(slices.Clone(primitives), more...)...) {
		return p, false
	}
	p.Place = at(n)
	var named []string
	for _, e := range n.keys {
		if !slices.Contains(primitives, e.key) {
			continue
		}
		named = append(named, e.key)
		p.Primitive = slipway.Primitive(e.key)
		p.Args = r.callArgs(p.Primitive, e.value, join(path, e.key))
	}
	if len(named) != 1 {
		r.fault(n.pos, path, "write one of "+listOf(primitives, "or"), "names %s", count(len(named), "call"))
	}
	return p, len(named) == 1
}

func (r *testsReader) callArgs(p slipway.Primitive, n *node, path string) []string {
	if n.shape == nullShape {
		return nil // every call of it
	}
	if p == slipway.ChangeVersion {
		return one(r.version(n, path))
	}
	if p == slipway.ComponentImages {
		return one(r.filled(n, path, ""))
	}
	if n.shape == textShape && p != slipway.ExecuteCommands {
		return one(n.text())
	}
	hint := "write a list: [worker]"
	if p == slipway.ExecuteCommands {
		hint = `write one command as a list: [app, migrate]`
	}
	return r.textList(n, path, hint)
}

func one(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func (r *testsReader) textList(n *node, path, hint string) []string {
	if !r.shaped(n, path, listShape, hint) {
		return nil
	}
	out := []string{}
	for i, v := range n.list {
		if r.shaped(v, item(path, i), textShape, "") {
			out = append(out, v.text())
		}
	}
	return out
}

func (r *testsReader) plays(n *node, path string) []Play {
	if !r.shaped(n, path, listShape, "write a list of what the cluster does") {
		return nil
	}
	var out []Play
	for i, v := range n.list {
		p := item(path, i)
		pattern, ok := r.pattern(v, p, "times", "exit_code", "output", "times_out", "running", "fails", "images")
		if !ok {
			continue
		}
		play := Play{
			CallPattern: pattern, Times: int(r.whole(v.get("times"), p+".times", 1, 1000)),
			ExitCode: int(r.whole(v.get("exit_code"), p+".exit_code", 0, 255)), Output: r.text(v.get("output"), p+".output"),
			TimesOut: r.boolean(v.get("times_out"), p+".times_out"), Running: r.boolean(v.get("running"), p+".running"),
			Fails: r.text(v.get("fails"), p+".fails"),
		}
		if images := v.get("images"); images != nil {
			play.Images = r.textList(images, p+".images", "write a list of images")
		}
		for _, key := range []string{"exit_code", "output", "times_out", "running"} {
			if k := v.get(key); k != nil && pattern.Primitive != slipway.ExecuteCommands {
				r.fault(k.pos, p+"."+key, "use fails: with what is wrong", "goes with execute_commands only")
			}
		}
		if k := v.get("images"); k != nil && pattern.Primitive != slipway.ComponentImages {
			r.fault(k.pos, p+".images", "", "goes with get_component_images only")
		}
		if k := v.get("fails"); k != nil && pattern.Primitive == slipway.ExecuteCommands {
			r.fault(k.pos, p+".fails", "write exit_code: 1, with output: what it printed", "does not go with execute_commands")
		}
		out = append(out, play)
	}
	return out
}

func (r *testsReader) expectation(n *node, path string) Expectation {
	e := Expectation{Place: at(n)}
	if !r.table(n, path, "calls", "error", "stopped", "version") {
		return e
	}
	e.Error = r.filled(n.get("error"), path+".error", "leave it out when all must go well")
	e.Version = r.version(n.get("version"), path+".version")
	if s := n.get("stopped"); s != nil {
		e.Stopped = r.textList(s, path+".stopped", "write a list of components; [] for none")
	}
	calls := n.get("calls")
	if !r.shaped(calls, path+".calls", listShape, "write a list of calls; [] for none") {
		return e
	}
	e.Calls = []ExpectedCall{}
	for i, v := range calls.list {
		p := item(path+".calls", i)
		if v.shape == textShape && slices.Contains(primitives, v.text()) { // just its name
			e.Calls = append(e.Calls, ExpectedCall{CallPattern: CallPattern{Place: at(v), Primitive: slipway.Primitive(v.text())}})
			continue
		}
		pattern, ok := r.pattern(v, p, "image", "env", "env_from", "images", "fails")
		if !ok {
			continue
		}
		c := ExpectedCall{
			CallPattern: pattern, Image: r.text(v.get("image"), p+".image"), EnvFrom: r.text(v.get("env_from"), p+".env_from"),
			Env: r.texts(v.get("env"), p+".env", nil), Fails: r.text(v.get("fails"), p+".fails"),
		}
		if images := v.get("images"); images != nil {
			c.Images = r.textList(images, p+".images", "write a list of images")
		}
		for _, key := range []string{"image", "env", "env_from"} {
			if k := v.get(key); k != nil && pattern.Primitive != slipway.ExecuteCommands {
				r.fault(k.pos, p+"."+key, "", "goes with execute_commands only")
			}
		}
		if k := v.get("images"); k != nil && pattern.Primitive != slipway.ComponentImages {
			r.fault(k.pos, p+".images", "", "goes with get_component_images only")
		}
		e.Calls = append(e.Calls, c)
	}
	return e
}
