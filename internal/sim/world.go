package sim

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// World is everything of one run: a database that outlives our process, our process, and
// the world outside of both.
type World struct {
	Count Count

	db    *Database
	store *store.Store
	box   *secret.Box
	log   bytes.Buffer // everything that our process logs
	proc  *process
	lives int // how often the process began

	hosts     []*host
	now       time.Time
	pods      []*pod
	made      int // pods so far
	lostNode  map[string]bool
	kubeDown  bool
	inbox     []arrival
	dropping  int // deliveries that are yet to be lost
	dropHow   int
	never     map[hostJob]bool // jobs of which a delivery was never sent at all
	losses    map[hostJob]int  // deliveries about a job that were lost
	jobs      []hostJob
	strangers int
	tight     bool // the forges' budgets are left for what cannot wait

	registrations map[string]registration // every name that we ever registered
	taken         []arrival               // the newest deliveries that were taken
	secrets       []string                // what may be in no row, log or error
	forgotten     map[string]bool         // runners that somebody gave up

	people       slipway.Caller
	environments []int64
	files        []*file
	asked        int // requests of people so far
	connections  []slipway.Connection
	ceiling      int   // of all pools together; 0: there is none
	carried      int64 // jobs of wake-ups that stand in for the queue's
	healed       time.Time

	other      *process // that lives beside ours
	flight     *flight  // the part of our process's work that goes on
	frozen     *flight  // one that does not go on for a while
	dead       bool     // our process has died, and its goroutines end
	looking    bool     // the simulation looks, and not our process
	fault      Fault
	points     int
	before     map[int64]int // open slots before the step, by pool
	violations []string
	trace      []string
	Tracing    bool
}

// Count is what a run did.
type Count struct {
	Steps, Faults, Crashes, Freezes, Deliveries, Lost, Jobs, Pods, Changes, Refusals, Runs int
}

// Add sums up.
func (c *Count) Add(o Count) {
	c.Steps += o.Steps
	c.Faults += o.Faults
	c.Crashes += o.Crashes
	c.Freezes += o.Freezes
	c.Deliveries += o.Deliveries
	c.Lost += o.Lost
	c.Changes += o.Changes
	c.Refusals += o.Refusals
	c.Jobs += o.Jobs
	c.Pods += o.Pods
	c.Runs += o.Runs
}

// begin is when every run begins: some hours before Berlin's clocks are put forward.
var begin = time.Date(2026, 3, 28, 22, 30, 0, 0, time.UTC)

// The names of what there is.
const (
	installation = "i-1"
	project      = "shop"
)

var (
	shop = forge.Repository{Owner: "acme", Name: "shop"}
	site = forge.Repository{Owner: "acme", Name: "site"}
	tool = forge.Repository{Owner: "other", Name: "tool"}
	// Two from which a job comes rarely, so that its delivery may be the first one ever heard.
	lab  = forge.Repository{Owner: "acme", Name: "lab"}
	docs = forge.Repository{Owner: "acme", Name: "docs"}
	// Each names self-hosted: a job that does not, and that no pool serves, concerns nobody.
	labelSets = [][]string{
		{"self-hosted", "slipway"}, {"self-hosted", "slipway"}, {"Self-Hosted", "LINUX", "Slipway"}, {"self-hosted", "slipway", "big"},
		{"self-hosted", "fixed"}, {"self-hosted", "slipway"}, {"self-hosted", "nobody-has-this"}, {},
	}
)

// New makes a world with a database, which it empties.
func New(ctx context.Context, db *Database, box *secret.Box) (*World, error) {
	w := &World{
		db: db, store: db.store, box: box, now: begin, lostNode: map[string]bool{}, never: map[hostJob]bool{}, losses: map[hostJob]int{},
		registrations: map[string]registration{}, forgotten: map[string]bool{}, before: map[int64]int{}, looking: true,
	}
	if err := db.empty(ctx); err != nil {
		return nil, err
	}
	db.clock = w.clock
	w.hosts = []*host{
		w.newHost("", "github-runner-token", shop, tool, lab, site, docs),
		w.newHost("https://ghe.example.com", "ghe-runner-token", shop),
	}
	if err := w.furnish(ctx); err != nil {
		return nil, fmt.Errorf("furnish the world: %w", err)
	}
	w.looking = false
	return w, w.start(ctx)
}

// clock is the store's: the world's time, and a point at which our process may die.
func (w *World) clock() time.Time {
	w.point(beginning, func(what What) bool { return what == Crash })
	return w.now
}

// look reads as the simulation, which nothing disturbs.
func (w *World) look(ctx context.Context, f func(tx *store.Tx) error) error {
	defer w.undisturbed()()
	return w.store.Read(ctx, f)
}

// write writes as a person's request does: whole, or not at all.
func (w *World) write(ctx context.Context, f func(tx *store.Tx) error) error {
	defer w.undisturbed()()
	return w.store.InTx(ctx, f)
}

func (w *World) undisturbed() (again func()) {
	was := w.looking
	w.looking = true
	return func() { w.looking = was }
}

// violate notes that what must never be is so.
func (w *World) violate(format string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
	w.tell("VIOLATED: "+format, args...)
}

func (w *World) tell(format string, args ...any) {
	if w.Tracing {
		w.trace = append(w.trace, w.now.Format("02 15:04:05 ")+fmt.Sprintf(format, args...))
	}
}

// Trace is what happened, line by line, when Tracing is set.
func (w *World) Trace() []string { return w.trace }

func (w *World) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}
