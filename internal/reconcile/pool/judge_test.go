package pool

import (
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// World: pure.
func TestJudge(t *testing.T) {
	t.Parallel()
	running := &slipway.Job{ID: 7, State: slipway.JobRunning, StartedAt: noon.Add(-time.Minute), SeenAt: noon.Add(-time.Minute)}
	just := &slipway.Job{ID: 7, State: slipway.JobCompleted, SeenAt: noon.Add(-time.Second)}
	long := &slipway.Job{ID: 7, State: slipway.JobCompleted, SeenAt: noon.Add(-2 * time.Minute)}
	pod, over := &Pod{Running: true}, &Pod{Over: true, Result: "exit code 0"}
	online, taken, offline := &forge.Runner{ID: 4, Online: true}, &forge.Runner{ID: 4, Online: true, Busy: true}, &forge.Runner{ID: 4}
	const registering, removing = slipway.SlotRegistering, slipway.SlotRemoving
	for _, c := range []struct {
		name string
		from slipway.SlotState
		see  Sighting
		want slipway.SlotState
	}{
		{"a registration that was cut short may be there", registering, Sighting{}, draining},
		{"a launch that was cut short lost its configuration", launching, Sighting{}, draining},
		{"even when its pod waits: its Secret may be missing", launching, Sighting{Pod: &Pod{}}, draining},
		{"but its runner began, so it has its configuration", launching, Sighting{Pod: pod}, starting},
		{"a pod that runs is no runner yet", starting, Sighting{Pod: pod, Runner: offline}, starting},
		{"it is online", starting, Sighting{Pod: pod, Runner: online}, idle},
		{"it has a job before it was seen to wait", starting, Sighting{Pod: pod, Job: running}, busy},
		{"the list says busy first", idle, Sighting{Pod: pod, Runner: taken}, busy},
		{"a list that says idle ends no job", busy, Sighting{Pod: pod, Runner: online}, busy},
		{"nor one that says offline", busy, Sighting{Pod: pod, Runner: offline, RunnerOff: true}, busy},
		{"nor one in which it is missing", busy, Sighting{Pod: pod, RunnerOut: true}, busy},
		{"nor one that did so for long, when a job was named", busy, Sighting{Pod: pod, Runner: online, Jobless: true, Job: running}, busy},
		{"one that nobody ever named a job for was called busy by mistake", busy, Sighting{Pod: pod, Runner: online, Jobless: true}, idle},
		{"which is not said of a pod that was not seen", busy, Sighting{Runner: online, Jobless: true}, busy},
		{"its job ended, and its pod is about to", busy, Sighting{Pod: pod, Job: just}, busy},
		{"its pod does not end by itself", busy, Sighting{Pod: pod, Job: long}, draining},
		{"its job and its pod have ended", busy, Sighting{Pod: over, Job: just}, draining},
		{"its pod ended and nobody told of a job", busy, Sighting{Pod: over}, draining},
		{"its pod is gone", busy, Sighting{PodGone: true, Job: running}, draining},
		{"nothing could be looked at", idle, Sighting{}, idle},
		{"its registration is gone", idle, Sighting{Pod: pod, RunnerOut: true}, draining},
		{"its node is silent", idle, Sighting{Pod: pod, Runner: offline, RunnerOff: true}, draining},
		{"it is offline for a moment", idle, Sighting{Pod: pod, Runner: offline}, idle},
		{"what leaves is left to the forge's word", draining, Sighting{Pod: pod, Runner: taken, Job: running}, draining},
		{"what is removed stays removed", removing, Sighting{Pod: pod, Runner: online}, removing},
	} {
		before := slipway.Slot{ID: 1, State: c.from, Pod: "uid"}
		got := Judge(before, c.see, noon)
		if got.State != c.want {
			t.Errorf("%s: %s, want %s", c.name, got.State, c.want)
		}
		if got.State == draining && c.from != draining && got.Reason == "" {
			t.Errorf("%s: it leaves without a reason", c.name)
		}
		if got.State != c.from && !c.from.MayMove(got.State) && !(c.from == launching && slipway.SlotStarting.MayMove(got.State)) {
			t.Errorf("%s: from %s to %s is no legal move", c.name, c.from, got.State)
		}
	}
}

// World: pure.
func TestASlotThatNeverGotToAJobIsAFailure(t *testing.T) {
	t.Parallel()
	slot := slipway.Slot{State: starting, StartedAt: noon.Add(-time.Minute)}
	end := func(change ...func(*slipway.Slot)) slipway.Slot {
		s := slot
		s.State, s.EndedAt, s.Reason = draining, noon, "it ended"
		for _, f := range change {
			f(&s)
		}
		return s
	}
	for _, c := range []struct {
		name string
		end  slipway.Slot
		want bool
	}{
		{"it ended in its start", end(), true},
		{"it had a job", end(func(s *slipway.Slot) { s.BusyAt = noon }), false},
		{"we let it go", end(func(s *slipway.Slot) { s.EndedAt = time.Time{} }), false},
		{"its time was up", end(func(s *slipway.Slot) { s.StartedAt = noon.Add(-time.Hour) }), false},
	} {
		if got := Failed(slot, c.end, time.Hour) != ""; got != c.want {
			t.Errorf("%s: a failure %v, want %v", c.name, got, c.want)
		}
	}
}

// World: pure.
func TestVersionWarning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, version, newest string
		since                 time.Duration
		want                  string
	}{
		{"nothing is known", "", "2.337.0", 0, ""},
		{"the newest", "2.337.0", "2.337.0", 100 * 24 * time.Hour, ""},
		{"a newer one came out last week", "2.337.0", "2.338.0", 7 * 24 * time.Hour, ""},
		{"numbers are compared as numbers", "2.337.10", "2.337.9", 29 * 24 * time.Hour, ""},
		{"ten days are left", "2.337.0", "2.338.0", 20 * 24 * time.Hour, "the runner program 2.337.0 is older than GitHub's 2.338.0: GitHub refuses it in about 10 days; set runners.image to a newer image"},
		{"none is left", "2.337.0", "2.340.1", 40 * 24 * time.Hour, "the runner program 2.337.0 is older than GitHub's 2.340.1 by a month: GitHub may refuse it at any time; set runners.image to a newer image"},
	} {
		got := versionWarning(slipway.PoolStatus{Version: c.version, Newest: c.newest, NewestAt: noon.Add(-c.since)}, noon)
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// World: pure.
func TestRunnerNamesAreLabelsAndNeverTheSame(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, service := range []string{"runner", "A_very.Long-name-of-a-service-that-goes-on-and-on-and-on", "-", "ü"} {
		for range 100 {
			name := runnerName(slipway.Installation{ExternalID: "K5TQ2ZLMN4"}, service)
			if len(name) > 63 || name != label(name, 63) || seen[name] || name[:17] != "slipway-k5tq2zlm-" {
				t.Fatalf("the name %q of service %q", name, service)
			}
			seen[name] = true
		}
	}
}

// World: pure. GitLab names no job and hears a runner again after two hours at the latest:
// silence ends no runner that may have a job.
func TestJudgeOnAForgeThatTellsOfNoJob(t *testing.T) {
	t.Parallel()
	before := slipway.Slot{ID: 1, State: idle, Scope: slipway.ForgeScope{Forge: slipway.GitLab, Owner: "acme"}}
	offline := &forge.Runner{ID: 4}
	if got := Judge(before, Sighting{Pod: &Pod{Running: true}, Runner: offline, RunnerOff: true}, noon); got.State != draining || !got.EndedAt.IsZero() {
		t.Errorf("a silent runner is %s and ended at %s; only its pod can tell that", got.State, got.EndedAt)
	}
	if got := Judge(before, Sighting{Pod: &Pod{Over: true}}, noon); got.BusyAt.IsZero() || Failed(before, got, 0) != "" {
		t.Errorf("a runner that ended well counts as a failure: %+v", got)
	}
	if got := Judge(before, Sighting{Pod: &Pod{Over: true, Fault: true}}, noon); Failed(before, got, 0) == "" {
		t.Error("a runner that ended with a fault, and without a job, is no failure")
	}
}
