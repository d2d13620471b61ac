//go:build e2e

// These tests stand in the Prefect world: a real Prefect server, real flows, real
// processes. They make the Python environment when it is not there, and fail when they
// cannot.

package prefect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// cacheRoot is where developers and CI keep the environment between runs: under what
// `slipway python install` was told, or in the cache.
func cacheRoot() string {
	if dir := os.Getenv("SLIPWAY_TEST_VENV"); dir != "" {
		return dir
	}
	if dir := os.Getenv("SLIPWAY_CACHE"); dir != "" {
		return filepath.Join(dir, "python")
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".cache", "slipway", "python")
}

var realPython = sync.OnceValues(func() (Python, error) {
	lock, err := os.ReadFile("../../../python/requirements.lock")
	if err != nil {
		return Python{}, err
	}
	p, err := EnsureVenv(context.Background(), cacheRoot(), VenvOptions{
		Lock: lock, Progress: func(s string) { fmt.Fprintln(os.Stderr, s) },
	})
	if err != nil {
		return Python{}, err
	}
	source, err := filepath.Abs("../../../python/src")
	if err != nil {
		return Python{}, err
	}
	if p, err = p.WithPackage(context.Background(), source); err == nil && !p.Redacts {
		err = errors.New("python/src has no slipway._redact, so nothing would be redacted")
	}
	return p, err
})

// shared is the one Prefect server that all tests use which do not harm theirs.
var shared struct {
	once   sync.Once
	server *Server
	err    error
}

func TestMain(m *testing.M) {
	if os.Getenv(parentVariable) != "" {
		beParent() // does not return
	}
	code := m.Run()
	if shared.server != nil {
		dir := shared.server.Dir
		_ = shared.server.Stop(context.Background())
		if code == 0 {
			os.RemoveAll(dir)
		} else {
			fmt.Fprintln(os.Stderr, "the Prefect server's folder is kept:", dir)
		}
	}
	os.Exit(code)
}

func sharedServer(tb testing.TB) *Server {
	tb.Helper()
	python := mustPython(tb)
	shared.once.Do(func() {
		dir, err := os.MkdirTemp("", "slipway-prefect-") //nolint:usetesting // it outlives the test that makes it
		if err != nil {
			shared.err = err
			return
		}
		start := time.Now()
		shared.server, shared.err = NewServer(ServerConfig{Python: python, Dir: dir, Port: anyPort(), ReadyWithin: 5 * time.Minute, Logger: testLog()})
		if shared.err == nil {
			shared.err = shared.server.Start(context.Background())
			fmt.Fprintf(os.Stderr, "Prefect server %s ready after %s\n", python.Prefect, time.Since(start).Round(time.Millisecond))
		}
	})
	if shared.err != nil {
		tb.Fatal(shared.err)
	}
	return shared.server
}

// anyPort keeps test runs on one machine apart.
func anyPort() int {
	port, err := listenOnce(context.Background(), 0)
	if err != nil {
		panic(err)
	}
	return port
}

func mustPython(tb testing.TB) Python {
	tb.Helper()
	p, err := realPython()
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func testLog() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }

// realRunner returns a Runner on the shared server, with a pool of its own.
func realRunner(tb testing.TB, change func(*RunnerConfig)) *Runner {
	tb.Helper()
	return runnerOn(tb, sharedServer(tb), change)
}

func runnerOn(tb testing.TB, source Source, change func(*RunnerConfig)) *Runner {
	tb.Helper()
	c := RunnerConfig{
		Client: NewClient(source, ClientOptions{}), Python: mustPython(tb), Dir: tb.TempDir(),
		WorkPool: "pool-" + newUUID(), Worker: "test", Grace: 3 * time.Second, NoSpare: true, Logger: testLog(),
	}
	if change != nil {
		change(&c)
	}
	r, err := NewRunner(c)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// flowDir is the bundle of testdata, absolute.
func flowDir(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.Abs("testdata/flows")
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

func testAction(tb testing.TB, file, function string, params map[string]any) Action {
	tb.Helper()
	if params == nil {
		params = map[string]any{"context": map[string]any{"schema": 1, "ref": "ctx_1"}}
	}
	return Action{
		Flow: "guestbook." + function, Driver: "guestbook", DriverVersion: "1.0.0", DriverDigest: "sha256:5f1c3a9d2b7e4c60",
		Dir: flowDir(tb), File: file, Function: function, Params: params,
	}
}

// begin makes and starts one run of an action.
func begin(tb testing.TB, r *Runner, a Action, env map[string]string) (string, Process, Launch) {
	tb.Helper()
	ctx := tb.Context()
	key := "test/" + newUUID()
	id, err := r.Ensure(ctx, a, RunSpec{Key: key, Name: "a test", Tags: []string{"task:41"}, Labels: map[string]string{"step": "3"}})
	if err != nil {
		tb.Fatal(err)
	}
	again, err := r.Ensure(ctx, a, RunSpec{Key: key, Name: "a test"})
	if err != nil || again != id {
		tb.Fatalf("Ensure() with the same key = %s, %v; want %s", again, err, id)
	}
	launch := Launch{Action: a, Env: env, RunDir: tb.TempDir()}
	p, err := r.Start(ctx, id, launch)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { p.killGroup("") })
	return id, p, launch
}

func finish(tb testing.TB, r *Runner, id string, p Process, o WaitOptions) Outcome {
	tb.Helper()
	if o.Every == 0 {
		o.Every = 300 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(tb.Context(), 3*time.Minute)
	defer cancel()
	out, err := r.Wait(ctx, id, p, o)
	if err != nil {
		tb.Fatalf("Wait() = %v; output:\n%s", err, printed(p))
	}
	return out
}

// logs returns everything that a run logged to Prefect.
func logs(tb testing.TB, r *Runner, id string) string {
	tb.Helper()
	var lines []struct{ Message string }
	err := r.client.call(tb.Context(), "POST", "/logs/filter", map[string]any{
		"logs": map[string]any{"flow_run_id": map[string]any{"any_": []string{id}}}, "sort": "TIMESTAMP_ASC",
	}, &lines)
	if err != nil {
		tb.Fatal(err)
	}
	var text strings.Builder
	for _, l := range lines {
		text.WriteString(l.Message + "\n")
	}
	return text.String()
}

// eventually waits for what another process is about to do.
func eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for end := time.Now().Add(2 * time.Minute); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatal("never: " + what)
		}
	}
}

// runInBackground calls Run until the returned function, which waits for its end.
func runInBackground(tb testing.TB, r *Runner, known func(context.Context, FlowRun) (bool, error)) (end func()) {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.Run(ctx, known); err != nil {
			tb.Errorf("Run() = %v", err)
		}
	}()
	end = func() { cancel(); <-done }
	tb.Cleanup(end)
	return end
}

func knowAll(context.Context, FlowRun) (bool, error) { return true, nil }

func fileSize(tb testing.TB, path string) int64 {
	tb.Helper()
	info, err := os.Stat(path)
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil {
		tb.Fatal(err)
	}
	return info.Size()
}
