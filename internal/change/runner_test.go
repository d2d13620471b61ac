package change

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// ci writes the application.toml of a runner application with one pool, runner.
func ci(more ...string) []byte {
	return []byte("schema_version = 1\nname = \"ci\"\n[services.runner]\nreplicas = 2\n[services.runner.actions]\norganization = \"acme\"\n" +
		"credential = \"token\"\nlabels = [\"slipway\"]\n" + strings.Join(more, "\n"))
}

const second = "\n[services.second]\n[services.second.actions]\nrepository = \"acme/shop\"\ncredential = \"token\"\nlabels = [\"other\"]\n"

// withNodes has the cluster seen with one node for runners, of 8 cores, and the tokens set.
func (w *world) withNodes() *world {
	w.Helper()
	for _, name := range []string{"token", "other-token"} {
		w.must(w.s.SetSecret(w.Context(), w.writer, SetSecretInput{Project: "shop", Environment: "production", Name: name, Value: []byte("ghp_x")}))
	}
	w.sees(8000)
	return w
}

// sees has the cluster seen now.
func (w *world) sees(cpu int64) {
	w.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) error {
		const gib = slipway.GiB
		return tx.SetClusterView(ctx, slipway.ClusterView{RuntimeClass: true, LookedAt: tx.Now, Nodes: []slipway.Node{{
			Name: "node-1", Ready: true, Schedulable: true, Architecture: slipway.AMD64, Runners: true, CPU: slipway.Amount{Allocatable: cpu},
			Memory: slipway.Amount{Allocatable: 64 * gib}, Disk: slipway.Amount{Allocatable: 200 * gib}, Pods: slipway.Amount{Allocatable: 110},
		}}})
	})
}

func (w *world) poolsOf(app int64) (out map[string]slipway.RunnerPool) {
	w.Helper()
	out = map[string]slipway.RunnerPool{}
	w.read(func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.RunnerPoolsOf(ctx, app)
		for _, p := range all {
			out[p.Service] = p
		}
		return err
	})
	return out
}

// slot adds a slot to a pool, as its reconciler would, and moves it.
func (w *world) slot(p slipway.RunnerPool, name string, states ...slipway.SlotState) (s slipway.Slot) {
	w.Helper()
	w.write(func(ctx context.Context, tx *store.Tx) (err error) {
		s, err = tx.CreateSlot(ctx, slipway.Slot{PoolID: p.ID, Generation: p.Generation, Scope: p.Spec.Scope, Credential: p.Spec.Credential, Runner: name})
		for _, next := range states {
			if err != nil {
				return err
			}
			from := s.State
			s.State, s.Node = next, "node-1"
			err = tx.UpdateSlot(ctx, s, from)
		}
		return err
	})
	return s
}

var (
	toIdle = []slipway.SlotState{slipway.SlotRegistering, slipway.SlotLaunching, slipway.SlotStarting, slipway.SlotIdle}
	toBusy = append(slices.Clone(toIdle), slipway.SlotBusy)
)

func TestDeployOfARunnerApplicationWritesItsPools(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.withNodes()
		w.woken = nil
		a := w.mustDeploy(0, ci("idle_seconds = 300", second))
		if a.Application.Ref() != "shop/production/ci" || a.Application.Kind != slipway.RunnerApplication || a.Application.DriverName != "" || a.Change.Kind != slipway.InstallChange {
			w.Errorf("application = %+v, change = %+v", a.Application, a.Change)
		}
		if want := fmt.Sprintf("shop-production-runners-%d", a.Application.ID); a.Application.Namespace != want {
			w.Errorf("the namespace is %s, want %s", a.Application.Namespace, want)
		}
		if a.Task.Kind != slipway.InstallTask || a.Task.Title != "set up the runner pools of ci" {
			w.Errorf("task = %+v", a.Task)
		}
		pools := w.poolsOf(a.Application.ID)
		one, two := pools["runner"], pools["second"]
		if len(pools) != 2 || one.Generation != 1 || one.Spec.Replicas != 2 || one.Spec.Scope.Owner != "acme" || one.Spec.Idle.Seconds() != 300 || one.Namespace != a.Application.Namespace {
			w.Errorf("pools = %+v", pools)
		}
		if want := []string{fmt.Sprintf("pool %d", one.ID), fmt.Sprintf("pool %d", two.ID), fmt.Sprintf("task %d", a.Task.ID)}; !slices.Equal(w.woken, want) {
			w.Errorf("woken = %q, want %q", w.woken, want)
		}
		if got := w.audits("application.install"); len(got) != 1 || strings.Contains(string(got[0].After), "driver") || !strings.Contains(string(got[0].After), "secret token") {
			w.Errorf("audit = %s", got[0].After)
		}

		// The same key is the same answer, and other input under it is none.
		again := func(in *DeployInput) { in.IdempotencyKey = "k-1" }
		b := w.mustDeploy(1, ci("idle_seconds = 300"), again)
		if c := w.mustDeploy(1, ci("idle_seconds = 300"), again); !c.Replayed || c.Task.ID != b.Task.ID {
			w.Errorf("a repeat = %+v", c)
		}
		_, err := w.deploy(1, ci(), again)
		w.refused(err, slipway.Conflict, "used for another request")
		_, err = w.deploy(1, ci())
		w.refused(err, slipway.Conflict, "revision 1 of shop/production/ci was expected, and revision 2 is wanted now")
	})
}

func TestWhatARunnerApplicationNeeds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.deploy(0, ci(`jobs_credential = "reader"`))
	w.refused(err, slipway.Invalid, `guestbook.toml:7:14: services.runner.actions.credential: there is no secret "token" in shop/production (store it with: slipway secrets set token -e shop/production)`)
	w.refused(err, slipway.Invalid, `services.runner.actions.jobs_credential: there is no secret "reader"`)
	w.withNodes()

	for _, tc := range []struct {
		name, more string
		see        func()
		kind       slipway.Kind
		words      string
	}{
		{"too much", "[services.large]\nsize = \"large\"\nreplicas = 2\n[services.large.actions]\norganization = \"acme\"\ncredential = \"token\"\nlabels = [\"x\"]\n", nil, slipway.Conflict,
			"guestbook.toml:4:12: services.runner.replicas: 2 of 2 runners of runner have no place: they reserve 2000m CPU, 4Gi memory and 7Gi disk together, 48Gi memory and 193Gi disk are free, 2000m CPU are missing"},
		{"a node that is not there", `node_name = "node-2"`, nil, slipway.Conflict, "the cluster has no node node-2"},
		{"another architecture", `architecture = "arm64"`, nil, slipway.Conflict, "not usable: node-1 (amd64)"},
	} {
		_, err := w.deploy(0, ci(tc.more))
		w.refused(err, tc.kind, tc.words)
		_, err = w.s.Plan(t.Context(), w.reader, production(ci(tc.more)))
		w.refused(err, tc.kind, tc.words)
		_, err = w.s.Validate(t.Context(), w.reader, production(ci(tc.more)))
		w.refused(err, tc.kind, tc.words)
	}
	w.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetClusterView(ctx, slipway.ClusterView{Missed: "connection refused"})
	})
	_, err = w.deploy(0, ci())
	w.refused(err, slipway.Unavailable, "whether the runners would find a place cannot be told: the cluster's nodes have not been seen yet (connection refused)")
	if _, err := w.s.Validate(t.Context(), w.reader, SpecInput{Source: ci()}); err != nil {
		t.Errorf("a file without an environment: %v", err)
	}
}

// What an overcommitted cluster has already must stay changeable.
func (w *world) mustPlan(source []byte) Plan {
	w.Helper()
	p, err := w.s.Plan(w.Context(), w.reader, production(source))
	w.ok(err)
	return p
}

func TestOnlyWhatGrowsIsMeasured(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withNodes()
	a := w.mustDeploy(0, ci())
	p := w.poolsOf(a.Application.ID)["runner"]
	w.slot(p, "r-1", toBusy...)
	w.sees(500)
	if plan := w.mustPlan(ci("idle_seconds = 60")); len(plan.Places) > 0 {
		w.Errorf("what does not grow is measured: %+v", plan.Places)
	}
	w.mustDeploy(1, ci("idle_seconds = 60"))
	_, err := w.deploy(2, []byte(strings.Replace(string(ci()), "replicas = 2", "replicas = 3", 1)))
	w.refused(err, slipway.Conflict, "2 of 2 runners of runner have no place")
	// The first runner's 1000m are given back to its node before the new size is measured.
	w.sees(500)
	_, err = w.deploy(2, []byte(strings.Replace(string(ci()), "replicas = 2", "replicas = 2\nsize = \"small\"", 1)))
	if err != nil {
		t.Errorf("what a replaced runner gives back is not counted: %v", err)
	}
	w.sees(8000)
	plan := w.mustPlan([]byte(strings.Replace(string(ci()), "replicas = 2", "replicas = 4\nsize = \"small\"", 1)))
	if p := plan.Places; len(p) != 1 || p[0].Runners != 3 || p[0].Requested.CPU != 1500 || p[0].Available.CPU != 8000 || p[0].Nodes != 1 {
		t.Errorf("a plan says of the places %+v", p)
	}
}

func TestWhatBecomesOfAPool(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withNodes()
	a := w.mustDeploy(0, ci("idle_seconds = 300"))
	p := w.poolsOf(a.Application.ID)["runner"]
	w.slot(p, "r-1", toIdle...)
	w.slot(p, "r-2", toBusy...)
	for _, tc := range []struct {
		name        string
		source      []byte
		fate        PoolFate
		summary     string
		generation  int64
		wantWarning string
	}{
		{"the same again", ci("idle_seconds = 300"), PoolSame, "runner: stays as it is", 1, "nothing differs from revision 1"},
		{"another idle time", ci("idle_seconds = 60", "spare = 1"), PoolTuned, "runner: no runner is replaced", 1, ""},
		{"more labels", ci("idle_seconds = 60", "timeout_minutes = 30"), PoolRenewed, "runner: 1 free runner is replaced, 1 busy one ends its job first", 2, ""},
		{"another token", []byte(strings.Replace(string(ci("idle_seconds = 60", "timeout_minutes = 30")), `"token"`, `"other-token"`, 1)), PoolRenewed,
			"runner: 1 free runner is replaced, 1 busy one ends its job first", 3, "keep the secret token until the runners that were registered with it are gone"},
		{"it goes", []byte("schema_version = 1\nname = \"ci\"\n" + second), PoolGone,
			"runner: goes, 1 free runner with it, 1 running job is cancelled · second: new, up to 1 runner", 3, "the pool runner goes, and its 1 running job is cancelled"},
		{"it is wanted again", ci("timeout_minutes = 30"), PoolRenewed, "runner: 1 free runner is replaced, 1 busy one ends its job first · second: goes", 4, ""},
	} {
		var now int64
		w.read(func(ctx context.Context, tx *store.Tx) error {
			app, err := tx.Application(ctx, a.Application.ID)
			now = app.Revision
			return err
		})
		plan, err := w.s.Plan(t.Context(), w.reader, production(tc.source))
		w.ok(err)
		if plan.Summary() != tc.summary || plan.Pools[0].Fate != tc.fate || !plan.RestartsKnown {
			t.Errorf("%s: the plan says %q (%s), want %q (%s)", tc.name, plan.Summary(), plan.Pools[0].Fate, tc.summary, tc.fate)
		}
		if tc.wantWarning != "" && !slices.ContainsFunc(plan.Warnings, func(s string) bool { return strings.HasPrefix(s, tc.wantWarning) }) {
			t.Errorf("%s: warnings = %q, want %q", tc.name, plan.Warnings, tc.wantWarning)
		}
		w.mustDeploy(now, tc.source)
		got := w.poolsOf(a.Application.ID)["runner"]
		if got.ID != p.ID || got.Generation != tc.generation || got.Deleting != (tc.fate == PoolGone) {
			t.Errorf("%s: the pool is %+v, want generation %d", tc.name, got, tc.generation)
		}
	}
	// It stays in the rows until nothing of it is left, and in no later plan.
	plan, err := w.s.Plan(t.Context(), w.reader, production(ci("timeout_minutes = 30")))
	w.ok(err)
	if got := plan.Summary(); got != "runner: stays as it is" {
		t.Errorf("the plan after it says %q", got)
	}
	if got := w.poolsOf(a.Application.ID); len(got) != 2 || !got["second"].Deleting {
		t.Errorf("pools = %+v", got)
	}
}

func TestPoolsArePausedAndResumed(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withNodes()
	a := w.mustDeploy(0, ci(second))
	in := PoolsInput{ApplicationID: a.Application.ID, Pools: []string{"runner"}}
	_, err := w.s.PausePools(t.Context(), w.reader, in)
	w.refused(err, slipway.Forbidden, "needs the role")
	w.woken = nil
	got, err := w.s.PausePools(t.Context(), w.writer, in)
	w.ok(err)
	if len(got) != 1 || !got[0].Paused || w.poolsOf(a.Application.ID)["second"].Paused {
		t.Errorf("paused = %+v", got)
	}
	if want := []string{fmt.Sprintf("pool %d", got[0].ID)}; !slices.Equal(w.woken, want) {
		t.Errorf("woken = %q, want %q", w.woken, want)
	}
	w.audited("pool.pause", "ben", "shop/production/ci/runner", `{"paused":false}`, `{"paused":true}`)
	w.mustDeploy(1, ci("timeout_minutes = 30", second))
	if !w.poolsOf(a.Application.ID)["runner"].Paused {
		t.Error("a later change has resumed the pool")
	}
	_, err = w.s.PausePools(t.Context(), w.writer, PoolsInput{ApplicationID: a.Application.ID})
	w.ok(err)
	if n := len(w.audits("pool.pause")); n != 2 {
		t.Errorf("%d audit lines, want one for each pool that was not paused", n)
	}
	_, err = w.s.ResumePools(t.Context(), w.writer, PoolsInput{ApplicationID: a.Application.ID})
	w.ok(err)
	for name, p := range w.poolsOf(a.Application.ID) {
		if p.Paused {
			t.Errorf("%s is still paused", name)
		}
	}
	_, err = w.s.PausePools(t.Context(), w.writer, PoolsInput{ApplicationID: a.Application.ID, Pools: []string{"runer"}})
	w.refused(err, slipway.Invalid, `shop/production/ci has no pool "runer"`)
	driver := w.mustDeploy(0, toml("1.0.0", "1.0.0"))
	_, err = w.s.PausePools(t.Context(), w.writer, PoolsInput{ApplicationID: driver.Application.ID})
	w.refused(err, slipway.Conflict, "has no runner pools")
}

func TestADeletionTakesThePoolsAndACancelledOneGivesThemBack(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.withNodes()
		a := w.mustDeploy(0, ci(second))
		w.end(a, slipway.Succeeded, "", "")
		b := w.mustDeploy(1, ci()) // second goes
		w.woken = nil
		d, err := w.s.Delete(w.Context(), w.writer, DeleteInput{ApplicationID: a.Application.ID})
		w.ok(err)
		pools := w.poolsOf(a.Application.ID)
		if !pools["runner"].Deleting || !pools["second"].Deleting || len(w.woken) != 3 {
			w.Errorf("pools = %+v, woken = %q", pools, w.woken)
		}
		// It waits for the change before it, so its end is at once.
		_, err = w.s.CancelTask(w.Context(), w.writer, d.Task.ID)
		w.ok(err)
		pools = w.poolsOf(a.Application.ID)
		if pools["runner"].Deleting || !pools["second"].Deleting {
			w.Errorf("after the cancellation pools = %+v", pools)
		}
		w.end(b, slipway.Succeeded, "", "")
	})
}

// ARC#4484, ARC#427: a cleanup that cannot end is given up by a person, and that is on record.
func TestRunnersThatCannotBeCleanedUpAreGivenUp(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.withNodes()
		a := w.mustDeploy(0, ci(second))
		pools := w.poolsOf(a.Application.ID)
		stuck := w.slot(pools["second"], "r-stuck", append(slices.Clone(toIdle), slipway.SlotDraining)...)
		w.slot(pools["runner"], "r-good", toIdle...)
		in := PoolsInput{ApplicationID: a.Application.ID}
		_, err := w.s.ForgetRunners(w.Context(), w.writer, in)
		w.refused(err, slipway.Forbidden, "needs the role")
		_, err = w.s.ForgetRunners(w.Context(), w.admin, PoolsInput{ApplicationID: a.Application.ID, Pools: []string{"second"}})
		w.refused(err, slipway.Conflict, "the pool shop/production/ci/second is not being deleted")

		w.mustDeploy(1, ci())
		err = w.s.DeleteSecret(w.Context(), w.writer, "shop", "production", "token")
		w.refused(err, slipway.Conflict, "runners of shop/production/ci that are not cleaned up yet")
		_, err = w.s.ForgetRunners(w.Context(), w.admin, in)
		w.ok(err)
		w.read(func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.Slot(ctx, stuck.ID)
			if got.State != slipway.SlotClosed || got.Reason != "given up by anna; what was left outside was not removed" {
				w.Errorf("the slot is %s: %q", got.State, got.Reason)
			}
			good, err2 := tx.SlotByRunner(ctx, "r-good")
			if good.State != slipway.SlotIdle {
				w.Errorf("a runner of a pool that stays was given up: %+v", good)
			}
			return cmpErr(err, err2)
		})
		w.audited("pool.forget", "anna", "shop/production/ci/second", `{"runners":[{"failure":"","runner":"r-stuck","scope":"acme/shop","state":"draining"}]}`, "")
	})
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestARunnerApplicationHasNothingOfADriver(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withNodes()
	a := w.mustDeploy(0, ci())
	w.end(a, slipway.Succeeded, "", "")
	id, one := a.Application.ID, int64(1)
	ctx := t.Context()
	got := map[string]error{}
	_, got["stop"] = w.s.StopComponents(ctx, w.writer, ComponentsInput{ApplicationID: id, Components: []string{"runner"}})
	_, got["start"] = w.s.StartComponents(ctx, w.writer, ComponentsInput{ApplicationID: id, Components: []string{"runner"}})
	_, got["repair"] = w.s.Repair(ctx, w.writer, RepairInput{ApplicationID: id, ExpectedRevision: &one})
	_, got["drift"] = w.s.CheckDrift(ctx, w.reader, id)
	_, got["rollback"] = w.s.PlanRollback(ctx, w.reader, RollbackInput{ApplicationID: id})
	_, got["backup"] = w.s.Backup(ctx, w.writer, BackupInput{ApplicationID: id})
	words := map[string]string{}
	for what, err := range got {
		if !slipway.Is(err, slipway.Conflict) {
			t.Errorf("%s: %v", what, err)
			continue
		}
		words[what] = err.Error()
	}
	const who = "shop/production/ci holds runner pools and has "
	want := map[string]string{
		"stop": who + "no components to stop", "start": who + "no components to start", "repair": who + "nothing to repair: what its pools need they put back themselves",
		"drift": who + "no drift to look for: what its pools need they put back themselves", "rollback": who + "no driver that knows a way back",
		"backup": who + "nothing to back up or to restore: its runners keep nothing",
	}
	if d := cmp.Diff(words, want); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}

	_, err := w.deploy(1, []byte(strings.Replace(string(toml("1.0.0", "1.0.0")), `name = "guestbook"`, `name = "ci"`, 1)))
	w.refused(err, slipway.Conflict, "shop/production/ci is a runner application, and cannot become a driver application")
	w.installed()
	_, err = w.deploy(1, []byte(strings.Replace(string(ci()), `name = "ci"`, `name = "guestbook"`, 1)))
	w.refused(err, slipway.Conflict, "shop/production/guestbook is a driver application, and cannot become a runner application")

	_, err = w.s.CreateEnvironment(ctx, w.admin, CreateEnvironmentInput{Project: "shop", Name: "x", Namespace: "shop-production-runners-1"})
	w.refused(err, slipway.Invalid, "is how the namespaces of runner applications are called")
}

// A retry of a runner application's task goes through its own steps.
func TestARunnerApplicationsTaskIsRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withNodes()
	a := w.mustDeploy(0, ci())
	w.end(a, slipway.Failed)
	plan, err := w.s.PlanRetry(t.Context(), w.reader, RetryInput{TaskID: a.Task.ID})
	w.ok(err)
	var names []string
	for _, s := range plan.Steps {
		names = append(names, s.Key)
	}
	if want := []string{"check", "namespace", "pools"}; !slices.Equal(names, want) {
		t.Errorf("steps = %q, want %q", names, want)
	}
	_, err = w.s.RetryTask(t.Context(), w.writer, RetryInput{TaskID: a.Task.ID})
	w.ok(err)
}

func TestANewValueOfACredentialWakesItsPools(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.withNodes()
		a := w.mustDeploy(0, ci())
		pool := w.poolsOf(a.Application.ID)["runner"]
		for name, want := range map[string][]string{"other-token": nil, "token": {fmt.Sprint("pool ", pool.ID)}} {
			w.woken = nil
			w.must(w.s.SetSecret(w.Context(), w.writer, SetSecretInput{Project: "shop", Environment: "production", Name: name, Value: []byte("ghp_y")}))
			if diff := cmp.Diff(want, w.woken); diff != "" {
				w.Errorf("woken by a new %s (-want +got):\n%s", name, diff)
			}
		}
	})
}
