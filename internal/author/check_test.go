package author

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// World of this file: real Python reads, real Helm renders; no cluster, no server, no network.

// offline returns tools as the command line has them.
func offline(t testing.TB) *Tools {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Fatal("these tests read actions with python3: ", err)
	}
	return Offline("python3", t.TempDir())
}

// readDir reads a driver of the repository.
func readDir(t testing.TB, dir ...string) spec.Bundle {
	t.Helper()
	b, err := spec.ReadBundleDir(filepath.Join(append([]string{"..", ".."}, dir...)...))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// changed returns a bundle with files added, changed or, when empty, removed.
func changed(t testing.TB, b spec.Bundle, files map[string]string) spec.Bundle {
	t.Helper()
	all := map[string][]byte{}
	for _, p := range b.Paths() {
		all[p], _ = b.File(p)
	}
	for name, text := range files {
		all[name] = []byte(text)
		if text == "" {
			delete(all, name)
		}
	}
	out, err := spec.NewBundle(all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// edited replaces text in one file of a bundle.
func edited(t testing.TB, b spec.Bundle, file string, pairs ...string) spec.Bundle {
	t.Helper()
	raw, ok := b.File(file)
	if !ok {
		t.Fatalf("there is no %s", file)
	}
	text := string(raw)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%s does not hold %q", file, pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return changed(t, b, map[string]string{file: text})
}

func TestTheExamplesHaveNoFault(t *testing.T) {
	t.Parallel()
	tools := offline(t)
	for _, name := range []string{"guestbook", "notes", "reference"} {
		r, err := tools.Check(t.Context(), readDir(t, "examples", "drivers", name))
		if err != nil || len(r.Faults) > 0 {
			t.Errorf("%s: %v %v", name, err, r.Faults)
		}
	}
}

func TestCheckNamesEachFaultWithItsPlace(t *testing.T) {
	t.Parallel()
	tools := offline(t)
	good := readDir(t, "examples", "drivers", "guestbook")
	for _, tc := range []struct {
		name   string
		bundle spec.Bundle
		want   []string // parts of the faults, in order
	}{
		{"no specification", changed(t, good, map[string]string{"driver.slipway.yml": ""}), []string{"the directory holds no driver.slipway.yml"}},
		{"no YAML", changed(t, good, map[string]string{"driver.slipway.yml": "a: [\n"}), []string{"driver.slipway.yml:1:"}},
		{
			"faults of all parts at once",
			edited(t, edited(t, edited(t, good, "driver.slipway.yml", "scalable: true", "scaleable: true"),
				"actions.py", "async def backup(context: GlobalContext)", "async def backup(context: GlobalContext, target)"),
				"values.j2.yml", "parameters.log_level", "parameters.loglevel"),
			[]string{
				`driver.slipway.yml:23:7: spec.components.web.scaleable: unknown key`,
				`driver.slipway.yml:28:7: spec.components.worker.scaleable: unknown key`,
				`actions.py:51:1: backup: the parameter "target" is required`,
				`values.j2.yml:6:`,
			},
		},
		{
			"a function that is not there", edited(t, good, "driver.slipway.yml", "actions.py::upgrade", "actions.py::upgrad"),
			[]string{`actions.py: there is no function upgrad`},
		},
		{
			"a file that is no Python is one fault", edited(t, good, "actions.py", "async def backup(", "async def backup((("),
			[]string{`actions.py:`},
		},
		{
			"a selector that nothing has", edited(t, good, "driver.slipway.yml", "app.kubernetes.io/component: worker", "app.kubernetes.io/component: work"),
			[]string{`driver.slipway.yml:26:7: spec.components.worker.selector: no workload of the chart has these labels, whatever the parameters are (Deployment guestbook-store has { app.kubernetes.io/component: store }; `},
		},
		{
			"a container that is not there", edited(t, good, "driver.slipway.yml", "container: worker", "container: wrker"),
			[]string{`driver.slipway.yml:27:18: spec.components.worker.container: there is no container "wrker" (its workload has: worker)`},
		},
		{
			"a backup of a volume that is none",
			edited(t, good, "driver.slipway.yml", "container: store\n", "container: store\n      backup: { kind: disk, volumes: [data] }\n"),
			[]string{`spec.components.store.backup.volumes: there is no volume claim "data" to back up (its pods have no volume claim)`},
		},
		{
			"two components of one workload",
			edited(t, good, "driver.slipway.yml", "{ app.kubernetes.io/name: guestbook, app.kubernetes.io/component: worker }", "{ app.kubernetes.io/component: web }"),
			[]string{`driver.slipway.yml:20:5: spec.components.web: the components "web" and "worker" both select Deployment guestbook-web`},
		},
		{
			"a template of the chart that does not render", edited(t, good, "chart/templates/worker.yaml", ".Values.worker.replicas", ".Values.nobody.replicas"),
			[]string{`chart/templates/worker.yaml:9:`},
		},
		{
			"values that the chart's own schema refuses", edited(t, good, "values.j2.yml", "logLevel: {{ parameters.log_level }}", "logLevel: loud"),
			[]string{`driver.slipway.yml:16:17: spec.helm.main.location: `},
		},
		{
			"values that are no table", changed(t, good, map[string]string{"values.j2.yml": "- a\n"}),
			[]string{`renders to a list, not to a table`},
		},
		{
			"a version at the upper end that does not render",
			changed(t, good, map[string]string{"values.j2.yml": "{{ parameters.nothing if app.version == '1.999.999' else '' }}\n"}),
			[]string{`values.j2.yml:1:`},
		},
		{
			"a default that is none", edited(t, good, "driver.slipway.yml", "default: info", "default: loud"),
			[]string{`spec.parameters.properties.log_level.default`},
		},
	} {
		r, err := tools.Check(t.Context(), tc.bundle)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if len(r.Faults) != len(tc.want) {
			t.Errorf("%s: faults = %q, want %d", tc.name, spec.Sentences(r.Faults), len(tc.want))
			continue
		}
		for i, want := range tc.want {
			if got := r.Faults[i].String(); !strings.Contains(got, want) {
				t.Errorf("%s: fault %d = %q, want %q", tc.name, i, got, want)
			}
		}
		if !slipway.Is(r.Err(), slipway.Invalid) {
			t.Errorf("%s: Err() = %v", tc.name, r.Err())
		}
	}
}

func TestAComponentMayDependOnAParameter(t *testing.T) {
	t.Parallel()
	tools := offline(t)
	good := readDir(t, "examples", "drivers", "guestbook")
	raw, _ := good.File("chart/templates/worker.yaml")
	switched := changed(t, edited(t, good,
		"driver.slipway.yml", "      greeting:\n", "      with_worker: { type: boolean, default: false }\n      greeting:\n"), map[string]string{
		"chart/templates/worker.yaml": "{{- if .Values.worker.on }}\n" + string(raw) + "{{- end }}\n",
		"chart/values.schema.json":    "{}",
	})
	switched = edited(t, switched, "values.j2.yml", "web:\n", "worker: { on: {{ parameters.with_worker | to_json }} }\nweb:\n")
	r, err := tools.Check(t.Context(), switched)
	if err != nil || len(r.Faults) > 0 {
		t.Errorf("a component that a switch brings: %v %v", err, r.Faults)
	}
	never := edited(t, switched, "values.j2.yml", "parameters.with_worker | to_json", "false")
	if r, err = tools.Check(t.Context(), never); err != nil || len(r.Faults) != 1 {
		t.Errorf("a component that nothing brings: %v %v", err, r.Faults)
	}
}

func TestToolsThatDoNotWorkAreNoFaultOfTheDriver(t *testing.T) {
	t.Parallel()
	tools := Offline(filepath.Join(t.TempDir(), "no-python"), t.TempDir())
	r, err := tools.Check(t.Context(), readDir(t, "examples", "drivers", "guestbook"))
	if err != nil || len(r.Faults) > 0 {
		t.Fatal(err, r.Faults)
	}
	if got := strings.Join(spec.Sentences(r.Warnings), "\n"); !strings.Contains(got, "the functions of the actions were not checked") {
		t.Errorf("warnings = %q", got)
	}
}

func TestAChartElsewhereIsNotAskedFor(t *testing.T) {
	t.Parallel()
	good := readDir(t, "examples", "drivers", "guestbook")
	b := edited(t, good, "driver.slipway.yml", "location: chart", "location: oci://registry.example.com/charts/guestbook\n      version: 1.0.0")
	r, err := offline(t).Check(t.Context(), b)
	if err != nil || len(r.Faults) > 0 {
		t.Fatal(err, r.Faults)
	}
	if got := strings.Join(spec.Sentences(r.Warnings), "\n"); !strings.Contains(got, "the chart is not in the bundle") {
		t.Errorf("warnings = %q", got)
	}
}

func TestCheckChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "examples", "drivers", "guestbook"))); err != nil {
		t.Fatal(err)
	}
	before := listing(t, dir)
	b, err := spec.ReadBundleDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := offline(t).Check(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if after := listing(t, dir); !maps.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
}

// listing reads every file below a directory.
func listing(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(p)
		out[p] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
