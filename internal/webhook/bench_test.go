package webhook_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/postgres"
	"slipway.dev/slipway/internal/store/postgres/postgrestest"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/task"
	"slipway.dev/slipway/internal/webhook"
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// BenchmarkDeliveries measures one signed delivery of about 8 KB, of the form that GitHub
// sends, from the handler's first line to its answer, of 256 at a time: what the server
// itself can take, without HTTP and a sender. World: both databases, the real change and
// queue; PostgreSQL as the tests start it, without fsync, unless SLIPWAY_TEST_POSTGRES names
// another.
func BenchmarkDeliveries(b *testing.B) {
	for name, open := range map[string]func(b *testing.B) (*store.Store, func(task.Options) (*task.Queue, error)){
		"sqlite": func(b *testing.B) (*store.Store, func(task.Options) (*task.Queue, error)) {
			db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "slipway.db"), sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = db.Close() })
			return db.Store, func(o task.Options) (*task.Queue, error) { return task.NewQueue(db.Store, db.River(), o) }
		},
		"postgres": func(b *testing.B) (*store.Store, func(task.Options) (*task.Queue, error)) {
			db, err := postgres.Open(b.Context(), postgrestest.DSN(b), postgres.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = db.Close() })
			return db.Store, func(o task.Options) (*task.Queue, error) { return task.NewQueue(db.Store, db.River(), o) }
		},
	} {
		b.Run(name, func(b *testing.B) {
			s, queue := open(b)
			h, hook, key := office(b, s, queue)
			ctx, stop := context.WithCancel(context.WithoutCancel(b.Context()))
			var running sync.WaitGroup
			running.Go(func() { h.Run(ctx) })
			defer running.Wait()
			defer stop()
			var n atomic.Int64
			one := func() {
				job := 1_000_000 + n.Add(1)
				if w := deliver(h, hook, key, job); w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "taken") {
					b.Errorf("delivery of job %d: %d %s", job, w.Code, w.Body)
				}
			}
			one() // what is read once is not measured
			b.SetParallelism(128)
			b.ReportAllocs()
			b.ResetTimer()
			before := cpu(b)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					one()
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// office is a handler over a real store, with one connection and one pool that it wakes.
func office(b *testing.B, s *store.Store, open func(task.Options) (*task.Queue, error)) (h *webhook.Handler, hook string, key []byte) {
	b.Helper()
	must := func(err error) {
		if err != nil {
			b.Helper()
			b.Fatal(err)
		}
	}
	box, err := secret.LoadOrCreate(filepath.Join(b.TempDir(), "secret.key"), true)
	must(err)
	queue, err := open(task.Options{Replica: slipway.Replica{ID: "r-1"}})
	must(err)
	c := &change.Service{Store: s, Box: box, Wake: func(ctx context.Context, tx *store.Tx, noun string, id int64) error {
		return queue.Enqueue(ctx, tx, task.WakeUp{Noun: noun, ID: id})
	}}
	admin := slipway.Caller{UserID: 1, UserName: "anna", Role: slipway.Administrator}
	must(s.InTx(b.Context(), func(tx *store.Tx) error {
		if _, err := tx.CreateInstallation(b.Context(), slipway.Installation{ID: "i-1", ExternalID: "x"}); err != nil {
			return err
		}
		u, err := tx.CreateUser(b.Context(), slipway.User{Name: admin.UserName, Role: admin.Role, Active: true}, "")
		admin.UserID = u.ID
		return err
	}))
	_, err = c.CreateProject(b.Context(), admin, change.CreateProjectInput{Name: "shop"})
	must(err)
	e, err := c.CreateEnvironment(b.Context(), admin, change.CreateEnvironmentInput{Project: "shop", Name: "production"})
	must(err)
	must(s.InTx(b.Context(), func(tx *store.Tx) error {
		a, err := tx.CreateApplication(b.Context(), slipway.Application{EnvironmentID: e.ID, Name: "ci", Kind: slipway.RunnerApplication})
		if err != nil {
			return err
		}
		_, err = tx.PutRunnerPool(b.Context(), slipway.RunnerPool{ApplicationID: a.ID, Service: "runner", Spec: slipway.PoolSpec{
			Scope: slipway.ForgeScope{Owner: "octo-org"}, Credential: "token", Labels: []string{"slipway"}, Architecture: slipway.AMD64, Replicas: 2, Idle: time.Minute,
		}}, false)
		return err
	}))
	made, err := c.CreateConnection(b.Context(), admin, change.CreateConnectionInput{Name: "octo-org", Project: "shop", Environment: "production"})
	must(err)
	return webhook.New(webhook.Config{Change: c}), made.Connection.Hook, []byte(made.Secret)
}

func deliver(h http.Handler, hook string, key []byte, job int64) *httptest.ResponseRecorder {
	body := payload(job)
	r := httptest.NewRequest(http.MethodPost, webhook.Prefix+hook, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "workflow_job")
	r.Header.Set("X-GitHub-Delivery", guid(job))
	r.Header.Set(webhook.SignatureHeader, webhook.Sign(body, key))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// guid spreads as those of GitHub do, for that is what an index pays for.
func guid(job int64) string {
	x := fmt.Sprintf("%016x%016x", uint64(job)*0x9E3779B97F4A7C15, job)
	return x[:8] + "-" + x[8:12] + "-" + x[12:16] + "-" + x[16:20] + "-" + x[20:]
}

// payload says that a job is queued, in the words of a published example.
func payload(job int64) []byte {
	p := parts()
	return fmt.Appendf(nil, "%s%d%s", p[0], job, p[1])
}

var parts = sync.OnceValue(func() [2]string {
	raw, err := os.ReadFile("testdata/queued.json")
	if err != nil {
		panic(err)
	}
	body := strings.Replace(string(raw), "2026-01-01T00:00:00Z", time.Now().UTC().Format(time.RFC3339), 1)
	before, after, _ := strings.Cut(body, "424242424242")
	return [2]string{before, after}
})

// cpu is what this process has used so far. A machine that has other work to do changes it
// little.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
