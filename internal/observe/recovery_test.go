package observe

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
)

// These tests stand on a real SQLite database and a fake GitHub.

type thrifty struct {
	*fake.GitHub
	spare bool
}

func (t *thrifty) Spare() bool { return t.spare }

type lossy struct {
	*testing.T
	store  *store.Store
	change *change.Service
	forge  *thrifty
	r      *Recovery
	c      change.NewConnection
	now    time.Time

	answer func(guid string) int // to deliveries
	got    []string
}

var app = forge.Repository{Owner: "acme", Name: "app"}

func newLossy(t *testing.T) *lossy {
	t.Helper()
	l := &lossy{T: t, now: time.Now(), answer: func(string) int { return 200 }}
	clock := func() time.Time { return l.now }
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "slipway.db"), sqlite.Options{Clock: clock})
	l.ok(err)
	t.Cleanup(func() { l.ok(db.Close()) })
	l.store = db.Store
	box, err := secret.LoadOrCreate(filepath.Join(t.TempDir(), "key"), true)
	l.ok(err)
	l.change = &change.Service{Store: l.store, Box: box}
	l.forge = &thrifty{GitHub: fake.New(clock), spare: true}
	l.forge.AddRepository(app)
	l.r = NewRecovery(RecoveryConfig{
		Store: l.store, Box: box, Installation: slipway.Installation{ID: "i-1"}, TakeJobs: l.change.TakeJobs,
		Forge: func(_, credential string) (Forge, error) {
			if credential != "the-token" {
				t.Errorf("the forge was asked with %q", credential)
			}
			return l.forge, nil
		},
	})
	admin := slipway.Caller{UserName: "anna", Role: slipway.Administrator}
	l.ok(l.store.InTx(t.Context(), func(tx *store.Tx) error {
		_, err := tx.CreateInstallation(t.Context(), slipway.Installation{ID: "i-1", ExternalID: "x"})
		return err
	}))
	_, err = l.change.CreateProject(t.Context(), admin, change.CreateProjectInput{Name: "shop"})
	l.ok(err)
	env, err := l.change.CreateEnvironment(t.Context(), admin, change.CreateEnvironmentInput{Project: "shop", Name: "dev"})
	l.ok(err)
	_, err = l.change.SetSecret(t.Context(), admin, change.SetSecretInput{Project: "shop", Environment: "dev", Name: "token", Value: []byte("the-token")})
	l.ok(err)
	l.ok(l.store.InTx(t.Context(), func(tx *store.Tx) error {
		a, err := tx.CreateApplication(t.Context(), slipway.Application{EnvironmentID: env.ID, Name: "ci", Kind: slipway.RunnerApplication})
		if err != nil {
			return err
		}
		_, err = tx.PutRunnerPool(t.Context(), slipway.RunnerPool{ApplicationID: a.ID, Service: "runner", Spec: slipway.PoolSpec{
			Scope: slipway.ForgeScope{Owner: "acme", Repository: "app"}, Credential: "token", Labels: []string{"slipway"}, Architecture: slipway.AMD64, Replicas: 2,
		}}, false)
		return err
	}))
	l.c, err = l.change.CreateConnection(t.Context(), admin, change.CreateConnectionInput{Name: "acme", Project: "shop", Environment: "dev"})
	l.ok(err)
	return l
}

func (l *lossy) ok(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// hook makes the webhook at the forge.
func (l *lossy) hook() {
	l.forge.AddHook(slipway.ForgeScope{Owner: "acme", Repository: "app"}, "https://slipway.example.com"+l.c.WebhookPath(), func(_, guid string, _ []byte) int {
		l.got = append(l.got, guid)
		return l.answer(guid)
	})
}

func (l *lossy) recover() slipway.Connection {
	l.Helper()
	_, err := l.r.Recover(l.Context(), l.c.ID)
	l.ok(err)
	var c slipway.Connection
	l.ok(l.store.Read(l.Context(), func(tx *store.Tx) (err error) {
		c, err = tx.Connection(l.Context(), l.c.ID)
		return err
	}))
	return c
}

func (l *lossy) demand() (ids []int64) {
	l.Helper()
	l.ok(l.store.Read(l.Context(), func(tx *store.Tx) error {
		all, err := tx.QueuedJobs(l.Context(), slipway.GitHubHost, "acme")
		for _, j := range all {
			ids = append(ids, j.ID)
		}
		return err
	}))
	return ids
}

// ARC#2788, pytorch/ci-infra#271: one lost delivery, and a job waits for ever.
func TestLostDeliveriesAreAskedForAgain(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	l.hook()
	l.answer = func(string) int { return 502 }
	l.forge.Queue(app, []string{"slipway"})
	lost := l.got[0]
	l.now = l.now.Add(time.Minute)
	l.answer = func(string) int { return 200 }
	if c := l.recover(); len(l.got) != 2 || l.got[1] != lost || c.RecoveredAt.IsZero() || c.RecoverError != "" {
		t.Errorf("sent %v; connection %+v", l.got, c)
	}
	l.now = l.now.Add(time.Minute)
	if l.recover(); len(l.got) != 2 {
		t.Errorf("what has arrived was asked for again: %v", l.got)
	}
}

func TestADeliveryThatAlwaysFailsIsNotAskedForForEver(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	l.hook()
	l.answer = func(string) int { return 500 }
	l.forge.Queue(app, []string{"slipway"})
	for range 6 {
		l.now = l.now.Add(RecoveryEvery)
		l.recover()
	}
	if len(l.got) != maxAttempts {
		t.Errorf("it was sent %d times, want %d", len(l.got), maxAttempts)
	}
}

func TestWhatWasTakenIsNotAskedFor(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	l.hook()
	l.answer = func(guid string) int {
		out := l.change.TakeDeliveries(l.Context(), []change.Delivery{{Connection: l.c.Connection, GUID: guid, Event: "workflow_job"}})
		l.ok(out[0].Err)
		return 0 // the answer is lost
	}
	l.forge.Queue(app, []string{"slipway"})
	if l.recover(); len(l.got) != 1 {
		t.Errorf("sent %v", l.got)
	}
}

func TestWhatKeepsTheSearchFromSucceedingIsSaid(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	if c := l.recover(); !strings.Contains(c.RecoverError, "none of the webhooks") {
		t.Errorf("without a webhook: %q", c.RecoverError)
	}
	l.hook()
	l.forge.Forbid("acme", true)
	if c := l.recover(); !strings.Contains(c.RecoverError, "may not see acme") {
		t.Errorf("without the permission: %q", c.RecoverError)
	}
	l.forge.Forbid("acme", false)
	if c := l.recover(); c.RecoverError != "" || c.RecoveredAt.IsZero() {
		t.Errorf("after it was given: %+v", c)
	}
}

// The hooks of one scope were found, and those of another could not be asked for: what was
// lost there is not to be passed over by the next look, which goes back an hour only.
func TestAnOutageOfSomeHooksIsNoWholeLook(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	lib := forge.Repository{Owner: "acme", Name: "lib"}
	l.forge.AddRepository(lib)
	l.hook()
	l.ok(l.store.InTx(t.Context(), func(tx *store.Tx) error {
		pools, err := tx.RunnerPools(t.Context())
		if err != nil {
			return err
		}
		p := pools[0]
		p.ID, p.Service, p.Spec.Scope.Repository = 0, "another", lib.Name
		_, err = tx.PutRunnerPool(t.Context(), p, false)
		return err
	}))
	l.forge.AddHook(slipway.ForgeScope{Owner: "acme", Repository: "lib"}, "https://slipway.example.com"+l.c.WebhookPath(), func(_, guid string, _ []byte) int {
		l.got = append(l.got, guid)
		return l.answer(guid)
	})
	l.answer = func(string) int { return 502 }
	l.forge.Queue(app, []string{"slipway"})
	l.forge.Queue(lib, []string{"slipway"})
	l.answer = func(string) int { return 200 }
	l.forge.Break(fake.Fault{Op: "Hooks", Problem: forge.Away})
	l.now = l.now.Add(time.Minute)
	if c := l.recover(); len(l.got) != 3 || !c.RecoveredAt.IsZero() || c.RecoverError == "" {
		t.Errorf("in the outage: sent %v; recovered at %s, %q", l.got, c.RecoveredAt, c.RecoverError)
	}
	l.now = l.now.Add(3 * time.Hour)
	if c := l.recover(); len(l.got) != 4 || c.RecoveredAt.IsZero() || c.RecoverError != "" {
		t.Errorf("after it: sent %v; recovered at %s, %q", l.got, c.RecoveredAt, c.RecoverError)
	}
}

// pytorch/ci-infra#271: queued jobs are asked for, with no webhook at all.
func TestQueuedJobsAreFoundWithoutDeliveries(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	jobs := l.forge.Queue(app, []string{"slipway"}, []string{"ubuntu-latest"})
	l.ok(l.r.poll(l.Context()))
	if got := l.demand(); len(got) != 1 || got[0] != jobs[0] {
		t.Errorf("demand = %v, want %v alone", got, jobs[0])
	}
	// It was cancelled, and that delivery was lost too.
	l.forge.Finish(jobs[0], "cancelled")
	l.forge.Finish(jobs[1], "cancelled")
	l.ok(l.r.poll(l.Context()))
	if got := l.demand(); len(got) != 1 {
		t.Errorf("a job that is young is not asked about: %v", got)
	}
	l.now = l.now.Add(heldLong + time.Second)
	l.ok(l.r.poll(l.Context()))
	if got := l.demand(); len(got) != 0 {
		t.Errorf("a job that the forge says is over is still demand: %v", got)
	}
}

// ARC#3953, ARC#3420, ARC#4027: the one number that was trusted said that nothing waits. Here
// the rows of demand are lost, and the forge, asked anew, is the second source.
func TestDemandThatWasLostIsFoundAgain(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	jobs := l.forge.Queue(app, []string{"slipway"})
	l.ok(l.r.poll(l.Context()))
	l.ok(l.store.InTx(l.Context(), func(tx *store.Tx) error {
		n, err := tx.PruneJobs(l.Context(), l.now.Add(time.Hour), 10)
		if n != 1 {
			t.Errorf("%d rows were lost, want 1", n)
		}
		return err
	}))
	if got := l.demand(); len(got) != 0 {
		t.Fatalf("demand = %v: nothing is shown", got)
	}
	l.now = l.now.Add(RecoveryEvery)
	l.ok(l.r.poll(l.Context()))
	if got := l.demand(); len(got) != 1 || got[0] != jobs[0] {
		t.Errorf("demand = %v, want %d", got, jobs[0])
	}
}

func TestPollsLeaveTheRestOfABudgetToRunners(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	l.forge.spare = false
	l.forge.Queue(app, []string{"slipway"})
	l.ok(l.r.poll(l.Context()))
	if n := l.forge.Calls("Runs"); n != 0 {
		t.Errorf("the forge was asked %d times", n)
	}
}

// ubicloud#1042: a job that is running and was never seen queued is the sign that more was
// lost.
func TestAnUnseenJobHasItsRepositoryLookedAt(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	jobs := l.forge.Queue(app, []string{"slipway"}, []string{"slipway"})
	out := l.change.TakeDeliveries(l.Context(), []change.Delivery{{Connection: l.c.Connection, GUID: "g", Event: "workflow_job", Job: &slipway.Job{
		Host: slipway.GitHubHost, ID: jobs[0], Owner: "acme", Repository: "app", Labels: []string{"slipway"}, State: slipway.JobRunning, Runner: "somebody-else's",
	}}})
	if out[0].Err != nil || !out[0].Unseen || len(l.demand()) != 0 {
		t.Fatalf("%+v, demand %v", out[0], l.demand())
	}
	_, err := l.r.Look(l.Context(), jobs[0])
	l.ok(err)
	if got := l.demand(); len(got) != 1 || got[0] != jobs[1] {
		t.Errorf("demand = %v, want the other job of the run, %d", got, jobs[1])
	}
}

func TestAnOutageOfTheForgeLosesNothing(t *testing.T) {
	t.Parallel()
	l := newLossy(t)
	l.forge.Queue(app, []string{"slipway"})
	l.forge.Outage(true)
	l.ok(l.r.poll(context.Background()))
	l.forge.Outage(false)
	l.ok(l.r.poll(l.Context()))
	if got := l.demand(); len(got) != 1 {
		t.Errorf("demand = %v", got)
	}
}
