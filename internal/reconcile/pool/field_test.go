package pool

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Reports of the field, each with what a correct system does. World: a fake forge and a
// fake cluster over SQLite; see scene.

func (s *scene) wantDone(n int) {
	s.Helper()
	if got := s.done(); got != n {
		s.Errorf("%d of %d jobs are done; slots %v, status %+v", got, n, s.states(), s.status())
	}
}

func (s *scene) wantStates(want ...slipway.SlotState) {
	s.Helper()
	if got := s.states(); !slices.Equal(got, want) {
		s.Errorf("slots are %v, want %v", got, want)
	}
}

func (s *scene) wantWhy(state slipway.PoolState, part string) {
	s.Helper()
	if got := s.status(); got.State != state || !strings.Contains(got.Why, part) {
		s.Errorf("the pool is %s (%s), want %s and %q", got.State, got.Why, state, part)
	}
}

func single(p *slipway.PoolSpec) { p.Replicas = 1 }

func TestAJobThatCameAtTheCeilingIsServedWithoutAnotherEvent(t *testing.T) { // garm#47, tf#238, tf#458
	t.Parallel()
	s := newScene(t, single)
	s.queueJobs(2)
	s.hear()
	s.hears = false // no delivery from now on: not even that the first job ended
	s.live(90 * time.Second)
	s.wantDone(2)
	s.hears = true
	s.live(3 * time.Minute)
	s.atRest()
}

func TestRunnersThatDieInTheirStartLoseNoDemand(t *testing.T) { // tf#3535, tf#3493; and ARC#3685, ARC#3700: what has failed is no capacity
	t.Parallel()
	s := newScene(t, single)
	s.kube.broken = "exit code 1"
	s.queueJobs(1)
	s.live(time.Minute)
	if n := len(s.kube.launched); n < 2 || n > 6 {
		t.Errorf("%d runners were launched in a minute: want a few, ever more rarely", n)
	}
	s.wantWhy(slipway.PoolHeld, "exit code 1")
	s.kube.broken = ""
	s.live(5 * time.Minute)
	s.wantDone(1)
	s.atRest()
	if got := s.status(); got.Failures != 0 {
		t.Errorf("after a success %d failures are counted", got.Failures)
	}
}

func TestAnIdleRunnerServesAndNobodyWaits(t *testing.T) { // garm#270
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Minimum = 1 })
	s.live(30 * time.Second)
	s.wantStates(slipway.SlotIdle)
	s.queueJobs(1)
	s.hear()
	s.wantStates(slipway.SlotIdle)
	s.queueJobs(1)
	s.hear() // one look, and no time passes
	if n := s.kube.count(); n != 2 {
		t.Errorf("%d pods right after a job that nobody is free for, want 2", n)
	}
}

func TestAJobWithoutLabelsWakesNobody(t *testing.T) { // ARC#1370
	t.Parallel()
	s := newScene(t)
	s.github.Queue(shop, []string{}, []string{"ubuntu-latest"}, []string{"self-hosted", "windows", "slipway"})
	s.live(time.Minute)
	if n := len(s.kube.launched); n != 0 {
		t.Errorf("%d runners were launched", n)
	}
}

func TestEveryLabelIsRegistered(t *testing.T) { // garm PR#163, runner PR#2443, TestFlows-GitHub-Hetzner-Runners PR#77, cdk-github-runners PR#906
	t.Parallel()
	for _, a := range []slipway.Architecture{slipway.AMD64, slipway.ARM64} {
		s := newScene(t, func(p *slipway.PoolSpec) { p.Architecture, p.Minimum = a, 1 })
		s.live(20 * time.Second)
		all := s.github.Registrations()
		if len(all) != 1 || !slices.Equal(all[0].Labels, []string{"self-hosted", "linux", a.Label(), "slipway"}) {
			t.Errorf("registered: %+v", all)
		}
		s.github.Queue(shop, []string{"Self-Hosted", "LINUX", strings.ToLower(a.Label()), "SlipWay"}) // tf#3800, tf PR#2315
		s.live(time.Minute)
		s.wantDone(1)
	}
}

func TestStolenRunnersLeaveNoJobWaiting(t *testing.T) { // tf#4262, tf#3130, runs-on#504, runner#620
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Replicas = 10 })
	s.github.Shuffle(true)
	for range 10 {
		s.queueJobs(5)
		s.live(6 * time.Second)
		s.look()
		if waits, room := len(s.jobsIn(slipway.JobQueued)), 10-len(s.slots()); waits > 0 && room > 0 && waits > s.free() {
			t.Errorf("%d jobs wait for %d free runners, and there is room for %d more", waits, s.free(), room)
		}
	}
	s.live(5 * time.Minute)
	s.wantDone(50)
	s.atRest()
	if n := len(s.kube.launched); n != 50 {
		t.Errorf("%d runners for 50 jobs", n)
	}
}

func (s *scene) jobsIn(state slipway.JobState) (out []slipway.Job) {
	for _, j := range s.jobs() {
		if j.State == state {
			out = append(out, j)
		}
	}
	return out
}

// free counts the slots that have, or will have, a runner for one more job.
func (s *scene) free() (n int) {
	for _, state := range s.states() {
		if state.Free() {
			n++
		}
	}
	return n
}

func TestARerunWakesAPoolThatSleeps(t *testing.T) { // pytorch/ci-infra#900
	t.Parallel()
	s := newScene(t, single)
	first := s.queueJobs(1)[0]
	s.hear()
	s.github.Finish(first, "failure")
	s.live(4 * time.Minute)
	s.atRest()
	s.wantWhy(slipway.PoolSleeping, "")
	s.must(s.github.RerunFailed(t.Context(), shop, s.jobs()[0].RunID))
	s.hear() // its one event
	s.hears = false
	if n := s.kube.count(); n != 1 {
		t.Errorf("%d pods after the one event of a rerun, want 1", n)
	}
	s.live(time.Minute)
	s.wantDone(1)
	s.hears = true
	s.live(3 * time.Minute)
	s.atRest()
}

// D29 of the reports: 502 for a while, then 429 with a time, then 403 until a reset.
func TestAForgeInTroubleHoldsUpItsOwnPoolAlone(t *testing.T) { // runner#4399, runner#3479
	t.Parallel()
	s := newScene(t, single)
	well := fake.New(s.time)
	well.AddRepository(forge.Repository{Owner: "umbrella", Name: "shop"})
	s.change = append(s.change, func(c *Config) {
		broken := c.Forge
		c.Forge = func(scope slipway.ForgeScope, credential string) (forge.Runners, error) {
			if credential == "ghp_1111111111111111111111111111111111111111" {
				return well, nil
			}
			return broken(scope, credential)
		}
	})
	s.restart()
	s.setSecret("other-token", "ghp_1111111111111111111111111111111111111111")
	other := s.another("other", func(p *slipway.RunnerPool) {
		p.Spec.Credential, p.Spec.Minimum, p.Spec.Scope.Owner = "other-token", 1, "umbrella"
	})
	s.pool.Spec.Replicas = 2 // of both pools together
	for range 20 {
		s.github.Break(fake.Fault{Op: "Register", Problem: forge.Away})
	}
	s.queueJobs(1)
	s.live(2 * time.Minute)
	if n := s.github.Calls("Register"); n < 2 || n > 9 {
		t.Errorf("a forge with a fault was asked %d times in two minutes: want a few, ever more rarely", n)
	}
	if n := s.kube.count(); n != 0 {
		t.Errorf("%d pods without a configuration", n)
	}
	s.lookAt(other.ID)
	if n := s.kube.count(); n != 1 {
		t.Errorf("%d pods of the pool whose forge is well, want 1", n)
	}
	s.every = 10 * time.Second
	for s.github.Calls("Register") < 20 {
		s.live(time.Minute)
	}
	for _, wait := range []time.Duration{2 * time.Minute, 10 * time.Minute} {
		s.github.Throttle(wait)
		asked := s.github.Calls("Register")
		for s.github.Calls("Register") == asked { // it is told to wait
			s.live(time.Minute)
		}
		asked = s.github.Calls("Register")
		s.live(wait - time.Minute)
		if n := s.github.Calls("Register"); n != asked {
			t.Errorf("asked %d times within the %s that the forge asked for", n-asked, wait)
		}
	}
	s.github.Throttle(0)
	s.live(20 * time.Minute)
	s.wantDone(1)
}

func TestALostReplyOfARegistrationLeavesNothingAndServesTheJob(t *testing.T) { // runs-on#546
	t.Parallel()
	s := newScene(t, single)
	s.github.Break(fake.Fault{Op: "Register", Lost: true})
	s.queueJobs(1)
	s.live(2 * time.Minute)
	s.wantDone(1)
	s.atRest()
	if len(s.kube.launched) != 1 || len(s.allSlots()) != 2 {
		t.Errorf("%d pods, %d slots; want one pod, and two slots of which one never had any", len(s.kube.launched), len(s.allSlots()))
	}
}

func TestANameThatIsTakenIsGivenUp(t *testing.T) { // ubicloud PR#692, runs-on#33
	t.Parallel()
	s := newScene(t, single)
	s.github.Break(fake.Fault{Op: "Register", Problem: forge.Taken})
	s.queueJobs(1)
	s.live(2 * time.Minute)
	s.wantDone(1)
	s.atRest()
	if n := s.github.Calls("Register"); n != 2 {
		t.Errorf("%d registrations were asked for, want 2", n)
	}
}

func TestNothingIsLaunchedWithoutAConfiguration(t *testing.T) { // tf PR#4990, runner#3479
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Replicas = 10 })
	for range 3 {
		s.github.Break(fake.Fault{Op: "Register", Problem: forge.Away})
	}
	s.queueJobs(10)
	s.hear()
	s.live(6 * time.Minute)
	s.wantDone(10)
	s.atRest()
	if n := len(s.kube.launched); n != 10 {
		t.Errorf("%d pods for 10 jobs", n)
	}
}

func TestAnEmptyListIsNoProof(t *testing.T) { // garm#91
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Minimum = 2 })
	s.live(30 * time.Second)
	before := s.kube.names()
	s.kube.hide = true
	s.look()
	s.pass(5 * time.Second)
	s.look()
	s.kube.hide = false
	s.kube.away = true
	s.live(2 * time.Minute)
	s.kube.away = false
	s.github.Break(fake.Fault{Op: "Runners", Problem: forge.Away})
	s.live(2 * time.Minute)
	if after := s.kube.names(); !slices.Equal(before, after) {
		t.Errorf("pods were %v and are %v", before, after)
	}
	s.wantStates(slipway.SlotIdle, slipway.SlotIdle)
}

func TestARegistrationThatIsGoneDoesNotKeepItsPod(t *testing.T) { // tf#4724
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Minimum = 1 })
	s.live(30 * time.Second)
	slot := s.slots()[0]
	s.must(s.github.Unregister(t.Context(), slot.Scope, slot.RunnerID))
	s.setPool(func(p *slipway.RunnerPool) { p.Spec.Minimum = 0 })
	s.live(3 * time.Minute)
	s.atRest()
}

func TestAPodThatIsRefusedTakesItsRegistrationWithIt(t *testing.T) { // biw/cloudflare-github-actions-runner#9
	t.Parallel()
	s := newScene(t, single)
	s.kube.launch = []error{slipway.Errorf(slipway.Conflict, "the namespace is not prepared")}
	s.queueJobs(1)
	s.hear()
	s.live(10 * time.Second)
	if all := s.github.Registrations(); len(all) > 1 {
		t.Errorf("registrations: %+v", all)
	}
	s.live(2 * time.Minute)
	s.wantDone(1)
	s.atRest()
}

func TestNothingIsRegisteredBeforeTheNamespaceIsPrepared(t *testing.T) {
	t.Parallel()
	s := newScene(t, single)
	s.write(func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: s.app.ID, Number: 1}); err != nil {
			return err
		}
		return tx.SetApplicationWanted(ctx, s.app.ID, 0, 1, 0)
	})
	s.queueJobs(1)
	s.live(20 * time.Second)
	if n := s.github.Calls("Register"); n != 0 {
		t.Errorf("%d registrations were asked for", n)
	}
	s.wantWhy(slipway.PoolHeld, "being prepared")
	s.write(func(ctx context.Context, tx *store.Tx) error {
		return tx.SetApplicationApplied(ctx, s.app.ID, store.Applied{Revision: 1})
	})
	s.live(2 * time.Minute)
	s.wantDone(1)
	s.atRest()
}

func TestALostReplyOfALaunchMakesNoSecondPod(t *testing.T) {
	t.Parallel()
	s := newScene(t, single)
	s.kube.lost = true
	s.queueJobs(1)
	s.live(time.Minute)
	s.wantDone(1)
	s.atRest()
	if len(s.kube.launched) != 1 {
		t.Errorf("%d pods were made", len(s.kube.launched))
	}
}

func TestAThrottledCredentialIsLeftAloneForAsLongAsItAsks(t *testing.T) { // tf#4710, tf#5037, tf PR#5132
	t.Parallel()
	s := newScene(t, single)
	s.queueJobs(1)
	s.heard()
	s.github.Throttle(2 * time.Minute)
	s.look()
	first := s.github.Calls("Register")
	s.live(100 * time.Second)
	if n := s.github.Calls("Register"); n != first {
		t.Errorf("%d registrations were asked for before the time", n-first)
	}
	s.wantWhy(slipway.PoolHeld, "limit")
	s.github.Throttle(0)
	s.live(3 * time.Minute)
	s.wantDone(1)
	s.atRest()
}

func TestARefusedCredentialIsSaidAndAskedRarelyUntilANewOneIsSaved(t *testing.T) { // runs-on#417, ARC#1240
	t.Parallel()
	s := newScene(t)
	s.queueJobs(2)
	s.heard()
	s.github.Forbid("acme", true)
	s.live(10 * time.Minute)
	if n := s.github.Calls("Register"); n > 10 {
		t.Errorf("%d registrations were asked for in ten minutes, want at most one a minute", n)
	}
	s.wantWhy(slipway.PoolHeld, "may not see acme; give it access")
	s.github.Forbid("acme", false)
	s.setSecret("github-token", "ghp_9999999999999999999999999999999999999999")
	s.look() // as the change of the secret would have it
	s.live(90 * time.Second)
	s.wantDone(2)
	s.atRest()
}

func TestARunnerThatTakesAJobAtTheLastMomentIsKept(t *testing.T) { // tf#5085
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Minimum = 1 })
	s.live(30 * time.Second)
	s.kube.work = 5 * time.Minute
	s.queueJobs(1)
	s.hears = false
	s.github.Assign() // nobody hears of it
	s.setPool(func(p *slipway.RunnerPool) { p.Spec.Minimum = 0 })
	s.live(4 * time.Minute)
	s.wantStates(slipway.SlotBusy)
	s.hears = true
	s.live(4 * time.Minute)
	s.wantDone(1)
	s.atRest()
}

func TestABusyFlagThatLiesEndsNoJob(t *testing.T) { // tf PR#5228, tf PR#5201
	t.Parallel()
	s := newScene(t, single)
	s.kube.work = 10 * time.Minute
	s.queueJobs(1)
	s.live(20 * time.Second)
	s.wantStates(slipway.SlotBusy)
	s.github.LieAboutBusy(s.slots()[0].RunnerID, false)
	s.setPool(func(p *slipway.RunnerPool) { p.Spec.Timeout = 2 * time.Hour })
	s.live(9 * time.Minute)
	s.wantStates(slipway.SlotBusy)
	s.live(2 * time.Minute)
	s.wantDone(1)
	s.atRest()
}

func TestARunnerThatTheListOnceCalledBusyIsFreeAgain(t *testing.T) { // tf PR#5228, the other way
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Replicas, p.Minimum = 1, 1 })
	s.live(30 * time.Second)
	id := s.slots()[0].RunnerID
	s.github.LieAboutBusy(id, true)
	s.live(time.Minute)
	s.wantStates(slipway.SlotBusy)
	s.github.LieAboutBusy(id, false)
	s.live(14 * time.Minute)
	s.wantStates(slipway.SlotBusy)
	s.live(2 * time.Minute)
	s.wantStates(slipway.SlotIdle)
	if got := s.slots()[0]; !got.BusyAt.IsZero() || got.Job != 0 {
		t.Errorf("it is on record as having had a job: %+v", got)
	}
	s.setPool(func(p *slipway.RunnerPool) { p.Spec.Minimum = 0 })
	s.live(3 * time.Minute)
	s.atRest()
}

func TestARunnerWhoseJobNobodyNamesIsNotEnded(t *testing.T) { // tf PR#5228: all deliveries lost, and the flag false for an hour
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Replicas, p.Minimum = 1, 1 })
	s.every = 4 * time.Second
	s.live(30 * time.Second)
	s.kube.work = 50 * time.Minute
	s.queueJobs(1)
	s.hears = false
	s.github.Assign()
	s.live(time.Minute)
	s.wantStates(slipway.SlotBusy)
	s.github.LieAboutBusy(s.slots()[0].RunnerID, false)
	s.setPool(func(p *slipway.RunnerPool) { p.Spec.Minimum = 0 })
	before := s.github.Calls("Unregister")
	s.live(45 * time.Minute)
	if s.github.Calls("Unregister") == before {
		t.Error("nobody asked for its end: nothing is shown")
	}
	if s.kube.count() != 1 {
		t.Error("its pod is gone")
	}
	s.live(10 * time.Minute)
	s.wantDone(1)
	s.live(3 * time.Minute)
	s.atRest()
}

func TestPausingAndChangingInterruptNoJob(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*slipway.RunnerPool){
		"paused":  func(p *slipway.RunnerPool) { p.Paused = true },
		"smaller": func(p *slipway.RunnerPool) { p.Spec.Replicas = 1 },
		"moved":   func(p *slipway.RunnerPool) { p.Spec.Scope.Repository, p.Generation = "shop", 99 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.kube.work = 3 * time.Minute
			s.queueJobs(2)
			s.live(20 * time.Second)
			s.wantStates(slipway.SlotBusy, slipway.SlotBusy)
			s.setPool(change)
			s.pool.Spec.Replicas = 2 // what runs already may end
			s.live(6 * time.Minute)
			s.wantDone(2)
			s.atRest()
		})
	}
}

func TestOnlyDeletingAPoolCancelsItsJobs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.kube.work = time.Hour
	s.queueJobs(2)
	s.live(20 * time.Second)
	s.setPool(func(p *slipway.RunnerPool) { p.Deleting = true })
	s.live(20 * time.Second)
	if s.kube.count() != 0 {
		t.Errorf("%d pods are left", s.kube.count())
	}
	for _, slot := range s.slots() {
		if slot.Failure == "" {
			t.Errorf("slot %d is %s and does not say what keeps it", slot.ID, slot.State)
		}
	}
	for _, j := range s.jobs() { // the forge notices after a while
		s.github.Finish(j.ID, "cancelled")
	}
	s.live(3 * time.Minute)
	s.atRest()
	s.wantWhy(slipway.PoolDeleting, "")
}

func TestACleanupThatCannotEndSaysWhyAndGoesOn(t *testing.T) { // ARC#4484, ARC#4167, ARC#427
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Minimum = 2 })
	s.live(30 * time.Second)
	s.github.Revoke(true)
	s.setPool(func(p *slipway.RunnerPool) { p.Deleting = true })
	s.live(5 * time.Minute)
	s.wantStates(slipway.SlotDraining, slipway.SlotDraining)
	for _, slot := range s.slots() {
		if !strings.Contains(slot.Failure, "not accepted") || !strings.Contains(slot.Failure, "save a new one") {
			t.Errorf("slot %d says %q", slot.ID, slot.Failure)
		}
	}
	if n := s.github.Calls("Unregister"); n > 40 {
		t.Errorf("the forge was asked %d times in five minutes", n)
	}
	s.write(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSecret(ctx, s.env.ID, "github-token") })
	s.live(2 * time.Minute)
	for _, slot := range s.slots() {
		if !strings.Contains(slot.Failure, `secret "github-token"`) {
			t.Errorf("slot %d says %q", slot.ID, slot.Failure)
		}
	}
	s.setSecret("github-token", "ghp_9999999999999999999999999999999999999999")
	s.github.Revoke(false)
	s.live(2 * time.Minute)
	s.atRest()
}

func TestAnOutdatedRunnerStopsLaunching(t *testing.T) { // runner#3366, runner#3486, ARC PR#4404
	t.Parallel()
	s := newScene(t, single)
	s.kube.broken, s.kube.outdated = "GitHub does not take this version any more (exit code 7)", true
	s.queueJobs(1)
	s.live(30 * time.Minute)
	if n := len(s.kube.launched); n != 1 {
		t.Errorf("%d runners were launched, want 1", n)
	}
	s.wantWhy(slipway.PoolHeld, "runner@sha256:1")
	if got := s.status(); got.Demand != 1 {
		t.Errorf("demand is %d, want 1", got.Demand)
	}
	s.kube.broken = ""
	s.change = append(s.change, func(c *Config) { c.Image = "runner@sha256:2" })
	s.restart()
	s.live(5 * time.Minute)
	s.wantDone(1)
	s.atRest()
}

func TestAnOldRunnerProgramIsWarnedOfInTime(t *testing.T) { // runner#1991, runner#4019
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Minimum = 1 })
	s.every = time.Minute
	s.live(10 * time.Minute)
	s.github.OfferRunner("2.340.0")
	s.live(7 * time.Hour)
	if got := s.status(); got.Newest != "2.340.0" || got.Warning != "" {
		t.Errorf("on the first day: newest %s, warning %q", got.Newest, got.Warning)
	}
	s.pass(22 * 24 * time.Hour)
	s.live(5 * time.Minute)
	if got := s.status(); !strings.Contains(got.Warning, "GitHub refuses it in about 7 days") {
		t.Errorf("after three weeks: %q", got.Warning)
	}
}

func TestAPodThatIsKilledIsReplacedAndItsJobGivenUp(t *testing.T) { // runner#3539, runner#1546, runner#4309: the forge notices after its lease
	t.Parallel()
	s := newScene(t)
	s.kube.work = time.Hour
	s.queueJobs(1)
	s.live(20 * time.Second)
	s.wantStates(slipway.SlotBusy)
	s.kube.kill(s.slots()[0].Runner)
	s.live(time.Minute)
	if got := s.slots(); len(got) != 1 || got[0].State != slipway.SlotDraining || !strings.Contains(got[0].Failure, "GitHub still holds a job") {
		t.Errorf("after its pod was killed: %+v", got)
	}
	s.github.Finish(s.jobs()[0].ID, "failure") // its lease has ended
	s.kube.work = 0
	s.queueJobs(1)
	s.live(4 * time.Minute)
	s.wantDone(1)
	s.atRest()
}

func TestStraysAreFoundAndRemovedWhenTheyHaveLasted(t *testing.T) {
	t.Parallel()
	s := newScene(t, func(p *slipway.PoolSpec) { p.Minimum = 1 })
	s.live(30 * time.Second)
	prefix := NamePrefix(s.r.Installation)
	scope := slipway.ForgeScope{Owner: "acme"}
	for _, name := range []string{prefix + "runner-stray", "slipway-another0-runner-x", "somebodys"} {
		_, err := s.github.Register(t.Context(), scope, forge.Registration{Name: name, Labels: []string{"x"}})
		s.must(err)
	}
	s.kube.pods[prefix+"pod"] = &fakePod{Pod: Pod{Name: prefix + "pod", UID: "1", Pool: s.pool.ID, Slot: 4711, Over: true, CreatedAt: s.time()}}
	s.live(50 * time.Second)
	got := s.status().Ledger
	if !slices.Equal(got.Pods, []string{prefix + "pod"}) || !slices.Equal(got.Registrations, []string{prefix + "runner-stray"}) {
		t.Errorf("ledger: %+v", got)
	}
	s.live(2 * time.Minute)
	if got := s.status().Ledger; len(got.Pods)+len(got.Registrations) > 0 {
		t.Errorf("ledger at the end: %+v", got)
	}
	var names []string
	for _, r := range s.github.Registrations() {
		names = append(names, r.Name)
	}
	if len(names) != 3 || !slices.Contains(names, "slipway-another0-runner-x") || !slices.Contains(names, "somebodys") {
		t.Errorf("registrations at the end: %v; those of others must stay", names)
	}
	if s.kube.count() != 1 {
		t.Errorf("pods at the end: %v", s.kube.names())
	}
}

func TestAJobThatIsGivenToNobodyIsSaidAndLaunchesNoMore(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.queueJobs(1)
	s.hear()
	s.github.Finish(s.jobs()[0].ID, "cancelled") // for the forge it is gone; our row still waits
	s.hears = false
	s.live(5 * time.Minute)
	s.wantWhy(slipway.PoolReady, "GitHub gives 1 queued job to none of the runners")
	if n := len(s.kube.launched); n != 1 {
		t.Errorf("%d runners were launched", n)
	}
}

func TestTheForgesRequestsDoNotGrowWithSlots(t *testing.T) { // tf#4710: page once and share
	t.Parallel()
	calls := map[int]int{}
	for _, n := range []int{1, 12} {
		s := newScene(t, func(p *slipway.PoolSpec) { p.Replicas, p.Minimum = n, n })
		s.live(time.Minute)
		before := s.github.Calls("Runners") + s.github.Calls("Runner") + s.github.Calls("RunnerNamed")
		s.live(10 * time.Minute)
		calls[n] = s.github.Calls("Runners") + s.github.Calls("Runner") + s.github.Calls("RunnerNamed") - before
	}
	if calls[1] != calls[12] || calls[12] > 21 {
		t.Errorf("requests in ten quiet minutes, by slots: %v", calls)
	}
}

// setPool changes the pool as package change would.
func (s *scene) setPool(change func(*slipway.RunnerPool)) {
	s.Helper()
	p := s.pool
	change(&p)
	s.write(func(ctx context.Context, tx *store.Tx) (err error) {
		if s.pool, err = tx.PutRunnerPool(ctx, p, p.Generation != s.pool.Generation); err != nil {
			return err
		}
		if err := tx.SetRunnerPoolPaused(ctx, p.ID, p.Paused); err != nil {
			return err
		}
		return tx.SetRunnerPoolDeleting(ctx, p.ID, p.Deleting)
	})
	s.look()
}
