package sim

import (
	"testing"
)

// Runs that are kept: each found a bug, one that was planted or a real one, and each must
// come to rest.
var kept = []struct {
	name  string
	steps []Step
}{
	{"runners that leave count against the limit until their pods are gone", []Step{{Do: Create}, {Do: WorkAll, N: 1}, {Do: Matrix}, {Do: TakeAll}}},
	{"an idle runner gets a job at the moment at which its registration is taken away", []Step{
		{Do: Create}, {Do: WorkAll, N: 1}, {Do: Queue}, {Do: TakeAll}, {Do: WorkAll}, {Do: Pods, N: 3}, {Do: WorkAll}, {Do: Relabel}, {Do: WorkAll, Fault: Fault{1, Race}},
		{Do: TakeAll}, {Do: WorkAll},
	}},
	{"a list of the cluster breaks off while a runner leaves", []Step{
		{Do: Create, N: 3}, {Do: WorkAll, N: 1}, {Do: Pods, N: 3}, {Do: WorkAll}, {Do: Relabel}, {Do: WorkAll}, {Do: WorkAll, Fault: Fault{1, Partial}}, {Do: WorkAll},
	}},
	{"a pool becomes smaller while its runners have jobs", []Step{
		{Do: Create, N: 4}, {Do: WorkAll, N: 1}, {Do: Matrix}, {Do: TakeAll}, {Do: WorkAll, N: 1}, {Do: Pods, N: 6}, {Do: TakeAll}, {Do: WorkAll},
		{Do: Scale}, {Do: WorkAll, N: 1},
	}},
	{"a pool keeps runners by its schedule, under a ceiling", []Step{{Do: Create, N: 5}, {Do: Ceiling}}},
	{"what other pools keep is the whole ceiling, and a pool's jobs wait with the reason", []Step{
		{Do: Ceiling}, {Do: Create, N: 19697}, {Do: Create}, {Do: Create, N: 50563}, {Do: Matrix, N: 3}, {Do: Minimum, N: 65212}, {Do: Minimum, N: 5}, {Do: Create, N: 48353},
	}},
	{"a job that was queued before its pool was asked for", []Step{{Do: Queue}, {Do: TakeAll}, {Do: Create}}},
}

func TestKeptRuns(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	for _, k := range kept {
		if _, err := b.run(t, k.steps, false); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}

// TestEveryPoint has one thing go wrong at every point of a runner's life, one after the
// other: what seeds only meet by chance.
func TestEveryPoint(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	life := []Step{
		{Do: Create}, {Do: WorkAll, N: 1}, {Do: Queue}, {Do: TakeAll}, {Do: WorkAll}, {Do: Pods, N: 6}, {Do: TakeAll}, {Do: WorkAll}, {Do: Finish}, {Do: TakeAll}, {Do: WorkAll},
	}
	var sum Count
	for step, s := range life {
		if s.Do != WorkAll {
			continue
		}
		for _, what := range []What{Crash, CrashAfter, Lost, Race} {
			for at := 1; ; at++ {
				disturbed := append([]Step{}, life...)
				disturbed[step].Fault = Fault{at, what}
				c, err := b.run(t, disturbed, false)
				if err != nil {
					t.Errorf("%s at point %d of step %d: %v", what, at, step, err)
				}
				sum.Add(c)
				if c.Faults+c.Crashes == 0 {
					break // beyond the last point
				}
			}
		}
	}
	t.Logf("%d runs of handlers, %d faults, %d crashes", sum.Runs, sum.Faults, sum.Crashes)
}
