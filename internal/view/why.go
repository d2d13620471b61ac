package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Why answers for one job why it waits: a code for programs, one sentence for people, and
// what the sentence rests on.
type Why struct {
	Code     WhyCode
	Sentence string
	Evidence []string
	Pool     slipway.RunnerPool // that the job falls to, or the one that comes nearest; zero: none
	Slot     int64              // that serves it or is to; 0: none
	Since    time.Time          // of what the sentence tells; zero: not known
	NextTry  time.Time          // when it is tried again; zero: nothing is timed
}

// WhyCode is the cause in one word.
type WhyCode string

const (
	WhyRuns        WhyCode = "runs"         // it does not wait any more
	WhyEnded       WhyCode = "ended"        // nor does it
	WhyUnknown     WhyCode = "unknown"      // nothing was heard of it
	WhyNotQueued   WhyCode = "not-queued"   // the forge holds it back: for an approval, or for its turn
	WhyForgotten   WhyCode = "forgotten"    // it was queued for longer than the forge keeps a job
	WhyNoLabels    WhyCode = "no-labels"    // it asks for a group alone
	WhyHosted      WhyCode = "hosted"       // it asks for one of the forge's own runners
	WhyNoPool      WhyCode = "no-pool"      // no pool is of its organization or repository
	WhyLabels      WhyCode = "labels"       // no pool has all of its labels
	WhyConnection  WhyCode = "connection"   // it came through a connection that may not wake the pool
	WhyDeleting    WhyCode = "deleting"     // the pool is on its way out
	WhyPaused      WhyCode = "paused"       // the pool is paused
	WhyUnwatched   WhyCode = "unwatched"    // nobody looks after the pool
	WhyHeld        WhyCode = "held"         // runners cannot be launched
	WhyFull        WhyCode = "full"         // all runners are taken
	WhyCeiling     WhyCode = "ceiling"      // a ceiling that pools share is reached
	WhyStarting    WhyCode = "starting"     // a runner is on its way
	WhyNotGiven    WhyCode = "not-given"    // a runner waits, and the forge does not give it the job
	WhyHandingOver WhyCode = "handing-over" // a runner has just become free
	WhyLaunching   WhyCode = "launching"    // a runner is launched in a moment
	WhyUnexplained WhyCode = "unexplained"  // there is room, and yet nothing happens
)

// Situation is what is known around a job at one moment.
type Situation struct {
	Pools       []slipway.RunnerPool                // that the reader may see
	Statuses    map[int64]slipway.PoolStatus        // by pool
	Slots       map[int64][]slipway.Slot            // open ones by pool, at least of the pools that could serve the job
	Counts      map[int64]map[slipway.SlotState]int // open slots of all pools; nil: counted from Slots
	Connections []slipway.Connection                // that the reader may see
	Cluster     slipway.ClusterView
	Scopes      []int64 // environments through whose connections the job was heard of; 0: the installation
	Ahead       int     // queued jobs that came before it and fall to the same pool
	Now         time.Time
}

const (
	// handedOver is how long a forge may take to give a queued job to a runner that waits.
	handedOver = time.Minute
	// lookedAfter is how old the last look at a pool may be. It is looked at every half minute.
	lookedAfter = 3 * time.Minute
	// launchedWithin is how long a launch may take to begin.
	launchedWithin = time.Minute
	// namedBusy is how many busy runners a sentence's evidence names.
	namedBusy = 3
)

// WhyWaiting says why a job waits. It asks nobody: the same situation always gives the
// same answer.
func WhyWaiting(j slipway.Job, s Situation) Why {
	switch {
	case j.State == slipway.JobCompleted:
		return ended(j, s)
	case j.State == slipway.JobRunning:
		return runs(j, s)
	case j.State == slipway.JobWaiting:
		return Why{
			Code: WhyNotQueued, Since: j.SeenAt,
			Sentence: "GitHub has not queued it: it waits for an approval, or for its turn in a concurrency group",
			Evidence: []string{"its last word, at " + clock(j.SeenAt, s.Now) + ", was that it is waiting; only queued jobs wake pools"},
		}
	case s.Now.Sub(j.QueuedAt) >= slipway.MaxQueued:
		return Why{
			Code: WhyForgotten, Since: j.QueuedAt.Add(slipway.MaxQueued),
			Sentence: fmt.Sprintf("it was queued for more than %s, after which GitHub gives a job up, and so do we", hours(slipway.MaxQueued)),
			Evidence: []string{"queued since " + clock(j.QueuedAt, s.Now), "run it again to queue it anew"},
		}
	case len(j.Labels) == 0:
		return Why{
			Code: WhyNoLabels, Since: j.QueuedAt,
			Sentence: "it asks for a runner group and names no label, and GitHub does not say which group",
			Evidence: []string{"runs-on needs at least one label of a pool, such as self-hosted"},
		}
	}
	return s.queued(j)
}

// queued answers for a job that is demand.
func (s Situation) queued(j slipway.Job) Why {
	var inReach []slipway.RunnerPool
	for _, p := range s.Pools {
		if p.Spec.Scope.Host() == j.Host && p.Spec.Scope.Covers(j.Owner, j.Repository) {
			inReach = append(inReach, p)
		}
	}
	if len(inReach) == 0 {
		return s.outOfReach(j)
	}
	serving := slices.DeleteFunc(slices.Clone(inReach), func(p slipway.RunnerPool) bool { return !p.Spec.Serves(j) })
	if len(serving) == 0 {
		return s.nearest(j, inReach)
	}
	slices.SortFunc(serving, slipway.PoolOrder)
	may := slices.DeleteFunc(slices.Clone(serving), func(p slipway.RunnerPool) bool { return !s.mayWake(p) })
	if len(may) == 0 {
		return s.wrongConnection(j, serving)
	}
	open := slices.DeleteFunc(slices.Clone(may), func(p slipway.RunnerPool) bool { return p.Deleting || p.Paused })
	if len(open) == 0 {
		return s.shut(j, may)
	}
	w := s.at(j, s.chosen(open))
	if len(may) > 1 {
		w.Evidence = append(w.Evidence, fmt.Sprintf("%d pools could serve it; it falls to %s", len(may), w.Pool.Ref()))
	}
	return w
}

// mayWake reports whether the job was heard of through a connection that concerns the pool.
func (s Situation) mayWake(p slipway.RunnerPool) bool {
	return slices.Contains(s.Scopes, 0) || slices.Contains(s.Scopes, p.EnvironmentID)
}

// chosen is the pool whose demand the job is: the first that can take one more job than
// those before it, and the first when none can.
func (s Situation) chosen(open []slipway.RunnerPool) slipway.RunnerPool {
	for _, p := range open {
		if p.Left(s.Statuses[p.ID], s.open(p), s.Now) > s.Ahead {
			return p
		}
	}
	return open[0]
}

// at answers for a job that falls to a pool which takes demand.
func (s Situation) at(j slipway.Job, p slipway.RunnerPool) Why {
	status, c := s.Statuses[p.ID], s.counts(p)
	w := Why{Pool: p, Since: j.QueuedAt, Evidence: s.evidence(j, p, c)}
	switch {
	case status.CheckedAt.IsZero() && s.Now.Sub(p.CreatedAt) > lookedAfter, !status.CheckedAt.IsZero() && s.Now.Sub(status.CheckedAt) > lookedAfter:
		w.Code, w.Since = WhyUnwatched, status.CheckedAt
		w.Sentence = fmt.Sprintf("nobody has looked after the pool %s since %s; is there a server that works?", p.Ref(), clock(cmp.Or(status.CheckedAt, p.CreatedAt), s.Now))
	case c.idle > s.Ahead:
		s.idle(&w, j)
	case status.State == slipway.PoolHeld && !p.ChangedSince(status) && c.starting <= s.Ahead-c.idle:
		s.held(&w, status)
	case c.starting > max(0, s.Ahead-c.idle):
		s.starting(&w)
	case c.busy+c.leaving+c.idle+c.starting >= p.Spec.Replicas:
		s.full(&w, c)
	case status.State == slipway.PoolFull && !p.ChangedSince(status):
		w.Code = WhyCeiling
		w.Sentence = fmt.Sprintf("the pool %s launches no more runners for now: %s", p.Ref(), cmp.Or(status.Why, "a ceiling that it shares is reached"))
	case s.Now.Sub(j.SeenAt) < launchedWithin, status.State == slipway.PoolScaling, p.ChangedSince(status):
		w.Code = WhyLaunching
		w.Sentence = fmt.Sprintf("a runner of the pool %s is about to be launched for it", p.Ref())
	default:
		w.Code = WhyUnexplained
		w.Sentence = fmt.Sprintf("the pool %s has room for it, and yet no runner is launched; this should not last", p.Ref())
	}
	return w
}

// idle answers where a runner waits for exactly such a job.
func (s Situation) idle(w *Why, j slipway.Job) {
	var runner slipway.Slot
	for _, slot := range s.Slots[w.Pool.ID] {
		if slot.State == slipway.SlotIdle && (runner.ID == 0 || slot.Since.Before(runner.Since)) {
			runner = slot
		}
	}
	name := "a runner"
	if runner.ID != 0 {
		name, w.Slot = "the runner "+runner.Runner, runner.ID
	}
	// Neither the runner alone nor the job alone has waited: both have, together.
	since := later(j.QueuedAt, runner.Since)
	w.Since = since
	if s.Now.Sub(since) < handedOver {
		w.Code = WhyHandingOver
		w.Sentence = fmt.Sprintf("%s of the pool %s waits for a job since %s, and GitHub gives it one within moments", name, w.Pool.Ref(), clock(runner.Since, s.Now))
		return
	}
	w.Code = WhyNotGiven
	w.Sentence = fmt.Sprintf("%s of the pool %s waits since %s, and GitHub does not give it the job", name, w.Pool.Ref(), clock(runner.Since, s.Now))
	if w.Pool.Spec.Scope.Repository == "" {
		group := "the default runner group"
		if g := cmp.Or(w.Pool.Spec.Scope.Group, s.Statuses[w.Pool.ID].Group); g != 0 {
			group = fmt.Sprintf("the runner group %d", g)
		}
		w.Sentence += fmt.Sprintf(": most likely %s may not be used by %s/%s", group, j.Owner, j.Repository)
		w.Evidence = append(w.Evidence, "see the group's repository access under the organization's Settings → Actions → Runner groups; public repositories are excluded unless allowed")
	}
}

func (s Situation) held(w *Why, status slipway.PoolStatus) {
	why := cmp.Or(status.Why, status.HoldWhy, "the last launches failed")
	if status.HoldUntil.After(s.Now) && status.Outdated == "" {
		why = cmp.Or(status.HoldWhy, why)
	}
	w.Code = WhyHeld
	w.Sentence = fmt.Sprintf("the pool %s cannot launch runners: %s", w.Pool.Ref(), why)
	if status.HoldUntil.After(s.Now) {
		w.NextTry = status.HoldUntil
		w.Sentence += "; the next attempt is at " + clock(status.HoldUntil, s.Now)
	}
	if status.Failures > 0 {
		w.Evidence = append(w.Evidence, fmt.Sprintf("%s in a row failed", plural(status.Failures, "launch", "launches")))
	}
	w.Evidence = append(w.Evidence, s.clusterFaults(w.Pool)...)
}

// starting answers where a runner is on its way, with the one that has come furthest.
func (s Situation) starting(w *Why) {
	w.Code = WhyStarting
	var best slipway.Slot
	for _, slot := range s.Slots[w.Pool.ID] {
		if slot.State.Free() && slot.State != slipway.SlotIdle && (best.ID == 0 || phase(slot) > phase(best)) {
			best = slot
		}
	}
	if best.ID == 0 {
		w.Sentence = fmt.Sprintf("a runner of the pool %s is on its way", w.Pool.Ref())
		return
	}
	w.Slot, w.Since, w.NextTry = best.ID, best.Since, best.RetryAt
	w.Sentence = fmt.Sprintf("the runner %s of the pool %s is on its way: %s since %s", best.Runner, w.Pool.Ref(), phaseWords[best.State], clock(best.Since, s.Now))
	if best.Failure != "" {
		w.Sentence += "; the last attempt failed: " + best.Failure
		if best.RetryAt.After(s.Now) {
			w.Sentence += "; the next is at " + clock(best.RetryAt, s.Now)
		}
	}
	if best.Seen != "" {
		w.Evidence = append(w.Evidence, "its pod: "+best.Seen)
	}
	if best.State == slipway.SlotStarting && s.Now.Sub(best.Since) > launchedWithin {
		w.Evidence = append(w.Evidence, s.clusterFaults(w.Pool)...)
	}
}

var phaseWords = map[slipway.SlotState]string{
	slipway.SlotWanted:      "it is planned",
	slipway.SlotRegistering: "GitHub is asked for its registration",
	slipway.SlotLaunching:   "its pod is asked for",
	slipway.SlotStarting:    "its pod starts and its runner has not reported",
}

func phase(s slipway.Slot) int {
	return slices.Index([]slipway.SlotState{slipway.SlotWanted, slipway.SlotRegistering, slipway.SlotLaunching, slipway.SlotStarting}, s.State)
}

// full answers where the pool's own limit is reached.
func (s Situation) full(w *Why, c counted) {
	w.Code = WhyFull
	n := w.Pool.Spec.Replicas
	taken := fmt.Sprintf("all %d runners of the pool %s are taken", n, w.Pool.Ref())
	if n == 1 {
		taken = fmt.Sprintf("the one runner of the pool %s is taken", w.Pool.Ref())
	}
	var busy []slipway.Slot
	for _, slot := range s.Slots[w.Pool.ID] {
		if slot.State == slipway.SlotBusy {
			busy = append(busy, slot)
		}
	}
	slices.SortFunc(busy, func(a, b slipway.Slot) int { return cmp.Or(a.BusyAt.Compare(b.BusyAt), cmp.Compare(a.ID, b.ID)) })
	w.Sentence = taken
	switch {
	case len(busy) > 0:
		w.Sentence += fmt.Sprintf("; the longest, %s, is busy since %s", busy[0].Runner, clock(busy[0].BusyAt, s.Now))
	case c.leaving > 0:
		w.Sentence += fmt.Sprintf(", %d of them on the way out", c.leaving)
	}
	if s.Ahead > 0 {
		w.Sentence += fmt.Sprintf("; %s before it", plural(s.Ahead, "job waits", "jobs wait"))
	}
	for i, slot := range busy {
		if i == namedBusy {
			w.Evidence = append(w.Evidence, fmt.Sprintf("and %d more are busy", len(busy)-i))
			break
		}
		w.Evidence = append(w.Evidence, fmt.Sprintf("%s runs job %d since %s", slot.Runner, slot.Job, clock(slot.BusyAt, s.Now)))
	}
	for _, slot := range s.Slots[w.Pool.ID] {
		if (slot.State == slipway.SlotDraining || slot.State == slipway.SlotRemoving) && slot.Failure != "" {
			w.Evidence = append(w.Evidence, fmt.Sprintf("%s cannot be cleaned up and counts until it is: %s", slot.Runner, slot.Failure))
		}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func hours(d time.Duration) string { return fmt.Sprintf("%d hours", int(d.Hours())) }

// clock writes a moment so that it stays true: the time of this day, or the day too.
func clock(t, now time.Time) string {
	switch t, now = t.UTC(), now.UTC(); {
	case t.IsZero():
		return "an unknown time"
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		return t.Format("15:04:05 UTC")
	}
	return t.Format("2006-01-02 15:04 UTC")
}

func quoted(labels []string) string { return strings.Join(labels, ", ") }

// short writes how long something took.
func short(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	if d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	s := d.Truncate(time.Second).String()
	if strings.HasSuffix(s, "m0s") {
		return strings.TrimSuffix(s, "0s")
	}
	return s
}
