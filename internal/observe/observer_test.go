package observe

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/task"
)

// The tests of this file stand in a fake world over a real SQLite database.

type fakeWorld struct {
	differs []slipway.Difference
	fails   error
	during  func()
	looks   int
	written map[string][]byte // what the Secret was compared with
	record  string            // the condition Drift
	records int               // comparisons of the record
	masked  string            // a secret's value as it would be shown
	nodes   []slipway.Node
	sandbox bool
}

func (f *fakeWorld) Compare(ctx context.Context, _ slipway.Application, _ []kube.Manifest, o kube.CompareOptions) (kube.Comparison, error) {
	f.looks++
	if f.during != nil {
		f.during()
	}
	f.masked, _ = o.Mask("TEXT", "db-password-of-the-test")
	return kube.Comparison{Differences: f.differs}, errors.Join(f.fails, context.Cause(ctx))
}

func (f *fakeWorld) CompareSecret(_ context.Context, _, _ string, data map[string][]byte) ([]slipway.Difference, error) {
	f.written = data
	return nil, nil
}

func (f *fakeWorld) CompareRecord(_ context.Context, _ slipway.Application, want kube.Record) ([]slipway.Difference, error) {
	f.records++
	if want.Version != "1.0.0" || want.Revision != 1 || want.Driver.Version != "1.0.0" {
		return nil, errors.New("the record is compared with something else than what is applied")
	}
	return nil, nil
}

func (f *fakeWorld) SetRecordDrift(_ context.Context, _ slipway.Application, s slipway.DriftState, message string) error {
	f.record = string(s) + ": " + message
	return nil
}

func (f *fakeWorld) Nodes(ctx context.Context) ([]slipway.Node, bool, error) {
	if f.fails != nil {
		return nil, false, errors.Join(f.fails, context.Cause(ctx))
	}
	return f.nodes, f.sandbox, nil
}

func (f *fakeWorld) Applied(context.Context, slipway.Application, string) ([]kube.Manifest, error) {
	return []kube.Manifest{kube.NewManifest(map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": map[string]any{"slipway.dev/secrets": "db@1 mail@1"}}}},
	}, "shop-dev")}, nil
}

type bench struct {
	*testing.T
	o     *Observer
	store *store.Store
	world *fakeWorld
	app   slipway.Application
	now   time.Time
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, world: &fakeWorld{}, now: t0}
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(dir, "slipway.db"), sqlite.Options{})
	b.must(err)
	t.Cleanup(func() { b.must(db.Close()) })
	b.store = db.Store
	queue, err := task.NewQueue(db.Store, db.River(), task.Options{Replica: slipway.Replica{ID: "test"}, Log: slog.New(slog.DiscardHandler)})
	b.must(err)
	box, err := secret.LoadOrCreate(filepath.Join(dir, "key"), true)
	b.must(err)
	b.write(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.CreateProject(ctx, slipway.Project{Name: "shop"})
		if err != nil {
			return err
		}
		e, err := tx.CreateEnvironment(ctx, slipway.Environment{ProjectID: p.ID, Name: "dev", Namespace: "shop-dev"})
		if err != nil {
			return err
		}
		for _, name := range []string{"db", "mail", "mail"} { // mail has its second value by now
			sealed, err := box.Seal(secret.Place{Installation: "i", Environment: e.ID, Name: name}, []byte(name+"-password-of-the-test"))
			if err != nil {
				return err
			}
			if _, err := tx.PutSecret(ctx, e.ID, name, sealed, "ann"); err != nil {
				return err
			}
		}
		if b.app, err = tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: "guestbook", Kind: slipway.DriverApplication}); err != nil {
			return err
		}
		if _, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: b.app.ID, Number: 1, DriverDigest: "sha256:aa", Spec: slipway.ApplicationSpec{
			Components: map[string]slipway.ComponentConfig{"web": {Secrets: map[string]string{"DB": "db", "MAIL": "mail", "GONE": "gone"}}},
		}}); err != nil {
			return err
		}
		if err := tx.SetApplicationWanted(ctx, b.app.ID, 0, 1, 1); err != nil {
			return err
		}
		return tx.SetApplicationApplied(ctx, b.app.ID, store.Applied{Revision: 1, AppVersion: "1.0.0", DriverName: "guestbook", DriverVersion: "1.0.0"})
	})
	b.o = New(Config{
		Store: db.Store, Queue: queue, Cluster: b.world, Charts: b.world, Box: box, Installation: slipway.Installation{ID: "i"},
		Every: time.Hour, Within: time.Minute, Now: func() time.Time { return b.now }, Scatter: func() float64 { return 0.5 },
	})
	return b
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) write(f func(ctx context.Context, tx *store.Tx) error) {
	b.Helper()
	ctx := context.Background()
	b.must(b.store.InTx(ctx, func(tx *store.Tx) error { return f(ctx, tx) }))
}

// look looks once, a minute later, and returns what is known then.
func (b *bench) look() (slipway.Drift, time.Duration) {
	b.Helper()
	b.now = b.now.Add(time.Minute)
	again, err := b.o.Look(b.Context(), b.app.ID)
	b.must(err)
	var d slipway.Drift
	b.write(func(ctx context.Context, tx *store.Tx) (err error) {
		d, err = tx.Drift(ctx, b.app.ID)
		return err
	})
	return d, again
}

// open makes a task of the application that has not ended.
func (b *bench) open() slipway.Task {
	b.Helper()
	var t slipway.Task
	b.write(func(ctx context.Context, tx *store.Tx) (err error) {
		t, err = tx.CreateTask(ctx, slipway.Task{Kind: slipway.StopTask, Title: "stop web", ApplicationID: b.app.ID})
		return err
	})
	return t
}

func TestADifferenceIsToldAtTheSecondLook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	d, again := b.look()
	if d.State() != slipway.DriftNone || again != time.Hour || b.world.record != "none: the cluster is as it was applied" {
		t.Errorf("at first: %+v, again in %s, record %q", d, again, b.world.record)
	}
	b.world.differs = []slipway.Difference{replicas}
	if d, again = b.look(); d.State() != slipway.DriftNone || again != 5*time.Second || b.world.record != "none: the cluster is as it was applied" {
		t.Errorf("seen once: %+v, again in %s, record %q", d, again, b.world.record)
	}
	if d, again = b.look(); d.State() != slipway.Drifted || again != time.Hour || b.world.record != "drifted: Deployment web replicas: 2 → 5" {
		t.Errorf("seen twice: %+v, again in %s, record %q", d, again, b.world.record)
	}
	if b.world.masked != "<redacted>" {
		t.Errorf("a secret's value is shown as %q", b.world.masked)
	}
	// Of a secret that has a newer value, or none any more, only the presence is compared.
	want := map[string][]byte{"db": []byte("db-password-of-the-test"), "mail": nil, "gone": nil}
	if diff := cmp.Diff(want, b.world.written); diff != "" {
		t.Errorf("the Secret is compared with (-want +got):\n%s", diff)
	}
}

func TestNobodyLooksWhileATaskIsAtWork(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.world.differs = []slipway.Difference{replicas}
	open := b.open()
	d, _ := b.look()
	if b.world.looks != 0 || d.Missed != "task 1 is at work: stop web" || !d.Settled(b.now) {
		t.Errorf("%d looks; %+v", b.world.looks, d)
	}
	b.write(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.RequestCancel(ctx, open.ID, "ann")
		return err
	})
	// One that begins while the cluster is asked makes the answer worthless.
	b.world.during = func() { b.world.during = nil; b.open() }
	if d, _ = b.look(); b.world.looks != 1 || d.Missed != "task 2 is at work: stop web" || len(d.Suspected) > 0 {
		t.Errorf("%d looks; %+v", b.world.looks, d)
	}
}

func TestAClusterThatIsAwayIsNoDrift(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.look()
	checked := b.now
	b.world.fails = slipway.Errorf(slipway.Unavailable, "the Kubernetes API does not answer").WithHint("check that the cluster is up")
	d, again := b.look()
	if d.State() != slipway.DriftNone || d.Missed != "the Kubernetes API does not answer (check that the cluster is up)" || !d.CheckedAt.Equal(checked) || again != time.Hour {
		t.Errorf("%+v, again in %s", d, again)
	}
	b.world.fails = errors.New("something with a secret in it")
	if d, _ = b.look(); d.Missed != "the look failed; the server's log says why" {
		t.Errorf("an error that is not for people is told: %q", d.Missed)
	}
	b.world.fails = nil
	b.o.Within = time.Nanosecond
	if d, _ = b.look(); d.Missed != "the cluster did not answer within 1ns" {
		t.Errorf("out of time: %q", d.Missed)
	}
	// A process that is being stopped says nothing of the cluster.
	ctx, stop := context.WithCancelCause(t.Context())
	b.world.during = func() { stop(errors.New("stopped")) }
	b.o.Within = time.Minute
	if _, err := b.o.Look(ctx, b.app.ID); err == nil || err.Error() != "stopped" {
		t.Errorf("a look that was cut short: %v", err)
	}
}

func TestTheRecordOfAFailedChangeIsNoDrift(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if d, _ := b.look(); b.world.records != 1 || d.Missed != "" {
		t.Errorf("%d comparisons of the record; %+v", b.world.records, d)
	}
	b.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetApplicationWanted(ctx, b.app.ID, 1, 2, 2) })
	if d, _ := b.look(); b.world.records != 1 || d.Missed != "" {
		t.Errorf("while another revision is wanted: %d comparisons of the record; %+v", b.world.records, d)
	}
}

func TestLooksThatFindNoSeatComeAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range cap(b.o.seats) {
		b.o.seats <- struct{}{}
	}
	if d, again := b.look(); b.world.looks != 0 || !d.LookedAt.IsZero() || again != 6*time.Second {
		t.Errorf("%d looks, %+v, again in %s", b.world.looks, d, again)
	}
	<-b.o.seats
	if b.look(); b.world.looks != 1 || len(b.o.seats) != cap(b.o.seats)-1 {
		t.Errorf("%d looks with a free seat, %d seats taken afterwards", b.world.looks, len(b.o.seats))
	}
}

func TestADeletedApplicationIsForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.look()
	b.write(func(ctx context.Context, tx *store.Tx) error { return tx.MarkApplicationDeleted(ctx, b.app.ID) })
	if d, again := b.look(); !d.LookedAt.IsZero() || again != 0 {
		t.Errorf("%+v, again in %s", d, again)
	}
	if again, err := b.o.Look(t.Context(), 999); again != 0 || err != nil {
		t.Errorf("one that never was: %s, %v", again, err)
	}
}

func TestARoundWakesWhatNobodyLooksAt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	wakeUp := func() (at time.Time) {
		b.write(func(ctx context.Context, tx *store.Tx) error {
			w, err := tx.WakeUp(ctx, slipway.WakeDrift, b.app.ID)
			if slipway.Is(err, slipway.NotFound) {
				return nil
			}
			at = w.NextAt
			return err
		})
		return at
	}
	b.now = b.store.Now()
	b.look()
	if _, err := b.o.Round(t.Context(), 1); err != nil || !wakeUp().IsZero() {
		t.Errorf("one that was looked at is woken: %v", err)
	}
	b.now = b.store.Now().Add(-3 * time.Hour)
	b.look()
	if _, err := b.o.Round(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if in := time.Until(wakeUp()); in < 25*time.Minute || in > 35*time.Minute {
		t.Errorf("it is woken in %s, want about half of the hour between two looks", in)
	}
}
