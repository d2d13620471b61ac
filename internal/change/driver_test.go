package change

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// bundle is a small driver named board, with changed or added files.
func bundle(version string, change map[string]string) map[string][]byte {
	files := map[string]string{
		"driver.slipway.yml": `apiVersion: slipway.dev/v1
kind: ApplicationDriver
metadata:
  name: board
spec:
  version: ` + version + `
  supported_versions: ">=1.0.0"
  info: { description: a board }
  helm:
    main: { location: ./chart, values: values.j2.yml }
  components:
    web: { selector: { app: web }, container: web }
  actions:
    - { name: backup, hook: upgrade, mode: pre, location: "actions.py::backup" }
`,
		"values.j2.yml":            "image: board:{{ app.version }}\n",
		"actions.py":               "from prefect import flow\n\n@flow\nasync def backup(context):\n    pass\n",
		"chart/Chart.yaml":         "apiVersion: v2\nname: board\nversion: 0.1.0\n",
		"chart/templates/web.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\n",
	}
	maps.Copy(files, change)
	out := map[string][]byte{}
	for name, text := range files {
		out[name] = []byte(text)
	}
	return out
}

func packed(t *testing.T, files map[string][]byte) []byte {
	t.Helper()
	b, err := spec.NewBundle(files)
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := spec.Pack(b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checker is a fake of what asks Python and Helm: it reads the specification and adds what
// those would find.
type checker struct {
	found DriverFacts
	err   error
}

func (c checker) CheckDriver(_ context.Context, b spec.Bundle) (DriverFacts, error) {
	read, err := spec.ReadDriver(b)
	if err != nil {
		return DriverFacts{}, err
	}
	out := c.found
	out.Spec = read.Spec
	for i := range out.Spec.Actions {
		out.Spec.Actions[i].Parameters = []string{"context"}
	}
	return out, c.err
}

func TestLoadingADriver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.s.Drivers = checker{found: DriverFacts{Warnings: []string{"from Python"}}}
	archive := packed(t, bundle("1.0.0", nil))
	d, err := w.s.LoadDriver(t.Context(), w.admin, LoadDriverInput{Archive: archive, Source: "examples/board"})
	w.ok(err)
	if d.Known || d.Name != "board" || d.Version != "1.0.0" || d.LoadedBy != "anna" || d.Source != "examples/board" || !strings.HasPrefix(d.Digest, "sha256:") {
		t.Errorf("driver = %+v", d)
	}
	if diff := cmp.Diff([]string{"context"}, d.Spec.Actions[0].Parameters); diff != "" || d.Warnings[len(d.Warnings)-1] != "from Python" {
		t.Errorf("spec = %+v, warnings %q", d.Spec, d.Warnings)
	}
	w.audited("driver.load", "anna", "board 1.0.0", "", `{"digest":"`+d.Digest+`","source":"examples/board"}`)

	again, err := w.s.LoadDriver(t.Context(), w.admin, LoadDriverInput{Archive: archive, Source: "elsewhere"})
	if err != nil || !again.Known || again.ID != d.ID || len(w.audits("driver.load")) != 1 {
		t.Errorf("again = %+v, %v", again, err)
	}
	_, err = w.s.LoadDriver(t.Context(), w.admin, LoadDriverInput{Archive: packed(t, bundle("1.0.0", map[string]string{"NOTES.md": "x"}))})
	w.refused(err, slipway.Conflict, "driver board 1.0.0 is loaded already, with other content (sha256:")
	if e, _ := errorOf(err); e == nil || !strings.Contains(e.Hint, "raise spec.version") {
		t.Errorf("error = %+v", e)
	}

	w.ok(w.s.DeleteDriver(t.Context(), w.admin, "board", "1.0.0"))
	w.audited("driver.delete", "anna", "board 1.0.0", `{"digest":"`+d.Digest+`","source":"examples/board"}`, "")
}

func TestADriverWithFaultsIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fault := slipway.FieldError{File: "actions.py", Line: 4, Column: 1, Msg: "there is no function backup", Hint: "write it"}
	chartFault := slipway.FieldError{File: "driver.slipway.yml", Path: "spec.components.web", Msg: "no workload matches"}
	for _, tc := range []struct {
		name  string
		files map[string]string
		check DriverChecker
		words string
	}{
		{"no specification at all", map[string]string{"driver.slipway.yml": "x"}, nil, ""},
		{"faults of Python and of the chart together", nil, checker{found: DriverFacts{Faults: []slipway.FieldError{fault, chartFault}}}, "the driver has 2 faults"},
	} {
		w.s.Drivers = tc.check
		before := w.dump()
		_, err := w.s.LoadDriver(t.Context(), w.admin, LoadDriverInput{Archive: packed(t, bundle("1.0.0", tc.files))})
		w.refused(err, slipway.Invalid, tc.words)
		if d := cmp.Diff(before, w.dump()); d != "" {
			t.Errorf("%s: it wrote (-before +after):\n%s", tc.name, d)
		}
	}
	_, err := w.s.LoadDriver(t.Context(), w.admin, LoadDriverInput{Archive: []byte("not an archive")})
	w.refused(err, slipway.Invalid, "")
	_, err = w.s.LoadDriver(t.Context(), w.admin, LoadDriverInput{Archive: packed(t, bundle("1.0.0", nil)), Source: "two\nlines"})
	w.refused(err, slipway.Invalid, "source")
}

func TestACheckThatDidNotEndKeepsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.s.Drivers = checker{err: errors.New("the context ended")}
	before := w.dump()
	if _, err := w.s.LoadDriver(t.Context(), w.admin, LoadDriverInput{Archive: packed(t, bundle("1.0.0", nil))}); err == nil || err.Error() != "the context ended" {
		t.Errorf("err = %v", err)
	}
	if d := cmp.Diff(before, w.dump()); d != "" {
		t.Errorf("it wrote (-before +after):\n%s", d)
	}
}

func TestADriverInUseStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installed()
	w.refused(w.s.DeleteDriver(t.Context(), w.admin, "guestbook", "1.0.0"), slipway.Conflict, "is used by 1 applications")
	w.refused(w.s.DeleteDriver(t.Context(), w.admin, "guestbook", "9.0.0"), slipway.NotFound, "there is no driver guestbook 9.0.0")
}
