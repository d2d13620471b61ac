package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// runnerPool makes a pool in an environment, for acme's jobs with the label.
func (w *world) runnerPool(e slipway.Environment, name, label string) (p slipway.RunnerPool) {
	w.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) error {
		a, err := tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: name, Kind: slipway.RunnerApplication})
		if err != nil {
			return err
		}
		p, err = tx.PutRunnerPool(ctx, slipway.RunnerPool{ApplicationID: a.ID, Service: "runner", Spec: slipway.PoolSpec{
			Scope: slipway.ForgeScope{Owner: "acme"}, Credential: "token", Labels: []string{label}, Architecture: slipway.AMD64, Replicas: 2, Idle: time.Minute,
		}}, false)
		return err
	})
	return p
}

func (w *world) connection(name, project, environment string) slipway.Connection {
	w.Helper()
	n, err := w.s.CreateConnection(w.Context(), w.admin, CreateConnectionInput{Name: name, Project: project, Environment: environment})
	w.ok(err)
	w.woken = nil
	return n.Connection
}

func word(c slipway.Connection, guid string, job int64, state slipway.JobState, labels ...string) Delivery {
	return Delivery{Connection: c, GUID: guid, Event: "workflow_job", Action: string(state), Job: &slipway.Job{
		Host: slipway.GitHubHost, ID: job, RunID: 1, Attempt: 1, Owner: "Acme", Repository: "app", Labels: labels, State: state, QueuedAt: time.Now().Add(-time.Minute),
	}}
}

// World: both databases.
func TestDeliveriesMoveJobsAndWakePools(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		dev, err := w.s.CreateEnvironment(w.Context(), w.admin, CreateEnvironmentInput{Project: "shop", Name: "dev"})
		w.ok(err)
		one, two := w.runnerPool(w.env, "ci", "slipway"), w.runnerPool(dev, "ci", "slipway")
		whole, own := w.connection("whole", "", ""), w.connection("own", "shop", "production")
		both := []string{fmt.Sprint("pool ", one.ID), fmt.Sprint("pool ", two.ID)}
		const queued, running, completed = slipway.JobQueued, slipway.JobRunning, slipway.JobCompleted
		for _, tc := range []struct {
			name  string
			ds    []Delivery
			want  string // of each delivery: its outcome
			wakes []string
		}{
			{"a job for the pools of the whole installation", []Delivery{word(whole, "a1", 1, queued, "slipway")}, "taken", both},
			{"runs-on#539: the same delivery again", []Delivery{word(whole, "a1", 1, queued, "slipway")}, "again", nil},
			{"runs-on#539: the same word in another delivery", []Delivery{word(whole, "a2", 1, queued, "slipway")}, "old", nil},
			{"an environment's connection wakes its own pools alone", []Delivery{word(own, "b1", 2, queued, "Self-Hosted", "SLIPWAY")}, "taken", both[:1]},
			{"the same GUID of another connection is another delivery", []Delivery{word(own, "a1", 3, queued, "slipway")}, "taken", both[:1]},
			{"one batch holds a delivery twice, and out of order", []Delivery{word(whole, "c1", 4, completed, "slipway"), word(whole, "c1", 4, completed, "slipway"), word(whole, "c2", 4, queued, "slipway")},
				"taken unseen, again, old", append(slices.Clone(both), "forge-job-look 4")},
			{"ubicloud#1042: a job that was never queued here is no demand, and the forge is asked", []Delivery{word(whole, "d1", 5, running, "slipway")},
				"taken unseen", append(slices.Clone(both), "forge-job-look 5")},
			{"ARC#836: a skipped job was never queued", []Delivery{func() Delivery {
				d := word(whole, "d2", 6, completed, "slipway")
				d.Job.Conclusion = "skipped"
				return d
			}()}, "taken", both},
			{"ARC#4315, ARC PR#4594: of a rerun of what failed, a job that had succeeded is told once more, with a new ID", []Delivery{func() Delivery {
				d := word(whole, "d3", 10, completed, "slipway")
				d.Job.Attempt, d.Job.Conclusion = 2, "success"
				return d
			}()}, "taken unseen", append(slices.Clone(both), "forge-job-look 10")},
			{"ARC PR#2520: it is cancelled while it is queued", []Delivery{word(whole, "d4", 11, queued, "slipway"), func() Delivery {
				d := word(whole, "d5", 11, completed, "slipway")
				d.Job.Conclusion = "cancelled"
				return d
			}()}, "taken, taken", both},
			{"cdk-github-runners PR#416: it waits for an approval, and is queued when it has it", []Delivery{word(whole, "d6", 12, slipway.JobWaiting, "slipway"), word(whole, "d7", 12, queued, "slipway")},
				"taken, taken", both},
			{"a job of the forge's own machines", []Delivery{word(whole, "e1", 7, queued, "ubuntu-latest")}, "ignored", nil},
			{"no labels match nothing", []Delivery{word(whole, "e2", 8, queued)}, "ignored", nil},
			{"self-hosted, and no pool has the label yet: it is kept", []Delivery{word(whole, "e3", 9, queued, "self-hosted", "gpu")}, "taken", nil},
			{"signed, and not to be understood", []Delivery{{Connection: whole, GUID: "f1", Event: "workflow_job", Fault: "it has no id"}}, "invalid", nil},
		} {
			w.woken = nil
			var got []string
			for _, x := range w.s.TakeDeliveries(w.Context(), tc.ds) {
				w.ok(x.Err)
				text := string(x.Outcome)
				if x.Again {
					text = "again"
				}
				if x.Unseen {
					text += " unseen"
				}
				got = append(got, text)
			}
			if got := strings.Join(got, ", "); got != tc.want {
				w.Errorf("%s: %s, want %s", tc.name, got, tc.want)
			}
			if d := cmp.Diff(w.woken, tc.wakes); d != "" {
				w.Errorf("%s: woken: got, want (-, +):\n%s", tc.name, d)
			}
		}
		w.read(func(ctx context.Context, tx *store.Tx) error {
			// garm#47: demand is on record, and not an event that is gone when a pool is full.
			all, err := tx.QueuedJobs(ctx, slipway.GitHubHost, "acme")
			var ids []int64
			for _, j := range all {
				ids = append(ids, j.ID)
			}
			slices.Sort(ids)
			if d := cmp.Diff(ids, []int64{1, 2, 3, 9, 12}); d != "" {
				w.Errorf("garm#47: demand: got, want (-, +):\n%s", d)
			}
			p, err2 := tx.RunnerPool(ctx, one.ID)
			if err2 == nil && p.LastJobEvent.IsZero() {
				w.Error("the pool was not heard of")
			}
			return errors.Join(err, err2)
		})
	})
}

// World: both databases. One delivery that cannot be kept does not take the others with it.
func TestOneBadDeliveryFailsAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		good := w.connection("good", "", "")
		gone := slipway.Connection{ID: good.ID + 100}
		out := w.s.TakeDeliveries(w.Context(), []Delivery{
			word(good, "1", 1, slipway.JobQueued, "self-hosted"), word(gone, "2", 2, slipway.JobQueued, "self-hosted"), word(good, "3", 3, slipway.JobQueued, "self-hosted"),
		})
		if out[0].Err != nil || out[2].Err != nil || !slipway.Is(out[1].Err, slipway.NotFound) {
			w.Errorf("%v, %v, %v", out[0].Err, out[1].Err, out[2].Err)
		}
		w.read(func(ctx context.Context, tx *store.Tx) error {
			ds, err := tx.Deliveries(ctx, good.ID, 10)
			if len(ds) != 2 {
				w.Errorf("%d deliveries are kept, want 2", len(ds))
			}
			return err
		})
	})
}

// World: SQLite.
func TestConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := w.Context()
	in := CreateConnectionInput{Name: "acme", Project: "shop", Environment: "production"}
	n, err := w.s.CreateConnection(ctx, w.writer, in)
	w.ok(err)
	hook, err := w.s.Hook(ctx, n.Hook)
	w.ok(err)
	if len(hook.Secrets) != 1 || string(hook.Secrets[0]) != n.Secret || len(n.Secret) < 40 {
		w.Errorf("the secret that was shown does not open: %d secrets", len(hook.Secrets))
	}
	again, err := w.s.RotateConnectionSecret(ctx, w.writer, RotateSecretInput{Name: "acme"})
	w.ok(err)
	if hook, err = w.s.Hook(ctx, n.Hook); err != nil || len(hook.Secrets) != 2 || string(hook.Secrets[0]) != again.Secret || string(hook.Secrets[1]) != n.Secret {
		w.Errorf("after a change both secrets count: %d, %v", len(hook.Secrets), err)
	}
	_, err = w.s.RotateConnectionSecret(ctx, w.writer, RotateSecretInput{Name: "acme", Secret: []byte("a-secret-of-my-own"), AtOnce: true})
	w.ok(err)
	if hook, err = w.s.Hook(ctx, n.Hook); err != nil || len(hook.Secrets) != 1 || string(hook.Secrets[0]) != "a-secret-of-my-own" {
		w.Errorf("at once only the new one counts: %d, %v", len(hook.Secrets), err)
	}
	_, err = w.s.CreateConnection(ctx, w.writer, in)
	w.refused(err, slipway.Conflict, "acme")
	_, err = w.s.CreateConnection(ctx, w.writer, CreateConnectionInput{Name: "whole"})
	w.refused(err, slipway.Forbidden, "administrator")
	_, err = w.s.CreateConnection(ctx, w.admin, CreateConnectionInput{Name: "X", Project: "shop", BaseURL: "https://u:p4ssw0rd@h", Secret: []byte("short"), AppID: 1, AppKey: []byte("no key")})
	for _, part := range []string{"name", "environment", "base_url", "secret", "app_key"} {
		w.refused(err, slipway.Invalid, part+":")
	}
	if e, ok := errorOf(err); ok && strings.Contains(fmt.Sprint(e, e.Fields), "p4ssw0rd") {
		w.Error("the refusal quotes a password")
	}
	w.refused(w.s.DeleteConnection(ctx, w.reader, "acme"), slipway.Forbidden, "read-write")
	other := w.writer
	other.Project, other.Environment = "shop", "elsewhere"
	w.refused(w.s.DeleteConnection(ctx, other, "acme"), slipway.NotFound, "acme")
	w.ok(w.s.DeleteConnection(ctx, w.writer, "acme"))
	_, err = w.s.Hook(ctx, n.Hook)
	w.refused(err, slipway.NotFound, "connection")
}

// TestAWordOfARunnerCountsWhereItCameFrom has whoever knows another environment's webhook
// secret say things of this one's runners, whose names people can read. World: both databases.
func TestAWordOfARunnerCountsWhereItCameFrom(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		dev, err := w.s.CreateEnvironment(w.Context(), w.admin, CreateEnvironmentInput{Project: "shop", Name: "dev"})
		w.ok(err)
		pool := w.runnerPool(w.env, "ci", "slipway")
		w.runnerPool(dev, "ci", "slipway")
		whole, own, foreign := w.connection("whole", "", ""), w.connection("own", "shop", "production"), w.connection("foreign", "shop", "dev")
		w.write(func(ctx context.Context, tx *store.Tx) error {
			for _, name := range []string{"r-1", "r-2", "r-3", "r-4"} {
				if _, err := tx.CreateSlot(ctx, slipway.Slot{PoolID: pool.ID, Scope: pool.Spec.Scope, Credential: "token", Runner: name}); err != nil {
					return err
				}
			}
			return nil
		})
		deliver := func(c slipway.Connection, guid string, job int64, state slipway.JobState, runner string) func() {
			d := word(c, guid, job, state, "self-hosted", "slipway")
			d.Job.Runner = runner
			return func() { w.ok(w.s.TakeDeliveries(w.Context(), []Delivery{d})[0].Err) }
		}
		ask := func(host string, job int64, runner string) func() {
			j := *word(whole, "", job, slipway.JobRunning, "slipway").Job
			j.Host, j.Runner = host, runner
			return func() {
				_, err := w.s.TakeJobs(w.Context(), dev.ID, []slipway.Job{j})
				w.ok(err)
			}
		}
		const queued, running, completed = slipway.JobQueued, slipway.JobRunning, slipway.JobCompleted
		for _, step := range []struct {
			name  string
			do    func()
			want  string // of each runner: its job and how far that has come
			wakes bool
		}{
			{"a job waits", deliver(own, "1", 50, queued, ""), "", true},
			{"another environment says that it is on a runner of ours", deliver(foreign, "1", 50, running, "r-1"), "", false},
			{"and that it has ended there", deliver(foreign, "2", 50, completed, "r-1"), "", false},
			{"it is on another, as our own connection tells", deliver(own, "2", 50, running, "r-2"), "r-2: 50 in_progress", true},
			{"another environment says that it ended on that one", deliver(foreign, "3", 50, completed, "r-2"), "r-2: 50 in_progress", false},
			{"another environment makes a job up", deliver(foreign, "4", 60, running, "r-1"), "r-2: 50 in_progress", false},
			{"the installation's connection tells the same", deliver(whole, "1", 60, running, "r-1"), "r-1: 60 in_progress, r-2: 50 in_progress", true},
			{"the forge itself tells it to a pool of another environment", ask(slipway.GitHubHost, 70, "r-3"), "r-1: 60 in_progress, r-2: 50 in_progress, r-3: 70 in_progress", true},
			{"a server of another environment's own speaks of our runner", ask("ghes.example.com", 80, "r-4"), "r-1: 60 in_progress, r-2: 50 in_progress, r-3: 70 in_progress", false},
			{"our own job ends", deliver(own, "3", 50, completed, "r-2"), "r-1: 60 in_progress, r-2: 50 completed, r-3: 70 in_progress", true},
		} {
			w.woken = nil
			step.do()
			var got []string
			w.ok(w.s.Store.Read(w.Context(), func(tx *store.Tx) error {
				jobs, err := tx.JobsOfSlots(w.Context(), pool)
				for runner, j := range jobs {
					got = append(got, fmt.Sprintf("%s: %d %s", runner, j.ID, j.State))
				}
				return err
			}))
			slices.Sort(got)
			if strings.Join(got, ", ") != step.want {
				w.Errorf("%s: the runners are told of %v, want %s", step.name, got, step.want)
			}
			if woken := slices.Contains(w.woken, fmt.Sprint("pool ", pool.ID)); woken != step.wakes {
				w.Errorf("%s: the pool is woken: %t, want %t", step.name, woken, step.wakes)
			}
		}
	})
}
