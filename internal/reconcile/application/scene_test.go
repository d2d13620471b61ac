package application

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/task"
)

// scene is a real SQLite database with one application, of a driver with the actions that a
// test gives, and a fake world in which the test plays those actions.
type scene struct {
	*bench
	world  *playedWorld
	tokens *countedTokens
	r      *Reconciler
}

// playedWorld is the fake world of the kill tests, with actions and Jobs that a test plays.
type playedWorld struct {
	*fakeWorld
	plays    map[string]func(prefect.Launch) prefect.Outcome // by action; one without a play completes
	flows    map[string]string                               // flow run → action
	launched []string                                        // actions, in the order of their starts
	launches map[string]prefect.Launch                       // by action
	ensure   func() error                                    // what Prefect answers when a run is to be made

	ws       map[string][]kube.Workload // by one of the selector's values
	jobs     []kube.JobSpec
	job      func(kube.JobSpec, kube.JobOptions) (kube.JobResult, error)
	stopped  [][]kube.Workload
	replicas []*int // of starts
	stopping func()
	statuses []kube.RecordStatus
}

func (w *playedWorld) SetRecordStatus(_ context.Context, _ slipway.Application, s kube.RecordStatus) error {
	if w.record > s.Change {
		return &kube.ErrNewer{Number: w.record}
	}
	w.statuses = append(w.statuses, s)
	return nil
}

func (w *playedWorld) Workloads(_ context.Context, _ slipway.Application, selector map[string]string) ([]kube.Workload, error) {
	for _, v := range selector {
		if ws := w.ws[v]; ws != nil {
			return ws, nil
		}
	}
	return nil, nil
}

func (w *playedWorld) Stop(_ context.Context, ws []kube.Workload, _ time.Duration) error {
	w.stopped = append(w.stopped, ws)
	if w.stopping != nil {
		w.stopping()
	}
	return nil
}

func (w *playedWorld) Start(_ context.Context, _ slipway.Application, _ []kube.Workload, replicas *int, _ kube.ReadyOptions) error {
	w.replicas = append(w.replicas, replicas)
	return nil
}

func (w *playedWorld) RunJob(_ context.Context, s kube.JobSpec, o kube.JobOptions) (kube.JobResult, error) {
	w.jobs = append(w.jobs, s)
	if w.job == nil {
		return kube.JobResult{}, nil
	}
	return w.job(s, o)
}

// playedRunner is its Prefect.
type playedRunner struct{ *playedWorld }

func (f playedRunner) Ensure(_ context.Context, a prefect.Action, run prefect.RunSpec) (string, error) {
	if f.ensure != nil {
		if err := f.ensure(); err != nil {
			return "", err
		}
	}
	id := "flow-" + run.Key
	_, f.flows[id], _ = strings.Cut(a.Flow, ".")
	return id, nil
}

func (f playedRunner) Began(_ context.Context, _ string, p prefect.Process) (bool, error) {
	return p.Known(), nil
}

func (f playedRunner) Start(ctx context.Context, id string, l prefect.Launch) (prefect.Process, error) {
	p := prefect.Process{Host: prefect.ThisHost(), PID: 4242, StartTime: 7}
	if err := l.Note(ctx, p); err != nil {
		return prefect.Process{}, err
	}
	action := f.flows[id]
	f.launched = append(f.launched, action)
	f.launches[action] = l
	f.did = append(f.did, "action "+action)
	return p, nil
}

func (f playedRunner) Wait(ctx context.Context, id string, _ prefect.Process, _ prefect.WaitOptions) (prefect.Outcome, error) {
	if play := f.plays[f.flows[id]]; play != nil {
		out := play(f.launches[f.flows[id]])
		if err := context.Cause(ctx); err != nil {
			return out, err
		}
		return out, nil
	}
	return prefect.Outcome{State: prefect.Completed}, nil
}

func (f playedRunner) Cancel(context.Context, string, prefect.Process) error { return nil }

// countedTokens remembers what was minted and revoked, by task.
type countedTokens struct {
	minted  map[int64]int
	revoked map[int64]int
	until   time.Time
}

func (c *countedTokens) MintTaskToken(_ context.Context, _ *store.Tx, taskID int64, deadline time.Time) (string, error) {
	c.minted[taskID]++
	c.until = deadline
	return fmt.Sprintf("slw_%043d", taskID), nil
}

func (c *countedTokens) RevokeTaskTokens(_ context.Context, _ *store.Tx, taskID int64) error {
	c.revoked[taskID]++
	return nil
}

// act is an action of the scene's driver.
func act(name string, h slipway.Hook, m slipway.Mode) slipway.Action {
	return slipway.Action{Name: name, Hook: h, Mode: m, File: "actions.py", Function: name, Parameters: []string{"context", "target_version"}}
}

// kindOfScene is what the scene's task is about.
type kindOfScene struct {
	kind           slipway.ChangeKind
	change         func(*slipway.ApplicationSpec) // of the new revision
	driver, before func(*slipway.DriverSpec)      // of the new driver, and of the one before when it is another
	namespace      string                         // empty: demo-dev
}

var upgradeScene = kindOfScene{kind: slipway.UpgradeChange}

func newScene(t *testing.T, k kindOfScene, actions ...slipway.Action) *scene {
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
	s := &scene{bench: b, tokens: &countedTokens{minted: map[int64]int{}, revoked: map[int64]int{}}}
	s.world = &playedWorld{
		fakeWorld: newFake(), plays: map[string]func(prefect.Launch) prefect.Outcome{}, flows: map[string]string{},
		launches: map[string]prefect.Launch{}, ws: map[string][]kube.Workload{},
	}
	s.populate(k, actions)
	s.r = New(Config{
		Store: b.store, Queue: b.queue, Journal: b.journal, Replica: "test", Cluster: s.world, Charts: fakeCharts{s.world.fakeWorld},
		Runner: playedRunner{s.world}, Tokens: s.tokens, Box: b.box, Bundles: b.bundles, Installation: slipway.Installation{ID: "installation"},
		RunDir: filepath.Join(b.dir, "runs"), APIURLs: func() []string { return []string{"http://127.0.0.1:1"} },
		PrefectPatience: 1500 * time.Millisecond,
	})
	return s
}

// populate makes the application at 1.0.0 and a change to 1.1.0, or its install.
func (s *scene) populate(k kindOfScene, actions []slipway.Action) {
	bundle, err := spec.ReadBundleDir(filepath.Join("..", "..", "..", "examples", "drivers", "guestbook"))
	s.must(err)
	parsed, _, err := spec.ParseDriver(bundle)
	s.must(err)
	parsed.Actions = actions
	ctx := s.t.Context()
	s.must(s.store.InTx(ctx, func(tx *store.Tx) error {
		if _, err := tx.CreateInstallation(ctx, slipway.Installation{ID: "installation", ExternalID: "x"}); err != nil {
			return err
		}
		p, err := tx.CreateProject(ctx, slipway.Project{Name: "demo"})
		if err != nil {
			return err
		}
		e, err := tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: p.ID, Name: "dev", Namespace: cmp.Or(k.namespace, "demo-dev")})
		if err != nil {
			return err
		}
		driver := func(version string, change func(*slipway.DriverSpec)) (slipway.Driver, error) {
			d := parsed
			d.Version = version
			d.Components = map[string]slipway.Component{}
			for name, c := range parsed.Components {
				d.Components[name] = c
			}
			if change != nil {
				change(&d)
			}
			files := map[string][]byte{"VERSION": []byte(version)}
			for _, path := range bundle.Paths() {
				files[path], _ = bundle.File(path)
			}
			own, err := spec.NewBundle(files)
			if err != nil {
				return slipway.Driver{}, err
			}
			packed, digest, err := spec.Pack(own)
			if err != nil {
				return slipway.Driver{}, err
			}
			return tx.CreateDriver(ctx, slipway.Driver{Name: d.Name, Version: version, Digest: digest, Spec: d}, packed)
		}
		newer, err := driver("1.0.0", k.driver)
		if err != nil {
			return err
		}
		older := newer
		if k.before != nil {
			if older, err = driver("0.9.0", k.before); err != nil {
				return err
			}
		}
		if s.app, err = tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: "guestbook", Kind: slipway.DriverApplication}); err != nil {
			return err
		}
		revise := func(number int64, version string, d slipway.Driver, change func(*slipway.ApplicationSpec)) error {
			a := slipway.ApplicationSpec{
				SchemaVersion: 1, Name: "guestbook", Driver: slipway.DriverRef{Name: d.Name, Version: d.Version},
				App: slipway.AppRef{Version: version}, Parameters: map[string]any{"admin_email": "ops@example.com"},
			}
			if change != nil {
				change(&a)
			}
			_, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: s.app.ID, Number: number, DriverDigest: d.Digest, Spec: a})
			return err
		}
		c := slipway.Change{ApplicationID: s.app.ID, Kind: k.kind, Revision: 1}
		kind, title := slipway.InstallTask, "install guestbook 1.0.0"
		if k.kind == slipway.InstallChange {
			if err := revise(1, "1.0.0", newer, k.change); err != nil {
				return err
			}
		} else {
			c.Revision, c.FromRevision, kind, title = 2, 1, slipway.UpgradeTask, "upgrade guestbook to 1.1.0"
			if err := revise(1, "1.0.0", older, nil); err != nil {
				return err
			}
			if err := revise(2, "1.1.0", newer, k.change); err != nil {
				return err
			}
			if err := tx.SetApplicationWanted(ctx, s.app.ID, 0, 1, 0); err != nil {
				return err
			}
			if err := tx.SetApplicationApplied(ctx, s.app.ID, store.Applied{Revision: 1, AppVersion: "1.0.0", DriverName: older.Name, DriverVersion: older.Version}); err != nil {
				return err
			}
		}
		if c, err = tx.CreateChange(ctx, c); err != nil {
			return err
		}
		if err := tx.SetApplicationWanted(ctx, s.app.ID, c.FromRevision, c.Revision, c.Number); err != nil {
			return err
		}
		s.task, err = tx.CreateTask(ctx, slipway.Task{Kind: kind, Title: title, ApplicationID: s.app.ID, ChangeID: c.ID})
		return err
	}))
}

// play says what an action does.
func (s *scene) play(action string, f func(l prefect.Launch) prefect.Outcome) {
	s.world.plays[action] = f
}

func completed() prefect.Outcome { return prefect.Outcome{State: prefect.Completed} }

func failedWith(message string) prefect.Outcome {
	return prefect.Outcome{State: prefect.Failed, Message: message}
}

// carry carries a task as far as it goes.
func (s *scene) carry(id int64) {
	s.t.Helper()
	if _, err := s.r.Task(s.t.Context(), id); err != nil {
		s.t.Fatal(err)
	}
}

// child makes the task that a primitive would start in the step of a running action, and
// carries it out. unlinked is one that an action makes through the API itself.
func (s *scene) child(l prefect.Launch, kind slipway.TaskKind, args any, unlinked ...bool) slipway.Task {
	s.t.Helper()
	ctx := s.t.Context()
	raw, err := json.Marshal(args)
	s.must(err)
	var out slipway.Task
	s.must(s.store.InTx(ctx, func(tx *store.Tx) error {
		t := slipway.Task{Kind: kind, Title: string(kind), ApplicationID: s.app.ID, RootID: s.task.ID, Args: raw}
		if len(unlinked) == 0 {
			t.ChangeID, t.ParentStepID = s.task.ChangeID, stepOf(l)
		}
		out, err = tx.CreateTask(ctx, t)
		return err
	}))
	s.carry(out.ID)
	return s.read(out.ID)
}

func stepOf(l prefect.Launch) int64 {
	n, _ := strconv.ParseInt(l.Env["SLIPWAY_STEP"], 10, 64) // a test that forgets it fails on step 0
	return n
}

// changes the version, as upgrade_deployment_version does.
func (s *scene) changeVersion(l prefect.Launch) prefect.Outcome {
	if t := s.child(l, slipway.VersionTask, map[string]string{"target_version": "1.1.0"}); t.State != slipway.Succeeded {
		return failedWith("ActionError: " + t.Error)
	}
	return completed()
}

func (s *scene) read(id int64) (t slipway.Task) {
	s.t.Helper()
	s.must(s.store.Read(s.t.Context(), func(tx *store.Tx) (err error) {
		t, err = tx.Task(s.t.Context(), id)
		return err
	}))
	return t
}

func (s *scene) application() (a slipway.Application) {
	s.t.Helper()
	s.must(s.store.Read(s.t.Context(), func(tx *store.Tx) (err error) {
		a, err = tx.Application(s.t.Context(), s.app.ID)
		return err
	}))
	return a
}

// steps are the steps of the scene's task: "hook.upgrade.pre failed: why".
func (s *scene) steps() (out []slipway.Step) {
	s.t.Helper()
	s.must(s.store.Read(s.t.Context(), func(tx *store.Tx) (err error) {
		out, err = tx.Steps(s.t.Context(), s.task.ID)
		return err
	}))
	return out
}

func (s *scene) step(key string) slipway.Step {
	s.t.Helper()
	for _, st := range s.steps() {
		if st.Key == key {
			return st
		}
	}
	s.t.Fatalf("there is no step %s: %+v", key, s.steps())
	return slipway.Step{}
}

func (s *scene) result() (out Result) {
	s.t.Helper()
	s.must(json.Unmarshal(s.read(s.task.ID).Result, &out))
	return out
}

// call makes a call of an action as the API records it, and carries it out.
func (s *scene) call(l prefect.Launch, key string, p slipway.Primitive, args string) (out slipway.ActionCall) {
	s.t.Helper()
	ctx := s.t.Context()
	s.must(s.store.InTx(ctx, func(tx *store.Tx) (err error) {
		out, _, err = tx.CreateActionCall(ctx, slipway.ActionCall{TaskID: s.task.ID, StepID: stepOf(l), FlowRunID: "fr", Key: key, Primitive: p, Args: []byte(args)})
		return err
	}))
	if _, err := s.r.Call(ctx, out.ID); err != nil {
		s.t.Fatal(err)
	}
	s.must(s.store.Read(ctx, func(tx *store.Tx) (err error) {
		out, err = tx.ActionCall(ctx, out.ID)
		return err
	}))
	return out
}
