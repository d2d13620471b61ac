package pool

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure.

func sorted(in []int64) []int64 { slices.Sort(in); return in }

func job(id int64, labels ...string) Job {
	return Job{slipway.Job{ID: id, Owner: "acme", Repository: "shop", Labels: labels, State: slipway.JobQueued, QueuedAt: noon.Add(time.Duration(id) * time.Second)}, []int64{0}}
}

func TestAssign(t *testing.T) {
	t.Parallel()
	organization := sleeper()
	own := sleeper(func(p *slipway.RunnerPool) { p.ID, p.Spec.Scope.Repository = 2, "shop" })
	first := sleeper(func(p *slipway.RunnerPool) { p.ID, p.Spec.Priority = 3, 10 })
	gpu := sleeper(func(p *slipway.RunnerPool) { p.ID, p.Spec.Labels = 4, []string{"slipway", "gpu"} })
	small := sleeper(func(p *slipway.RunnerPool) { p.ID, p.Spec.Replicas = 5, 1 })
	asleep := sleeper(paused, func(p *slipway.RunnerPool) { p.ID = 6 })
	old := job(1, "slipway")
	old.QueuedAt = noon.Add(-24 * time.Hour)
	running := job(2, "slipway")
	running.State = slipway.JobRunning
	waiting := job(3, "slipway")
	waiting.State = slipway.JobWaiting
	elsewhere := job(4, "slipway")
	elsewhere.Environments = []int64{8}
	here := job(5, "slipway")
	here.Environments = []int64{8, 7}
	seventh := sleeper(func(p *slipway.RunnerPool) { p.ID, p.EnvironmentID = 7, 7 })

	for _, c := range []struct {
		name  string
		jobs  []Job
		pools []slipway.RunnerPool
		load  Load
		want  map[int64][]int64
		none  []int64
	}{
		{"a repository's own pool before the organization's", []Job{job(1, "slipway")}, []slipway.RunnerPool{organization, own}, nil, map[int64][]int64{2: {1}}, nil},
		{"the higher priority", []Job{job(1, "slipway")}, []slipway.RunnerPool{organization, first}, nil, map[int64][]int64{3: {1}}, nil},
		{"rare runners are left alone by jobs that need less", []Job{job(1, "slipway"), job(2, "slipway", "GPU")}, []slipway.RunnerPool{gpu, organization}, nil, map[int64][]int64{1: {1}, 4: {2}}, nil},
		{"the next pool when the first is at its limit", []Job{job(1, "slipway"), job(2, "slipway")}, []slipway.RunnerPool{small, gpu}, nil, map[int64][]int64{5: {1}, 4: {2}}, nil},
		{"busy and leaving runners fill the limit", []Job{job(1, "slipway")}, []slipway.RunnerPool{small, gpu}, Load{5: 1}, map[int64][]int64{4: {1}}, nil},
		{"when all are full the job waits for the first", []Job{job(1, "slipway"), job(2, "slipway")}, []slipway.RunnerPool{small}, nil, map[int64][]int64{5: {1, 2}}, nil},
		{"only queued is demand, and for a day; not what waits for an approval (runs-on#429)", []Job{old, running, waiting}, []slipway.RunnerPool{organization}, nil, map[int64][]int64{}, nil},
		{"a job that was heard of through an environment's connection is demand there only", []Job{elsewhere, here}, []slipway.RunnerPool{organization, seventh}, nil, map[int64][]int64{7: {5}}, []int64{4}},
		{"a paused pool takes nothing", []Job{job(1, "slipway")}, []slipway.RunnerPool{asleep}, nil, map[int64][]int64{}, []int64{1}},
		{"a job that nobody serves is said to be nobody's", []Job{job(1, "ubuntu-latest"), job(2)}, []slipway.RunnerPool{organization}, nil, map[int64][]int64{}, []int64{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := Assign(c.jobs, c.pools, c.load, noon)
			got := map[int64][]int64{}
			for pool, jobs := range a.Jobs {
				got[pool] = jobIDs(jobs)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("jobs by pool (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.none, jobIDs(a.None)); diff != "" {
				t.Errorf("nobody's (-want +got):\n%s", diff)
			}
		})
	}
}

func jobIDs(jobs []Job) (out []int64) {
	for _, j := range jobs {
		out = append(out, j.ID)
	}
	return out
}

func TestDivide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		room int
		asks []Ask
		want map[int64]int
	}{
		{"enough for all", 9, []Ask{{1, 0, 2}, {2, 0, 3}}, map[int64]int{1: 2, 2: 3}},
		{"equals take turns", 3, []Ask{{1, 0, 100}, {2, 0, 1}}, map[int64]int{1: 2, 2: 1}},
		{"the higher priority is served first", 3, []Ask{{1, 0, 100}, {2, 5, 2}}, map[int64]int{1: 1, 2: 2}},
		{"no room", 0, []Ask{{1, 0, 1}}, map[int64]int{}},
		{"less than none, after the ceiling was lowered", -2, []Ask{{1, 0, 1}}, map[int64]int{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, Divide(c.room, c.asks)); diff != "" {
				t.Errorf("shares (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDivideGivesAllThatIsAskedOrAllThatThereIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(-1, 30).Draw(t, "room")
		var asks []Ask
		asked := 0
		for i := range rapid.IntRange(0, 6).Draw(t, "pools") {
			a := Ask{int64(i + 1), rapid.IntRange(0, 2).Draw(t, "priority"), rapid.IntRange(0, 9).Draw(t, "runners")}
			asked += a.Runners
			asks = append(asks, a)
		}
		given := 0
		for _, a := range asks {
			share := Divide(room, asks)[a.Pool]
			if share > a.Runners {
				t.Fatalf("pool %d is given %d and asked for %d", a.Pool, share, a.Runners)
			}
			given += share
		}
		if want := max(0, min(room, asked)); given != want {
			t.Fatalf("%d given, want %d", given, want)
		}
	})
}

func TestHoldAfter(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{
		0: 0, 1: 0, 2: 10 * time.Second, 3: 20 * time.Second, 4: 40 * time.Second, 8: 640 * time.Second, 9: 15 * time.Minute, 1_000_000: 15 * time.Minute,
	} {
		if got := HoldAfter(failures); got != want {
			t.Errorf("after %d failures %s, want %s", failures, got, want)
		}
	}
}
