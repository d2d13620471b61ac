package pool

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river/riverdriver"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/postgres"
	"slipway.dev/slipway/internal/store/postgres/postgrestest"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/task"
)

// The scene is a fake forge and a fake cluster over a real database, on a clock of its own:
// time passes when a test says so. The process can be killed at each moment: in each call
// of the world, before or after its effect, and in each transaction.

var errKilled = errors.New("the process was killed")

type scene struct {
	*testing.T
	store  *store.Store
	queue  *task.Queue
	box    *secret.Box
	github *fake.GitHub
	kube   *fakeCluster
	death  *death
	r      *Reconciler
	pool   slipway.RunnerPool
	env    slipway.Environment
	app    slipway.Application
	every  time.Duration // between two looks of the world at itself
	hears  bool          // deliveries arrive
	change []func(*Config)
	most   int // pods that were there at once
	deaths int // of the process

	mu  sync.Mutex
	now time.Time
}

// death kills the process at one of its moments.
type death struct {
	mu      sync.Mutex
	moments int
	at      int // 0: never
	kill    context.CancelCauseFunc
	names   []string
	armed   bool
}

// moment is one: it reports whether the process dies in it.
func (d *death) moment(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.armed {
		return false
	}
	d.moments++
	d.names = append(d.names, name)
	if d.moments != d.at {
		return false
	}
	d.kill(errKilled)
	return true
}

var shop = forge.Repository{Owner: "acme", Name: "shop"}

const installation = "0c5ad0de-1111-2222-3333-444455556666"

func newScene(t *testing.T, change ...func(*slipway.PoolSpec)) *scene {
	t.Helper()
	s := unbuilt(t)
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"), sqlite.Options{Clock: s.clock})
	s.must(err)
	s.use(db.Store, db.River(), db.Close)
	s.build(change...)
	return s
}

// newPostgresScene is the same over a real PostgreSQL.
func newPostgresScene(t *testing.T, change ...func(*slipway.PoolSpec)) *scene {
	t.Helper()
	s := unbuilt(t)
	dsn := postgrestest.Prepared(t, func(dsn string) error {
		db, err := postgres.Open(context.Background(), dsn, postgres.Options{})
		if err != nil {
			return err
		}
		return db.Close()
	})
	db, err := postgres.Open(t.Context(), dsn, postgres.Options{Clock: s.clock})
	s.must(err)
	s.use(db.Store, db.River(), db.Close)
	s.build(change...)
	return s
}

func unbuilt(t *testing.T) *scene {
	return &scene{T: t, now: noon, every: 2 * time.Second, hears: true, death: &death{}}
}

func (s *scene) use(st *store.Store, river riverdriver.Driver[*sql.Tx], closing func() error) {
	s.Cleanup(func() {
		if err := closing(); err != nil {
			s.Error(err)
		}
	})
	var err error
	s.store = st
	s.queue, err = task.NewQueue(st, river, task.Options{Replica: slipway.Replica{ID: "test"}, Log: slog.New(slog.DiscardHandler)})
	s.must(err)
}

func TestMain(m *testing.M) { postgrestest.Main(m) }

func (s *scene) build(change ...func(*slipway.PoolSpec)) {
	var err error
	s.box, err = secret.LoadOrCreate(filepath.Join(s.TempDir(), "key"), true)
	s.must(err)
	s.github = fake.New(s.time)
	s.github.AddRepository(shop)
	s.kube = &fakeCluster{s: s, pods: map[string]*fakePod{}, launched: map[string]int{}}
	spec := slipway.PoolSpec{
		Scope: slipway.ForgeScope{Owner: "acme"}, Credential: "github-token", Labels: []string{"slipway"}, Architecture: slipway.AMD64,
		Replicas: 2, Idle: time.Minute, Timeout: time.Hour, WorkspaceGiB: 2,
	}
	for _, f := range change {
		f(&spec)
	}
	s.write(func(ctx context.Context, tx *store.Tx) (err error) {
		if _, err := tx.CreateInstallation(ctx, slipway.Installation{ID: installation, ExternalID: "abcdefgh"}); err != nil {
			return err
		}
		p, err := tx.CreateProject(ctx, slipway.Project{Name: "shop"})
		if err != nil {
			return err
		}
		if s.env, err = tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: p.ID, Name: "production", Namespace: "shop-production"}); err != nil {
			return err
		}
		if s.app, err = tx.CreateApplication(ctx, slipway.Application{EnvironmentID: s.env.ID, Name: "ci", Kind: slipway.RunnerApplication}); err != nil {
			return err
		}
		s.pool, err = tx.PutRunnerPool(ctx, slipway.RunnerPool{ApplicationID: s.app.ID, Service: "runner", Spec: spec}, false)
		return err
	})
	s.setSecret("github-token", "ghp_0123456789012345678901234567890123456789")
	s.restart()
}

func (s *scene) setSecret(name, value string) {
	sealed, err := s.box.Seal(secret.Place{Installation: installation, Environment: s.env.ID, Name: name}, []byte(value))
	s.must(err)
	s.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.PutSecret(ctx, s.env.ID, name, sealed, "ada")
		return err
	})
}

// restart begins a new process: what only memory held is gone.
func (s *scene) restart() {
	c := Config{
		Store: s.store, Queue: s.queue, Cluster: s.kube, Box: s.box, Parallel: 1, Image: "runner@sha256:1",
		Installation: slipway.Installation{ID: installation, ExternalID: "abcdefgh"},
		Forge:        func(slipway.ForgeScope, string) (forge.Runners, error) { return mortal{s.github, s.death}, nil },
	}
	for _, f := range s.change {
		f(&c)
	}
	s.r = New(c)
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *scene) write(f func(ctx context.Context, tx *store.Tx) error) {
	s.Helper()
	s.must(s.store.InTx(s.Context(), func(tx *store.Tx) error { return f(s.Context(), tx) }))
}

func (s *scene) time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

// clock is the store's: it is read at the beginning of each transaction.
func (s *scene) clock() time.Time {
	s.death.moment("transaction")
	return s.time()
}

func (s *scene) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// look is one run of the handler; it reports whether the process died in it.
func (s *scene) look() (again time.Duration, killed bool) {
	s.Helper()
	ctx, kill := context.WithCancelCause(s.Context())
	defer kill(nil)
	s.death.mu.Lock()
	s.death.kill, s.death.armed = kill, true
	s.death.mu.Unlock()
	again, err := s.r.Pool(ctx, s.pool.ID)
	s.death.mu.Lock()
	s.death.armed = false
	s.death.mu.Unlock()
	if errors.Is(context.Cause(ctx), errKilled) {
		s.deaths++
		s.restart()
		return 0, true
	}
	if err != nil && !errors.Is(err, store.ErrStale) {
		s.Fatal(err)
	}
	return again, false
}

// live lets the world and the process live for a time.
func (s *scene) live(d time.Duration) {
	s.Helper()
	due := s.time()
	for end := due.Add(d); s.time().Before(end); s.pass(s.every) {
		s.kube.live()
		s.github.Assign()
		s.hear()
		s.check()
		if !s.time().Before(due) {
			again, _ := s.look()
			due = s.time().Add(again)
		}
		s.check()
	}
}

// hear takes what deliveries would tell: a pool that serves a job is looked at soon.
func (s *scene) hear() {
	if s.hears && s.heard() {
		s.look()
	}
}

// heard writes down what deliveries would tell, and reports whether it was new.
func (s *scene) heard() (moved bool) {
	s.write(func(ctx context.Context, tx *store.Tx) error {
		for _, j := range s.jobs() {
			j.Host = slipway.GitHubHost
			m, err := tx.PutJob(ctx, j, 0)
			if err != nil {
				return err
			}
			moved = moved || m
		}
		if moved {
			return tx.PoolHeard(ctx, s.pool.ID, tx.Now)
		}
		return nil
	})
	return moved
}

func (s *scene) jobs() []slipway.Job {
	runs, err := s.github.Runs(context.Background(), shop, forge.RunQuery{})
	if err != nil { // the forge is away, and tells nothing
		return nil
	}
	var out []slipway.Job
	for _, run := range runs {
		jobs, err := s.github.Jobs(context.Background(), shop, run.ID, 0)
		if err != nil {
			return nil
		}
		for _, j := range jobs {
			out = append(out, j.Job)
		}
	}
	return out
}

// check holds what must hold at each moment.
func (s *scene) check() {
	s.Helper()
	alive := s.kube.count()
	s.most = max(s.most, alive)
	if alive > s.pool.Spec.Replicas {
		s.Fatalf("%d pods at once, and the limit is %d", alive, s.pool.Spec.Replicas)
	}
	for name, n := range s.kube.launched {
		if n > 1 {
			s.Fatalf("the name %s was used %d times", name, n)
		}
	}
}

// atRest holds what must hold when nothing is wanted.
func (s *scene) atRest() {
	s.Helper()
	if n := s.kube.count(); n != 0 {
		s.Errorf("%d pods are left: %v", n, s.kube.names())
	}
	if left := s.github.Registrations(); len(left) != 0 {
		s.Errorf("registrations are left: %+v", left)
	}
	for _, slot := range s.slots() {
		s.Errorf("slot %d is %s: %s %s", slot.ID, slot.State, slot.Reason, slot.Failure)
	}
}

func (s *scene) slots() (out []slipway.Slot) {
	s.Helper()
	s.must(s.store.Read(s.Context(), func(tx *store.Tx) (err error) {
		out, err = tx.OpenSlots(s.Context(), s.pool.ID)
		return err
	}))
	return out
}

func (s *scene) allSlots() []slipway.Slot {
	s.Helper()
	var out store.List[slipway.Slot]
	s.must(s.store.Read(s.Context(), func(tx *store.Tx) (err error) {
		out, err = tx.Slots(s.Context(), store.SlotFilter{PoolID: s.pool.ID}, store.Page{Limit: 200})
		return err
	}))
	return out.Items
}

func (s *scene) status() (out slipway.PoolStatus) {
	s.Helper()
	s.must(s.store.Read(s.Context(), func(tx *store.Tx) (err error) {
		out, err = tx.PoolStatus(s.Context(), s.pool.ID)
		return err
	}))
	return out
}

func (s *scene) states() (out []slipway.SlotState) {
	for _, slot := range s.slots() {
		out = append(out, slot.State)
	}
	return out
}

// done counts the forge's jobs that have ended well.
func (s *scene) done() (n int) {
	for _, j := range s.jobs() {
		if j.State == slipway.JobCompleted && j.Conclusion == "success" {
			n++
		}
	}
	return n
}

// mortal is a forge in whose calls the process can die.
type mortal struct {
	*fake.GitHub
	d *death
}

func dying[T any](ctx context.Context, d *death, name string, do func() (T, error)) (out T, err error) {
	if d.moment("before "+name) || ctx.Err() != nil {
		return out, forge.Fail(forge.Away, "no answer", "", context.Cause(ctx))
	}
	out, err = do()
	if d.moment("after " + name) {
		var none T
		return none, forge.Fail(forge.Away, "no answer", "", context.Cause(ctx))
	}
	return out, err
}

func (m mortal) Register(ctx context.Context, s slipway.ForgeScope, r forge.Registration) (forge.Configured, error) {
	return dying(ctx, m.d, "Register", func() (forge.Configured, error) { return m.GitHub.Register(ctx, s, r) })
}

func (m mortal) Runners(ctx context.Context, s slipway.ForgeScope) ([]forge.Runner, error) {
	return dying(ctx, m.d, "Runners", func() ([]forge.Runner, error) { return m.GitHub.Runners(ctx, s) })
}

func (m mortal) RunnerNamed(ctx context.Context, s slipway.ForgeScope, name string) (forge.Runner, error) {
	return dying(ctx, m.d, "RunnerNamed", func() (forge.Runner, error) { return m.GitHub.RunnerNamed(ctx, s, name) })
}

func (m mortal) Unregister(ctx context.Context, s slipway.ForgeScope, id int64) error {
	_, err := dying(ctx, m.d, "Unregister", func() (int, error) { return 0, m.GitHub.Unregister(ctx, s, id) })
	return err
}

// fakeCluster runs pods with a stand-in for the runner's program.
type fakeCluster struct {
	s        *scene
	mu       sync.Mutex
	pods     map[string]*fakePod
	launched map[string]int
	work     time.Duration // that a job takes; 0: 10 s
	stuck    bool          // pods do not begin
	broken   string        // how runners end instead of beginning
	outdated bool
	launch   []error // of the next calls of Launch, in turn; nil: none
	lost     bool    // the next Launch is carried out, and the reply is lost
	away     bool
	hide     bool // pods are not listed
	ends     int
}

type fakePod struct {
	Pod
	config string
	runner int64
	begun  time.Time
}

func (c *fakeCluster) Launch(ctx context.Context, l Launch) (string, error) {
	return dying(ctx, c.s.death, "Launch", func() (string, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.away {
			return "", slipway.Errorf(slipway.Unavailable, "the cluster does not answer")
		}
		if len(c.launch) > 0 {
			err := c.launch[0]
			c.launch = c.launch[1:]
			if err != nil {
				return "", err
			}
		}
		if have := c.pods[l.Slot.Runner]; have != nil {
			return have.UID, nil
		}
		c.launched[l.Slot.Runner]++
		c.pods[l.Slot.Runner] = &fakePod{config: l.Config, Pod: Pod{
			Name: l.Slot.Runner, UID: "uid-" + l.Slot.Runner, Pool: l.Pool.ID, Slot: l.Slot.ID, CreatedAt: c.s.time(), Seen: "it waits for a node",
		}}
		if c.lost {
			c.lost = false
			return "", slipway.Errorf(slipway.Unavailable, "the reply was lost")
		}
		return "uid-" + l.Slot.Runner, nil
	})
}

func (c *fakeCluster) Pods(ctx context.Context, _ string) ([]Pod, error) {
	return dying(ctx, c.s.death, "Pods", func() (out []Pod, err error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.away {
			return nil, slipway.Errorf(slipway.Unavailable, "the cluster does not answer")
		}
		if c.hide {
			return nil, nil
		}
		for _, name := range slices.Sorted(maps.Keys(c.pods)) {
			out = append(out, c.pods[name].Pod)
		}
		return out, nil
	})
}

func (c *fakeCluster) End(ctx context.Context, _, name string) error {
	_, err := dying(ctx, c.s.death, "End", func() (int, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.away {
			return 0, slipway.Errorf(slipway.Unavailable, "the cluster does not answer")
		}
		c.ends++
		p := c.pods[name]
		if p == nil {
			return 0, nil
		}
		if busy := c.busy(p); busy != 0 && !c.s.deleting() {
			c.s.Errorf("the pod %s was ended while its runner had job %d", name, busy)
		}
		p.Leaving = true
		return 0, nil
	})
	return err
}

func (s *scene) deleting() bool {
	var p slipway.RunnerPool
	s.must(s.store.Read(context.Background(), func(tx *store.Tx) (err error) {
		p, err = tx.RunnerPool(context.Background(), s.pool.ID)
		return err
	}))
	return p.Deleting
}

// busy is the job that a pod's runner runs.
func (c *fakeCluster) busy(p *fakePod) int64 {
	for _, j := range c.s.jobs() {
		if j.Runner == p.Name && j.State == slipway.JobRunning && !p.Over {
			return j.ID
		}
	}
	return 0
}

// live is what pods do by themselves in a while.
func (c *fakeCluster) live() {
	c.mu.Lock()
	defer c.mu.Unlock()
	registered := map[string]bool{}
	for _, r := range c.s.github.Registrations() {
		registered[r.Name] = true
	}
	for name, p := range c.pods {
		switch {
		case p.Leaving:
			delete(c.pods, name)
			c.s.github.Offline(p.runner)
		case p.Over || c.stuck && !p.Running:
		case !p.Running && c.broken != "":
			p.Over, p.Outdated, p.Result = true, c.outdated, c.broken
		case !p.Running:
			id, err := c.s.github.Online(p.config)
			if err != nil {
				p.Over, p.Result = true, "it could not begin: "+err.Error()
				continue
			}
			p.runner, p.Running, p.begun, p.Seen, p.Node, p.Image = id, true, c.s.time(), "it runs on node-1", "node-1", "runner@sha256:1"
		default:
			work := c.work
			if work == 0 {
				work = 10 * time.Second
			}
			if job := c.busy(p); job != 0 && c.s.time().Sub(p.begun) >= work {
				c.s.github.Finish(job, "success")
			}
			if c.busy(p) == 0 && !registered[name] {
				p.Over, p.Result = true, "exit code 0"
			}
		}
	}
}

func (c *fakeCluster) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pods)
}

func (c *fakeCluster) names() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.pods))
}

// kill ends a pod from outside, with its job.
func (c *fakeCluster) kill(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[name]
	delete(c.pods, name)
	c.s.github.Offline(p.runner)
}

func labels(n int) (out [][]string) {
	for range n {
		out = append(out, []string{"self-hosted", "Slipway"})
	}
	return out
}

func (s *scene) queueJobs(n int) []int64 { return s.github.Queue(shop, labels(n)...) }

func (s *scene) String() string { return fmt.Sprint(s.states()) }
