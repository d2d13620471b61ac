package application

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/outside/helm"
	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/task"
)

// The tests here stand in a fake world over a real SQLite database. Each call of the world
// can be the one in which the process dies: before it has an effect, or after, with the
// answer lost.

// fakeWorld is a cluster, its charts and Prefect in one, that remembers what was done.
type fakeWorld struct {
	mu      sync.Mutex
	calls   int
	dieAt   int  // the number of the call that kills the process; 0: none
	after   bool // die after the effect
	die     context.CancelFunc
	did     []string
	record  int64
	started map[string]int // flow run → processes
	// contexts are what the actions were given.
	contexts []spec.GlobalContext
	fails    string // a part of the flow runs' names that fail
	drifted  int    // objects that are not as they were applied
	refuses  error  // what the preparation of runners answers
	notReady error  // what a wait ends with
}

// call is one call of the world, with its effect.
func (f *fakeWorld) call(ctx context.Context, what string, effect func()) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	f.mu.Lock() // a cancel ends the process and the Job at once
	defer f.mu.Unlock()
	f.calls++
	dies := f.calls == f.dieAt
	if !dies || f.after {
		f.did = append(f.did, what)
		if effect != nil {
			effect()
		}
	}
	if dies {
		f.die()
		return context.Cause(ctx)
	}
	return nil
}

func (f *fakeWorld) Version(ctx context.Context) (string, error) {
	return "v1.34.4", f.call(ctx, "version", nil)
}
func (f *fakeWorld) EnsureCRD(ctx context.Context, _ []byte) error { return f.call(ctx, "crd", nil) }
func (f *fakeWorld) EnsureNamespace(ctx context.Context, _ slipway.Environment) error {
	return f.call(ctx, "namespace", nil)
}
func (f *fakeWorld) ApplySecret(ctx context.Context, _, _ string, _ map[string][]byte, _ map[string]string) error {
	return f.call(ctx, "secret", nil)
}
func (f *fakeWorld) DeleteSecret(ctx context.Context, _, _ string) error {
	return f.call(ctx, "delete secret", nil)
}
func (f *fakeWorld) PutRecord(ctx context.Context, _ slipway.Application, r kube.Record) error {
	if f.record > r.Change {
		return &kube.ErrNewer{Number: f.record}
	}
	return f.call(ctx, fmt.Sprintf("record %d", r.Change), func() { f.record = r.Change })
}
func (f *fakeWorld) SetRecordStatus(ctx context.Context, _ slipway.Application, _ kube.RecordStatus) error {
	return f.call(ctx, "status", nil)
}
func (f *fakeWorld) DeleteRecord(ctx context.Context, _ slipway.Application) error {
	return f.call(ctx, "delete record", nil)
}
func (f *fakeWorld) Workloads(ctx context.Context, _ slipway.Application, _ map[string]string) ([]kube.Workload, error) {
	return nil, f.call(ctx, "workloads", nil)
}
func (f *fakeWorld) Stop(ctx context.Context, _ []kube.Workload, _ time.Duration) error {
	return f.call(ctx, "stop", nil)
}
func (f *fakeWorld) Start(ctx context.Context, _ slipway.Application, _ []kube.Workload, _ *int, _ kube.ReadyOptions) error {
	return f.call(ctx, "start", nil)
}
func (f *fakeWorld) Ready(ctx context.Context, _ slipway.Application, _ []kube.Object, _ kube.ReadyOptions) error {
	return errors.Join(f.call(ctx, "ready", nil), f.notReady)
}
func (f *fakeWorld) RunJob(ctx context.Context, _ kube.JobSpec, _ kube.JobOptions) (kube.JobResult, error) {
	return kube.JobResult{}, f.call(ctx, "job", nil)
}
func (f *fakeWorld) Diagnose(ctx context.Context, _ slipway.Application, redact func(string) string) (string, bool, error) {
	return redact("pod web-1 cannot start: password=hunter2hunter2\n"), true, f.call(ctx, "diagnose", nil)
}
func (f *fakeWorld) Compare(ctx context.Context, _ slipway.Application, _ []kube.Manifest, _ kube.CompareOptions) (out kube.Comparison, err error) {
	err = f.call(ctx, "compare", nil)
	for i := range f.drifted {
		out.Back = append(out.Back, kube.Manifest{Object: kube.Object{Kind: "Service", Name: fmt.Sprint(i)}})
		out.Differences = append(out.Differences, slipway.Difference{Object: fmt.Sprintf("Service %d", i), Kind: slipway.DiffMissing})
	}
	return out, err
}
func (f *fakeWorld) CompareSecret(ctx context.Context, _, _ string, _ map[string][]byte) ([]slipway.Difference, error) {
	return nil, f.call(ctx, "compare secret", nil)
}
func (f *fakeWorld) PutBack(ctx context.Context, m kube.Manifest) error {
	return f.call(ctx, "put back "+m.Object.String(), func() { f.drifted-- })
}
func (f *fakeWorld) DeleteJobsOf(ctx context.Context, _ slipway.Application) error {
	return f.call(ctx, "delete jobs", nil)
}
func (f *fakeWorld) DeleteJob(ctx context.Context, _ slipway.Application, _, _ string) (string, error) {
	return "", f.call(ctx, "delete job", nil)
}

func (f *fakeWorld) Claims(ctx context.Context, _ []kube.Workload, _ []string) ([]kube.Claim, error) {
	return nil, f.call(ctx, "claims", nil)
}
func (f *fakeWorld) ServiceOf(ctx context.Context, _ kube.Workload) (string, int, error) {
	return "database", 5432, f.call(ctx, "service of", nil)
}
func (f *fakeWorld) RunMove(ctx context.Context, _ kube.MoveSpec, _ kube.JobOptions) (kube.MoveResult, error) {
	return kube.MoveResult{}, f.call(ctx, "run move", nil)
}
func (f *fakeWorld) EndMove(ctx context.Context, _ slipway.Application, _ string) error {
	return f.call(ctx, "end move", nil)
}
func (f *fakeWorld) EndMovesOf(ctx context.Context, _ slipway.Application, _ int64) error {
	return f.call(ctx, "end moves", nil)
}

func (f *fakeWorld) PrepareRunners(ctx context.Context, s kube.RunnerSpace) error {
	verb := "prepare"
	if s.Existing {
		verb = "keep"
	}
	return errors.Join(f.call(ctx, fmt.Sprintf("%s %d pools in %s", verb, len(s.Pools), s.Application.Namespace), nil), f.refuses)
}
func (f *fakeWorld) RemoveRunners(ctx context.Context, app slipway.Application) error {
	return f.call(ctx, "remove "+app.Namespace, nil)
}

type fakeCharts struct{ *fakeWorld }

func (f fakeCharts) Chart(context.Context, slipway.ChartRef, string, string) (*helm.Chart, error) {
	return &helm.Chart{Name: "guestbook"}, nil
}
func (f fakeCharts) Render(context.Context, helm.RenderRequest) (helm.Rendered, error) {
	return helm.Rendered{}, nil
}
func (f fakeCharts) Apply(ctx context.Context, r helm.ApplyRequest) (helm.Result, error) {
	return helm.Result{}, f.call(ctx, "apply "+r.Description, nil)
}
func (f fakeCharts) Applied(ctx context.Context, _ slipway.Application, _ string) ([]kube.Manifest, error) {
	return nil, f.call(ctx, "as applied", nil)
}
func (f fakeCharts) Uninstall(ctx context.Context, _ helm.UninstallRequest) (helm.Result, error) {
	return helm.Result{}, f.call(ctx, "uninstall", nil)
}

type fakeRunner struct{ *fakeWorld }

func (f fakeRunner) Ensure(ctx context.Context, _ prefect.Action, run prefect.RunSpec) (string, error) {
	return "flow-" + run.Key, f.call(ctx, "ensure "+run.Key, nil)
}
func (f fakeRunner) Start(ctx context.Context, id string, l prefect.Launch) (prefect.Process, error) {
	raw, err := os.ReadFile(l.Env["SLIPWAY_CONTEXT_FILE"])
	if err != nil {
		return prefect.Process{}, err
	}
	given, err := spec.DecodeContext(raw)
	if err != nil {
		return prefect.Process{}, err
	}
	f.contexts = append(f.contexts, given)
	p := prefect.Process{Host: prefect.ThisHost(), PID: 4242, StartTime: 7}
	if err := l.Note(ctx, p); err != nil {
		return prefect.Process{}, err
	}
	return p, f.call(ctx, "start", func() { f.started[id]++ })
}
func (f fakeRunner) Began(_ context.Context, id string, p prefect.Process) (bool, error) {
	return p.Known() && f.started[id] > 0, nil
}
func (f fakeRunner) Wait(ctx context.Context, id string, _ prefect.Process, _ prefect.WaitOptions) (prefect.Outcome, error) {
	if f.started[id] != 1 {
		return prefect.Outcome{}, fmt.Errorf("waiting for %s, of which %d were started", id, f.started[id])
	}
	if f.fails != "" && strings.Contains(id, f.fails) {
		return prefect.Outcome{State: prefect.Failed, Message: "ActionError: the cause is still there"}, f.call(ctx, "wait", nil)
	}
	return prefect.Outcome{State: prefect.Completed}, f.call(ctx, "wait", nil)
}
func (f fakeRunner) Cancel(ctx context.Context, _ string, _ prefect.Process) error {
	return f.call(ctx, "cancel", nil)
}

type fakeTokens struct{}

func (fakeTokens) MintTaskToken(context.Context, *store.Tx, int64, time.Time) (string, error) {
	return "slw_token", nil
}
func (fakeTokens) RevokeTaskTokens(context.Context, *store.Tx, int64) error { return nil }

// bench is a database with one installed application and an upgrade that waits.
type bench struct {
	t       *testing.T
	store   *store.Store
	queue   *task.Queue
	journal *task.Journal
	box     *secret.Box
	bundles *Bundles
	dir     string
	app     slipway.Application
	task    slipway.Task
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	db, err := sqlite.Open(t.Context(), filepath.Join(b.dir, "slipway.db"), sqlite.Options{})
	b.must(err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	b.store = db.Store
	b.queue, err = task.NewQueue(db.Store, db.River(), task.Options{Replica: slipway.Replica{ID: "test"}})
	b.must(err)
	b.journal = task.NewJournal(db.Store, task.NewEvents(db.Store, slog.New(slog.DiscardHandler)), "test", slog.New(slog.DiscardHandler))
	b.box, err = secret.LoadOrCreate(filepath.Join(b.dir, "key"), true)
	b.must(err)
	b.bundles = NewBundles(db.Store, filepath.Join(b.dir, "drivers"))
	b.seed()
	return b
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) seed() {
	bundle, err := spec.ReadBundleDir(filepath.Join("..", "..", "..", "examples", "drivers", "guestbook"))
	b.must(err)
	parsed, _, err := spec.ParseDriver(bundle)
	b.must(err)
	packed, digest, err := spec.Pack(bundle)
	b.must(err)
	ctx := b.t.Context()
	b.must(b.store.InTx(ctx, func(tx *store.Tx) error {
		p, err := tx.CreateProject(ctx, slipway.Project{Name: "demo"})
		if err != nil {
			return err
		}
		e, err := tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: p.ID, Name: "dev", Namespace: "demo-dev"})
		if err != nil {
			return err
		}
		if _, err := tx.CreateDriver(ctx, slipway.Driver{Name: parsed.Name, Version: parsed.Version, Digest: digest, Spec: parsed}, packed); err != nil {
			return err
		}
		if b.app, err = tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: "guestbook", Kind: slipway.DriverApplication}); err != nil {
			return err
		}
		for n, version := range []string{"1.0.0", "1.1.0"} {
			_, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: b.app.ID, Number: int64(n + 1), DriverDigest: digest, Spec: slipway.ApplicationSpec{
				SchemaVersion: 1, Name: "guestbook", Driver: slipway.DriverRef{Name: parsed.Name, Version: parsed.Version},
				App: slipway.AppRef{Version: version}, Parameters: map[string]any{"admin_email": "ops@example.com"},
			}})
			if err != nil {
				return err
			}
		}
		if err := tx.SetApplicationWanted(ctx, b.app.ID, 0, 1, 0); err != nil {
			return err
		}
		if err := tx.SetApplicationApplied(ctx, b.app.ID, store.Applied{Revision: 1, AppVersion: "1.0.0", DriverName: parsed.Name, DriverVersion: parsed.Version}); err != nil {
			return err
		}
		c, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: b.app.ID, Kind: slipway.UpgradeChange, Revision: 2, FromRevision: 1})
		if err != nil {
			return err
		}
		if err := tx.SetApplicationWanted(ctx, b.app.ID, 1, 2, c.Number); err != nil {
			return err
		}
		b.task, err = tx.CreateTask(ctx, slipway.Task{Kind: slipway.UpgradeTask, Title: "upgrade guestbook to 1.1.0", ApplicationID: b.app.ID, ChangeID: c.ID})
		return err
	}))
}

// run is one life of the process: it carries the task on until it is over or it dies.
func (b *bench) run(f *fakeWorld) {
	ctx, die := context.WithCancelCause(b.t.Context())
	defer die(nil)
	f.die = func() { die(fmt.Errorf("the process was killed")) }
	r := New(Config{
		Store: b.store, Queue: b.queue, Journal: b.journal, Replica: "test", Cluster: f, Charts: fakeCharts{f}, Runner: fakeRunner{f},
		Tokens: fakeTokens{}, Box: b.box, Bundles: b.bundles, Installation: slipway.Installation{ID: "installation"},
		RunDir: filepath.Join(b.dir, "runs"), APIURLs: func() []string { return []string{"http://127.0.0.1:1"} },
	})
	_, err := r.Task(ctx, b.task.ID)
	if err != nil && ctx.Err() == nil {
		b.t.Fatal(err)
	}
}

// end is what the rows say of the task.
func (b *bench) end() string {
	var out strings.Builder
	ctx := b.t.Context()
	b.must(b.store.Read(ctx, func(tx *store.Tx) error {
		t, err := tx.Task(ctx, b.task.ID)
		if err != nil {
			return err
		}
		steps, err := tx.Steps(ctx, b.task.ID)
		if err != nil {
			return err
		}
		app, err := tx.Application(ctx, b.app.ID)
		fmt.Fprintf(&out, "%s %s; application %s at %s, revision %d\n", t.State, t.Error, app.State, app.AppVersion, app.Applied)
		for _, s := range steps {
			fmt.Fprintf(&out, "%s %s %s\n", s.Key, s.State, s.Error)
			for _, r := range s.Runs {
				fmt.Fprintf(&out, "  %s %s\n", r.Action, r.State)
			}
		}
		return err
	}))
	return out.String()
}

func newFake() *fakeWorld { return &fakeWorld{started: map[string]int{}} }

// The core action of the guestbook asks for the version itself, which nobody does here: the
// application is moved by hand when the action is waited for, as its child task would.
func (b *bench) moveVersion() {
	ctx := b.t.Context()
	b.must(b.store.InTx(ctx, func(tx *store.Tx) error {
		return tx.SetApplicationApplied(ctx, b.app.ID, store.Applied{Revision: 2, AppVersion: "1.1.0", DriverName: "guestbook", DriverVersion: "1.0.0"})
	}))
}

func TestAnUpgradeEndsAsUndisturbedWhereverItIsKilled(t *testing.T) {
	t.Parallel()
	quiet := newBench(t)
	quiet.moveVersion()
	f := newFake()
	quiet.run(f)
	want, calls := quiet.end(), f.calls
	if !strings.HasPrefix(want, "succeeded ") || calls < 12 {
		t.Fatalf("undisturbed, after %d calls:\n%s", calls, want)
	}
	for n := 1; n <= calls; n++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("killed in call %d (%s), answer lost %v", n, f.did[n-1], after), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.moveVersion()
				world := newFake()
				world.dieAt, world.after = n, after
				b.run(world) // the life that ends
				world.dieAt = 0
				b.run(world) // the next one
				if diff := cmp.Diff(want, b.end()); diff != "" {
					t.Errorf("the end differs (-undisturbed +killed):\n%s\nthe world saw: %s", diff, strings.Join(world.did, ", "))
				}
				for id, n := range world.started {
					if n != 1 {
						t.Errorf("%s was started %d times", id, n)
					}
				}
			})
		}
	}
}

func TestAnOvertakenChangeLeavesTheClusterAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.moveVersion()
	f := newFake()
	f.record = 99 // a later change is on the cluster
	b.run(f)
	if slices.ContainsFunc(f.did, func(s string) bool { return strings.HasPrefix(s, "apply") }) {
		t.Errorf("an overtaken change was applied: %s", strings.Join(f.did, ", "))
	}
	if got := b.end(); !strings.HasPrefix(got, "succeeded ") || !strings.Contains(got, "hook.upgrade.post succeeded") {
		t.Errorf("an overtaken change runs its hooks all the same; the end is\n%s", got)
	}
}
