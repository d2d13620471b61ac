package sim

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/store/postgres/postgrestest"
)

// World: a real store on either database, a fake forge and a simulated cluster, both in
// this process; time is simulated.

var (
	seeds  = flag.Int("seeds", 2000, "how many seeds are run on SQLite; PostgreSQL gets one for twenty of them")
	first  = flag.Uint64("seed", 1, "the first seed")
	length = flag.Int("steps", 40, "how many steps a run has")
	within = flag.Duration("shrink", time.Minute, "how long a run that failed is made smaller")
)

func TestMain(m *testing.M) { postgrestest.Main(m) }

// bench is where runs take place, one after the other.
type bench struct {
	db  *Database
	box *secret.Box
}

func newBench(t *testing.T, open func(dir string) (*Database, error)) bench {
	t.Helper()
	// In memory where there is such a file system: what a run writes is thrown away, and
	// needs to survive no power cut.
	parent := ""
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		parent = "/dev/shm"
	}
	dir, err := os.MkdirTemp(parent, "slipway-sim-") //nolint:usetesting // t.TempDir would be on the disk
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	var b bench
	if b.box, err = secret.LoadOrCreate(filepath.Join(dir, "secret.key"), true); err != nil {
		t.Fatal(err)
	}
	if b.db, err = open(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.db.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func onSQLite(t *testing.T) bench {
	t.Helper()
	return newBench(t, func(dir string) (*Database, error) { return SQLite(t.Context(), dir) })
}

func onPostgres(t *testing.T) bench {
	t.Helper()
	return newBench(t, func(string) (*Database, error) { return Postgres(t.Context(), postgrestest.DSN(t)) })
}

func (b bench) run(t *testing.T, steps []Step, trace bool) (Count, error) {
	t.Helper()
	return Run(t.Context(), b.db, b.box, steps, trace)
}

func TestSeedsOnSQLite(t *testing.T) {
	t.Parallel()
	runSeeds(t, *seeds, onSQLite)
}

func TestSeedsOnPostgres(t *testing.T) {
	t.Parallel()
	runSeeds(t, max(1, *seeds/20), onPostgres)
}

// runSeeds runs so many seeds on as many databases as there are processors.
func runSeeds(t *testing.T, n int, open func(*testing.T) bench) {
	t.Helper()
	var mu sync.Mutex
	var sum Count
	began, workers := time.Now(), min(n, runtime.GOMAXPROCS(0))
	t.Run("", func(t *testing.T) {
		for worker := range workers {
			t.Run(strconv.Itoa(worker), func(t *testing.T) {
				t.Parallel()
				b := open(t)
				for i := worker; i < n && !t.Failed(); i += workers {
					seed := *first + uint64(i) //nolint:gosec // not negative
					c, err := b.run(t, Draw(seed, *length), false)
					if err != nil {
						report(t, seed, Draw(seed, *length), err, b.run)
					}
					mu.Lock()
					sum.Add(c)
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d seeds in %s: %d steps, %d runs of handlers, %d faults, %d crashes, %d freezes, %d deliveries of which %d were lost, %d jobs, %d pods, %d changes, %d refusals",
		n, time.Since(began).Round(time.Second), sum.Steps, sum.Runs, sum.Faults, sum.Crashes, sum.Freezes, sum.Deliveries, sum.Lost, sum.Jobs, sum.Pods, sum.Changes, sum.Refusals)
}

// report makes a failing run small, and says how to have it again.
func report(t *testing.T, seed uint64, steps []Step, err error, run func(*testing.T, []Step, bool) (Count, error)) {
	t.Helper()
	var f *Failure
	if !errors.As(err, &f) {
		t.Errorf("seed %d: %v", seed, err)
		return
	}
	began := time.Now()
	small := Shrink(steps, func(s []Step) bool {
		if time.Since(began) > *within {
			return false
		}
		_, err := run(t, s, false)
		return kind(err) == kind(f)
	})
	_, smallErr := run(t, small, true)
	trace := ""
	if errors.As(smallErr, &f) {
		trace = strings.Join(f.Trace, "\n")
	}
	t.Errorf("seed %d: %v\nmade small: %v\n%s\n%s\nonce more: go test ./internal/sim -run TestSeedsOnSQLite -seeds 1 -seed %d -steps %d",
		seed, err, smallErr, Format(small), trace, seed, len(steps))
}

// kind is an error without its numbers and names, so that a run is not made smaller into
// one that fails for another reason.
func kind(err error) string {
	var f *Failure
	if !errors.As(err, &f) {
		return ""
	}
	return variable.ReplaceAllString(f.Err.Error(), "")
}

var variable = regexp.MustCompile(`[0-9]+|slipway-i-1-[a-z0-9-]+|\[[^]]*\]`)

// What a seed does must not depend on chance, or nobody could look at a failure again.
func TestTheSameSeedGoesTheSameWay(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	way := func(seed uint64) string {
		w, err := New(t.Context(), b.db, b.box)
		if err != nil {
			t.Fatal(err)
		}
		w.Tracing = true
		for _, s := range Draw(seed, *length) {
			if err := w.Do(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Rest(t.Context()); err != nil {
			t.Fatal(err)
		}
		return name.ReplaceAllString(strings.Join(w.Trace(), "\n"), "a-runner")
	}
	for seed := *first; seed < *first+5; seed++ {
		one := way(seed)
		if diff := cmp.Diff(one, way(seed)); diff != "" {
			t.Errorf("seed %d goes two ways:\n%s", seed, diff)
		}
		if testing.Verbose() && seed == *first {
			t.Logf("seed %d:\n%s", seed, one)
		}
	}
}

// name is a runner's, which nobody can guess; not even the simulation.
var name = regexp.MustCompile(`slipway-i-1-[a-z0-9-]+`)
