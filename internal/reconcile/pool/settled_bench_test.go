package pool

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
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

// BenchmarkSettled measures one look at each of 100 pools of 100 runners that wait for
// jobs. It reports the share of one core that this takes when each pool is looked at as
// often as it asks for, the calls of the forge and of the cluster for a look at all pools,
// and the memory of 1,000 slots. World: both databases; forge and cluster are fakes in this
// process, whose own time counts with it; what Kubernetes's answers cost to read does not.
func BenchmarkSettled(b *testing.B) {
	type database interface {
		River() riverdriver.Driver[*sql.Tx]
		Close() error
	}
	for name, open := range map[string]func(clock func() time.Time) (*store.Store, database, error){
		"sqlite": func(clock func() time.Time) (*store.Store, database, error) {
			db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "slipway.db"), sqlite.Options{Clock: clock})
			if err != nil {
				return nil, nil, err
			}
			return db.Store, db, nil
		},
		"postgres": func(clock func() time.Time) (*store.Store, database, error) {
			db, err := postgres.Open(b.Context(), postgrestest.Prepared(b, func(string) error { return nil }), postgres.Options{Clock: clock})
			if err != nil {
				return nil, nil, err
			}
			return db.Store, db, nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			benchSettled(b, func(clock func() time.Time) (*store.Store, *task.Queue) {
				st, db, err := open(clock)
				if err != nil {
					b.Fatal(err)
				}
				b.Cleanup(func() { _ = db.Close() })
				q, err := task.NewQueue(st, db.River(), task.Options{Replica: slipway.Replica{ID: "bench"}, Log: slog.New(slog.DiscardHandler)})
				if err != nil {
					b.Fatal(err)
				}
				return st, q
			})
		})
	}
}

func benchSettled(b *testing.B, open func(clock func() time.Time) (*store.Store, *task.Queue)) {
	const pools, each = 100, 100
	c := &hall{TB: b, now: noon, pods: map[string][]Pod{}}
	c.github = fake.New(c.time)
	st, queue := open(c.time)
	box, err := secret.LoadOrCreate(filepath.Join(b.TempDir(), "key"), true)
	c.must(err)
	before := heap()
	var ids []int64
	c.must(st.InTx(b.Context(), func(tx *store.Tx) error {
		ids, err = c.furnish(b.Context(), tx, box, pools, each)
		return err
	}))
	r := New(Config{
		Store: st, Queue: queue, Cluster: c, Box: box, Installation: slipway.Installation{ID: installation, ExternalID: "abcdefgh"},
		Forge: func(slipway.ForgeScope, string) (forge.Runners, error) { return c.github, nil }, Log: slog.New(slog.DiscardHandler),
	})
	look := func() (least time.Duration) {
		for _, id := range ids {
			again, err := r.Pool(b.Context(), id)
			c.must(err)
			if least == 0 || again < least {
				least = again
			}
		}
		return least
	}
	for range 10 {
		look()
		c.pass(40 * time.Second)
	}
	waiting, err := c.idle(b.Context(), st)
	c.must(err)
	if waiting != pools*each {
		b.Fatalf("%d of %d runners wait for jobs", waiting, pools*each)
	}
	kept := heap() - before
	lists, calls, began := c.github.Calls("Runners"), c.calls, processorTime()
	var every time.Duration
	b.ResetTimer()
	for b.Loop() {
		every = look()
		c.pass(every)
	}
	b.StopTimer()
	took := (processorTime() - began) / time.Duration(b.N)
	b.ReportMetric(100*took.Seconds()/every.Seconds(), "%core")
	b.ReportMetric(every.Seconds(), "s/look")
	b.ReportMetric(float64(c.github.Calls("Runners")-lists)/float64(b.N), "forge-lists/op")
	b.ReportMetric(float64(c.calls-calls)/float64(b.N), "cluster-lists/op")
	b.ReportMetric(float64(kept)/(pools*each)*1000/(1<<20), "MiB/1000-slots")
	b.ReportMetric(0, "ns/op")
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far below the limit
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no other fault than a wrong argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// hall is a cluster whose pods begin at once and never end.
type hall struct {
	testing.TB
	github *fake.GitHub

	mu    sync.Mutex
	now   time.Time
	pods  map[string][]Pod // by namespace
	calls int
}

func (c *hall) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *hall) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *hall) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// furnish writes the pools: ten applications of ten, for ten organizations.
func (c *hall) furnish(ctx context.Context, tx *store.Tx, box *secret.Box, pools, each int) (ids []int64, err error) {
	if _, err := tx.CreateInstallation(ctx, slipway.Installation{ID: installation, ExternalID: "abcdefgh"}); err != nil {
		return nil, err
	}
	p, err := tx.CreateProject(ctx, slipway.Project{Name: "shop"})
	if err != nil {
		return nil, err
	}
	env, err := tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: p.ID, Name: "production", Namespace: "shop-production"})
	if err != nil {
		return nil, err
	}
	sealed, err := box.Seal(secret.Place{Installation: installation, Environment: env.ID, Name: "github-token"}, []byte("ghp_0123456789012345678901234567890123456789"))
	if err != nil {
		return nil, err
	}
	if _, err := tx.PutSecret(ctx, env.ID, "github-token", sealed, "ada"); err != nil {
		return nil, err
	}
	var app slipway.Application
	for i := range pools {
		owner := fmt.Sprintf("acme-%d", i/10)
		if i%10 == 0 {
			c.github.AddRepository(forge.Repository{Owner: owner, Name: "shop"})
			if app, err = tx.CreateApplication(ctx, slipway.Application{EnvironmentID: env.ID, Name: owner, Kind: slipway.RunnerApplication, Namespace: owner}); err != nil {
				return nil, err
			}
		}
		p, err := tx.PutRunnerPool(ctx, slipway.RunnerPool{ApplicationID: app.ID, Service: fmt.Sprintf("runner-%d", i), Spec: slipway.PoolSpec{
			Scope: slipway.ForgeScope{Owner: owner}, Credential: "github-token", Labels: []string{"slipway"}, Architecture: slipway.AMD64,
			Replicas: each, Timeout: 5 * 24 * time.Hour, WorkspaceGiB: 2,
		}}, false)
		if err != nil {
			return nil, err
		}
		ids = append(ids, p.ID)
	}
	return ids, nil
}

func (c *hall) idle(ctx context.Context, st *store.Store) (n int, err error) {
	err = st.Read(ctx, func(tx *store.Tx) error {
		counts, err := tx.OpenSlotCounts(ctx)
		for _, by := range counts {
			n += by[slipway.SlotIdle]
		}
		return err
	})
	return n, err
}

func (c *hall) Launch(_ context.Context, l Launch) (string, error) {
	if _, err := c.github.Online(l.Config); err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[l.Pool.Namespace] = append(c.pods[l.Pool.Namespace], Pod{
		Name: l.Slot.Runner, UID: "uid-" + l.Slot.Runner, Pool: l.Pool.ID, Slot: l.Slot.ID, CreatedAt: c.now, Running: true,
		Seen: "it runs on node-1", Node: "node-1", Image: "runner@sha256:1",
	})
	return "uid-" + l.Slot.Runner, nil
}

func (c *hall) Pods(_ context.Context, namespace string) ([]Pod, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	return append([]Pod(nil), c.pods[namespace]...), nil
}

func (c *hall) End(_ context.Context, _, name string) error {
	return fmt.Errorf("the pod %s was ended", name)
}
