package dashboard

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// runnersSize is how much the page of a runner application lists; the command line shows
// the rest.
var runnersSize = view.PageSize{Slots: 60, Closed: 10, Jobs: 40, Recent: 10}

// fewPools is up to how many pools each has a box of its own; more are a table.
const fewPools = 8

type runnersModel struct {
	view.ApplicationPage
	Actions view.ActionsPage
}

// poolsModel is the list of all pools.
type poolsModel struct {
	In           string
	Pools        []view.PoolRow
	Environments []slipway.Environment
}

// runnerPools lists the pools of the installation.
func (s *site) runnerPools(r *request) error {
	m := poolsModel{In: r.URL.Query().Get("in")}
	project, environment := splitScope(m.In)
	var err error
	if m.Environments, err = s.environments(r.Context(), r.caller); err != nil {
		return err
	}
	m.Pools, err = s.View.RunnerPools(r.Context(), r.caller, view.PoolFilter{Project: project, Environment: environment})
	if err != nil {
		return err
	}
	page := r.liveFrame("Runners", "/runners", m.In)
	return r.render(http.StatusOK, poolsPage(page, m))
}

var poolSigns = map[slipway.PoolState]sign{
	"":                   {"Not looked at yet", "clock", "is-idle"},
	slipway.PoolSleeping: {"Sleeping", "clock", "is-idle"},
	slipway.PoolReady:    {"Ready", "ok", "is-ok"},
	slipway.PoolScaling:  {"Scaling", "busy", "is-busy"},
	slipway.PoolFull:     {"Full", "warn", "is-warn"},
	slipway.PoolHeld:     {"Held", "bad", "is-bad"},
	slipway.PoolPaused:   {"Paused", "stop", "is-warn"},
	slipway.PoolDeleting: {"Deleting", "busy", "is-busy"},
}

var slotSigns = map[slipway.SlotState]sign{
	slipway.SlotWanted:      {"Planned", "clock", "is-idle"},
	slipway.SlotRegistering: {"Registering", "busy", "is-busy"},
	slipway.SlotLaunching:   {"Launching", "busy", "is-busy"},
	slipway.SlotStarting:    {"Starting", "busy", "is-busy"},
	slipway.SlotIdle:        {"Idle", "ok", "is-ok"},
	slipway.SlotBusy:        {"Busy", "start", "is-busy"},
	slipway.SlotDraining:    {"Draining", "next", "is-warn"},
	slipway.SlotRemoving:    {"Removing", "next", "is-warn"},
	slipway.SlotClosed:      {"Closed", "off", "is-idle"},
}

var jobSigns = map[slipway.JobState]sign{
	"":                 {"Unknown", "off", "is-warn"},
	slipway.JobWaiting: {"Held back", "clock", "is-idle"},
	slipway.JobQueued:  {"Queued", "clock", "is-warn"},
	slipway.JobRunning: {"Running", "busy", "is-busy"},
}

func poolSign(s slipway.PoolState) sign { return lookUp(poolSigns, s) }
func slotSign(s slipway.SlotState) sign { return lookUp(slotSigns, s) }

func jobSign(j slipway.Job) sign {
	if j.State != slipway.JobCompleted {
		return lookUp(jobSigns, j.State)
	}
	switch j.Conclusion {
	case "success":
		return sign{"Succeeded", "ok", "is-ok"}
	case "":
		return sign{"Ended", "off", "is-idle"}
	case "cancelled", "skipped", "neutral":
		return sign{sentence(j.Conclusion), "off", "is-warn"}
	}
	return sign{sentence(strings.ReplaceAll(j.Conclusion, "_", " ")), "bad", "is-bad"}
}

// poolWhy is what stands beside a pool's state.
func poolWhy(p view.PoolRow) string {
	switch {
	case p.State() == slipway.PoolHeld:
		return cmp.Or(p.Status.HoldWhy, p.Status.Why)
	case p.State() == slipway.PoolPaused && p.Open() > 0:
		return count(p.Open(), "runner") + " still to end"
	case p.State() == slipway.PoolSleeping:
		return cmp.Or(p.Status.Why, "no runner, and no job that needs one")
	}
	return p.Status.Why
}

// noJobs is what stands in place of the jobs, where there are none or none is told of.
func noJobs(pools []view.PoolRow) string {
	if len(pools) > 0 && !slices.ContainsFunc(pools, func(p view.PoolRow) bool { return p.Spec.Scope.Forge.TellsJobs() }) {
		forge := pools[0].Spec.Scope.Forge.Name()
		return "Jobs are on the pages of " + forge + ", which hands them out itself and does not tell of them."
	}
	return "No job runs or waits."
}

// poolFor names whose jobs the pool serves.
func poolFor(p view.PoolRow) string {
	scope := p.Spec.Scope.String()
	if host := p.Spec.Scope.Host(); host != slipway.GitHubHost {
		scope += " on " + host
	}
	return scope
}

// poolSleeps says how many runners a pool keeps that is not fixed, and when the others go.
func poolSleeps(p view.PoolRow) string {
	if p.Spec.Minimum == 0 {
		return "to zero after " + unit(p.Spec.Idle)
	}
	return fmt.Sprintf("to %d after %s", p.Spec.Minimum, unit(p.Spec.Idle))
}

// leaks is what a sweep found that does not belong together.
func leaks(l slipway.Ledger) int { return len(l.Pods) + len(l.Registrations) + len(l.Slots) }

// ledgerWords is the promise that nothing leaks, or what broke it.
func ledgerWords(l slipway.Ledger) string {
	words := count(len(l.Pods), "pod") + " without a slot, " + count(len(l.Registrations), "registration") + " without a slot"
	if n := len(l.Slots); n > 0 {
		words += ", " + count(n, "slot") + " without a pod"
	}
	return words
}

func ledgerNames(l slipway.Ledger) (out []string) {
	for what, names := range map[string][]string{"pod ": l.Pods, "registration ": l.Registrations, "slot ": l.Slots} {
		for _, n := range names[:min(len(names), 10)] {
			out = append(out, what+n)
		}
	}
	return out
}

// share is a part of a pool's limit, for its bar.
type share struct {
	Class string
	X, W  float64
}

// shares draws a pool's slots against its limit, in hundredths.
func shares(p view.PoolRow) (out []share) {
	all := max(p.Spec.Replicas, p.Open(), 1)
	x := 0.0
	for _, s := range []struct {
		class string
		n     int
	}{{"bar-busy", p.Count(slipway.SlotBusy)}, {"bar-idle", p.Count(slipway.SlotIdle)}, {"bar-start", p.Count(view.Starting...)}, {"bar-leave", p.Count(view.Leaving...)}} {
		if w := 100 * float64(s.n) / float64(all); w > 0 {
			out = append(out, share{s.class, x, w})
			x += w
		}
	}
	return out
}

func hundredths(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// span is one phase of a slot's life.
type span struct {
	Name, Class string
	From, To    time.Time // To is zero while it lasts
}

// spans are the phases of a slot's life that have begun, in their order.
func spans(s slipway.Slot) (out []span) {
	steps := []struct {
		name, class string
		at          time.Time
	}{
		{"registering", "bar-register", s.CreatedAt},
		{"launching", "bar-launch", s.RegisteredAt},
		{"starting", "bar-start", s.StartedAt},
		{"idle", "bar-idle", s.OnlineAt},
		{"busy", "bar-busy", s.BusyAt},
		{"cleaning up", "bar-leave", s.EndedAt},
	}
	end := s.ClosedAt
	for i, st := range steps {
		if st.at.IsZero() {
			continue
		}
		to := end
		for _, next := range steps[i+1:] {
			if !next.at.IsZero() {
				to = next.at
				break
			}
		}
		out = append(out, span{st.name, st.class, st.at, to})
	}
	return out
}

// spanShares draws the phases against each other. A short one still shows: what takes a
// second beside an hour is there.
func spanShares(s slipway.Slot, now time.Time) (out []share) {
	const least = 4.0
	all := spans(s)
	var total time.Duration
	for _, sp := range all {
		total += sp.took(now)
	}
	left := 100 - least*float64(len(all))
	x := 0.0
	for _, sp := range all {
		w := least
		if total > 0 {
			w += left * float64(sp.took(now)) / float64(total)
		}
		out = append(out, share{sp.Class, x, w})
		x += w
	}
	return out
}

func (s span) took(now time.Time) time.Duration {
	if s.To.IsZero() {
		return max(0, now.Sub(s.From))
	}
	return max(0, s.To.Sub(s.From))
}

// spanWords are the phases in words: "registering 0.4 s, starting 8.0 s, busy 4 min 2 s".
func spanWords(s slipway.Slot, now time.Time) string {
	var words []string
	for _, sp := range spans(s) {
		words = append(words, sp.Name+" "+took(sp.took(now)))
	}
	return strings.Join(words, ", ")
}

// slotSays is what a slot tells beside its state, and whether it is a failure.
func slotSays(s slipway.Slot) (text string, bad bool) {
	switch {
	case s.Failure != "":
		return s.Failure, true
	case s.State == slipway.SlotClosed:
		return cmp.Or(s.Result, s.Reason), false
	case s.Reason != "":
		return s.Reason, false
	}
	return s.Seen, false
}

func jobAddress(j slipway.Job) string { return address("jobs", j.Host, id(j.ID)) }

// jobTitle is a job as people know it: its workflow and its name.
func jobTitle(j slipway.Job) string {
	return cmp.Or(strings.Trim(j.Workflow+" · "+j.Name, " ·"), "job "+id(j.ID))
}

// jobRuns is the run of a job, and the attempt when it is not the first.
func jobRuns(j slipway.Job) string {
	if j.Attempt > 1 {
		return fmt.Sprintf("run %d, attempt %d", j.RunID, j.Attempt)
	}
	return fmt.Sprintf("run %d", j.RunID)
}

func poolAddress(p view.PoolRow) string {
	return address("applications", p.Project, p.Environment, p.Application) + "#pool-" + id(p.ID)
}

// poolsWord is what a runner application has in place of a driver.
func poolsWord(a view.ApplicationRow) string {
	if a.Pools == 0 {
		return "runner pools"
	}
	return count(a.Pools, "runner pool")
}
