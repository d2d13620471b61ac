//go:build load

package load

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"slipway.dev/slipway/test/world"
)

// row is one line of the table.
type row struct{ what, budget, measured string }

// TestBudgets measures and prints. World: real cluster, real Prefect, SQLite.
func TestBudgets(t *testing.T) {
	w := world.New(t)
	var table []row
	add := func(what, budget, format string, args ...any) {
		table = append(table, row{what, budget, fmt.Sprintf(format, args...)})
	}

	w.Must("driver", "load", filepath.Join("test", "load", "testdata", "quick"))
	clock := filepath.Join(w.Dir, "clock")
	spec := func(version string) string {
		return fmt.Sprintf("schema_version = 1\nname = \"quick\"\n[driver]\nname = \"quick\"\nversion = \"1.0.0\"\n[app]\nversion = %q\n[parameters]\nclock_file = %q\n", version, clock)
	}
	if task := w.Deploy(spec("1.0.0")); task.State != "succeeded" {
		t.Fatal(world.Summary(task))
	}
	var first, whole []time.Duration
	for i := range 8 {
		task := w.Deploy(spec(fmt.Sprintf("1.0.%d", i+1)))
		if task.State != "succeeded" {
			t.Fatal(world.Summary(task))
		}
		at, err := strconv.ParseInt(world.ReadFile(t, clock), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range task.Steps {
			if s.Key == "hook.upgrade.pre" {
				first = append(first, time.Unix(0, at).Sub(s.StartedAt))
			}
		}
		whole = append(whole, task.EndedAt.Sub(*task.StartedAt))
		time.Sleep(5 * time.Second) // until the spare is warm again, as between two changes of people
	}
	add("action: step opened to the first line of user code, warm", "under 1 s", "median %s, worst %s of %d", median(first), slices.Max(first).Round(time.Millisecond), len(first))
	add("upgrade of a chart with nothing to wait for, one action", "", "median %s", median(whole))

	for _, command := range [][]string{{"applications", "list"}, {"tasks", "list"}, {"drivers", "list"}} {
		var took []time.Duration
		for range 20 {
			began := time.Now()
			w.Must(command...)
			took = append(took, time.Since(began))
		}
		add("CLI: slipway "+strings.Join(command, " "), "under 150 ms", "median %s, worst %s", median(took), slices.Max(took).Round(time.Millisecond))
	}
	add("memory of an idle server", "", "%d MiB", residentMiB(t, w.Servers[0].PID()))
	for _, b := range []struct{ what, budget, pkg, bench string }{
		{"dashboard with 1,000 applications, in the server:", "under 50 ms", "./internal/dashboard", "Pages"},
		{"wake-up: from commit to handler", "", "./internal/task", "WakeUp"},
		{"redact: 64 KiB", "under 50 ms", "./internal/redact", "."},
	} {
		for _, line := range bench(t, b.pkg, b.bench) {
			add(b.what+" ("+line[0]+")", b.budget, "%s", line[1])
		}
	}

	ours, theirs := besideHelm(t)
	add("new pods through Slipway's Helm against helm upgrade --wait", "under 1.15 ×", "%.2f × (median %s against %s of %d)",
		float64(median(ours))/float64(median(theirs)), median(ours), median(theirs), len(ours))

	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "\nmachine: %d cores, %s, %s\n", runtime.NumCPU(), cpu(), runtime.Version())
	fmt.Fprintln(out, "what\tbudget\tmeasured")
	for _, r := range table {
		fmt.Fprintf(out, "%s\t%s\t%s\n", r.what, r.budget, r.measured)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2].Round(time.Millisecond)
}

func residentMiB(t *testing.T, pid int) int {
	t.Helper()
	for line := range strings.Lines(world.ReadFile(t, fmt.Sprintf("/proc/%d/status", pid))) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return kib / 1024
		}
	}
	t.Fatal("the kernel does not tell the memory of the server")
	return 0
}

// bench runs a package's benchmarks and returns their names with the time of one operation.
func bench(t *testing.T, pkg, name string) [][2]string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-run", "^$", "-bench", name, "-benchtime", "1s", pkg)
	cmd.Dir = world.Root
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go test -bench %s %s: %v\n%s", name, pkg, err, text)
	}
	var out [][2]string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		ns, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			continue
		}
		out = append(out, [2]string{strings.TrimPrefix(f[0], "Benchmark"), time.Duration(ns).Round(time.Microsecond).String()})
	}
	return out
}

// besideHelm has the same chart upgraded by both, in turn, with new pods each time.
func besideHelm(t *testing.T) (ours, theirs []time.Duration) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-v", "-tags", "cluster", "-run", "TestCompareWithHelmUpgradeWait", "./internal/outside/helm")
	cmd.Dir, cmd.Env = world.Root, append(os.Environ(), "SLIPWAY_COMPARE=1")
	text, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("compare with helm: %v\n%s", err, text)
	}
	for _, found := range comparison.FindAllStringSubmatch(string(text), -1) {
		took, err := time.ParseDuration(found[2])
		if err != nil {
			t.Fatal(err)
		}
		if found[1] == "ours" {
			ours = append(ours, took)
		} else {
			theirs = append(theirs, took)
		}
	}
	if len(ours) == 0 || len(ours) != len(theirs) {
		t.Fatalf("no comparison in\n%s", text)
	}
	return ours, theirs
}

var comparison = regexp.MustCompile(`round \d+: (ours|theirs) (\S+)`)

func cpu() string {
	raw, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	for line := range strings.Lines(string(raw)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, " \t:"))
		}
	}
	return "unknown processor"
}
