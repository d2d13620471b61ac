package view_test

import (
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// World: pure. Each row is a situation that people have reported of runner pools, by the
// name of its report where it has one.

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

// why is a situation in the making: one queued job of acme/shop, one pool of acme that
// sleeps and was looked at just now, and the installation's connection.
type why struct {
	job slipway.Job
	s   view.Situation
}

func newWhy() *why {
	return &why{
		job: slipway.Job{
			Host: "github.com", ID: 91, RunID: 70, Attempt: 1, Owner: "acme", Repository: "shop", Name: "test",
			Labels: []string{"self-hosted", "slipway"}, State: slipway.JobQueued, QueuedAt: ago(10 * time.Minute), SeenAt: ago(10 * time.Minute),
		},
		s: view.Situation{
			Now: noon, Scopes: []int64{0}, Slots: map[int64][]slipway.Slot{},
			Pools: []slipway.RunnerPool{{
				ID: 1, ApplicationID: 3, EnvironmentID: 5, Project: "shop", Environment: "production", Application: "team-ci", Service: "runner", CreatedAt: ago(time.Hour),
				Spec: slipway.PoolSpec{Scope: slipway.ForgeScope{Owner: "Acme"}, Labels: []string{"slipway"}, Architecture: slipway.AMD64, Replicas: 2, Idle: time.Minute},
			}},
			Statuses:    map[int64]slipway.PoolStatus{1: {PoolID: 1, State: slipway.PoolSleeping, CheckedAt: ago(2 * time.Second)}},
			Connections: []slipway.Connection{{ID: 1, Name: "acme-hook", Forge: "github", LastDelivery: ago(7 * time.Minute)}},
			Cluster:     slipway.ClusterView{RuntimeClass: true, LookedAt: ago(time.Second), Nodes: []slipway.Node{roomy}},
		},
	}
}

var roomy = slipway.Node{
	Name: "node-1", Ready: true, Schedulable: true, Runners: true, Architecture: slipway.AMD64,
	CPU: slipway.Amount{Allocatable: 8000}, Memory: slipway.Amount{Allocatable: 32 << 30}, Disk: slipway.Amount{Allocatable: 100 << 30}, Pods: slipway.Amount{Allocatable: 100},
}

func (w *why) pool(f func(*slipway.RunnerPool)) *why { f(&w.s.Pools[0]); return w }
func (w *why) of(f func(*slipway.Job)) *why          { f(&w.job); return w }
func (w *why) in(f func(*view.Situation)) *why       { f(&w.s); return w }

func (w *why) status(f func(*slipway.PoolStatus)) *why {
	st := w.s.Statuses[1]
	f(&st)
	w.s.Statuses[1] = st
	return w
}

// slot adds an open slot that is in its state for some time.
func (w *why) slot(state slipway.SlotState, since time.Duration, f ...func(*slipway.Slot)) *why {
	n := int64(len(w.s.Slots[1]) + 1)
	s := slipway.Slot{ID: n, PoolID: 1, Runner: "slipway-" + string(rune('a'+n-1)), State: state, Since: ago(since)}
	if state == slipway.SlotBusy {
		s.Job, s.BusyAt = 80+n, ago(since)
	}
	for _, g := range f {
		g(&s)
	}
	w.s.Slots[1] = append(w.s.Slots[1], s)
	return w
}

func (w *why) another(f func(*slipway.RunnerPool)) *why {
	p := w.s.Pools[0]
	p.ID, p.Service = int64(len(w.s.Pools)+1), "other"
	f(&p)
	w.s.Pools = append(w.s.Pools, p)
	w.s.Statuses[p.ID] = slipway.PoolStatus{PoolID: p.ID, State: slipway.PoolSleeping, CheckedAt: ago(time.Second)}
	return w
}

func held(why string, until time.Duration) func(*slipway.PoolStatus) {
	return func(s *slipway.PoolStatus) {
		s.State, s.HoldWhy, s.Failures = slipway.PoolHeld, why, 3
		if until > 0 {
			s.HoldUntil = noon.Add(until)
		}
	}
}

func TestWhyWaiting(t *testing.T) {
	t.Parallel()
	const pool = "shop/production/team-ci/runner"
	for _, c := range []struct {
		name     string
		w        *why
		code     view.WhyCode
		sentence string   // a part of it
		evidence []string // parts of it
	}{
		{
			"it runs on one of ours", newWhy().of(func(j *slipway.Job) {
				j.State, j.Runner, j.StartedAt = slipway.JobRunning, "slipway-a", ago(time.Minute)
			}).slot(slipway.SlotBusy, time.Minute),
			view.WhyRuns, "it runs on the runner slipway-a of the pool " + pool + " since 11:59:00 UTC", []string{"it waited 9m for the runner slipway-a"},
		},
		{
			"a foreign runner has it (ubicloud/ubicloud#1042)", newWhy().of(func(j *slipway.Job) {
				j.State, j.Runner, j.StartedAt = slipway.JobRunning, "their-box", ago(time.Minute)
			}),
			view.WhyRuns, "it runs on the runner their-box since", nil,
		},
		{
			"it has ended", newWhy().of(func(j *slipway.Job) {
				j.State, j.Conclusion, j.EndedAt = slipway.JobCompleted, "failure", ago(time.Minute)
			}),
			view.WhyEnded, "it ended with failure at 11:59:00 UTC", nil,
		},
		{
			"it waits for an approval for a day (runs-on#429)", newWhy().of(func(j *slipway.Job) { j.State, j.QueuedAt = slipway.JobWaiting, ago(26*time.Hour) }),
			view.WhyNotQueued, "waits for an approval, or for its turn in a concurrency group", []string{"only queued jobs wake pools"},
		},
		{
			"it was queued for a day and is forgotten", newWhy().of(func(j *slipway.Job) { j.QueuedAt = ago(25 * time.Hour) }),
			view.WhyForgotten, "more than 24 hours", []string{"queued since 2026-11-30 11:00 UTC", "run it again"},
		},
		{
			"a job without labels matches nothing (ARC#1370)", newWhy().of(func(j *slipway.Job) { j.Labels = nil }),
			view.WhyNoLabels, "asks for a runner group and names no label", nil,
		},
		{
			"no pool is of its organization", newWhy().of(func(j *slipway.Job) { j.Owner = "umbrella" }),
			view.WhyNoPool, "no pool is of umbrella/shop on github.com", []string{"there are pools of Acme on github.com"},
		},
		{
			"a pool of the same name on another host does not count (tf#3392)", newWhy().of(func(j *slipway.Job) { j.Host = "github.example.com" }),
			view.WhyNoPool, "on github.example.com", nil,
		},
		{
			"there is no pool at all", newWhy().in(func(s *view.Situation) { s.Pools = nil }),
			view.WhyNoPool, "no pool is of acme/shop", []string{"there is no pool yet"},
		},
		{
			"a pool of another repository does not serve it", newWhy().pool(func(p *slipway.RunnerPool) { p.Spec.Scope.Repository = "docs" }),
			view.WhyNoPool, "no pool is of acme/shop", []string{"Acme/docs"},
		},
		{
			"it asks for one of GitHub's own runners", newWhy().of(func(j *slipway.Job) { j.Labels = []string{"ubuntu-latest"} }),
			view.WhyHosted, "ubuntu-latest, which is one of GitHub's own runners", nil,
		},
		{
			"one label is missing", newWhy().of(func(j *slipway.Job) { j.Labels = []string{"self-hosted", "slipway", "gpu"} }),
			view.WhyLabels, pool + " comes nearest and lacks the label gpu", []string{"the job asks for self-hosted, slipway, gpu", "has self-hosted, linux, X64, slipway"},
		},
		{
			"the other architecture is a label that is missing (garm#163)", newWhy().of(func(j *slipway.Job) { j.Labels = []string{"self-hosted", "linux", "arm64"} }),
			view.WhyLabels, "lacks the label arm64", nil,
		},
		{
			"the nearest of two is named, with all that it lacks", newWhy().another(func(p *slipway.RunnerPool) { p.Spec.Labels = []string{"gpu"} }).of(func(j *slipway.Job) { j.Labels = []string{"gpu", "large", "slow"} }),
			view.WhyLabels, "team-ci/other comes nearest and lacks the labels large, slow", nil,
		},
		{
			"case is folded, so the pool serves it (tf#3800)", newWhy().of(func(j *slipway.Job) {
				j.Labels, j.SeenAt = []string{"Self-Hosted", "LINUX", "x64", "SlipWay"}, ago(time.Second)
			}),
			view.WhyLaunching, "is about to be launched", nil,
		},
		{
			"the connection may not wake the pool's environment", newWhy().in(func(s *view.Situation) {
				s.Scopes = []int64{8}
				s.Connections = append(s.Connections, slipway.Connection{ID: 2, Name: "dev-hook", EnvironmentID: 8, Project: "shop", Environment: "dev"})
			}),
			view.WhyConnection, "only through a connection that may not wake pools of shop/production", []string{"heard through dev-hook, which is confined to shop/dev"},
		},
		{
			"the pool is paused", newWhy().pool(func(p *slipway.RunnerPool) { p.Paused = true }),
			view.WhyPaused, "the pool " + pool + " is paused", nil,
		},
		{
			"of a paused pool and an open one the open one is told of", newWhy().pool(func(p *slipway.RunnerPool) { p.Paused = true }).another(func(p *slipway.RunnerPool) { p.Paused = false }).of(func(j *slipway.Job) { j.SeenAt = noon }),
			view.WhyLaunching, "team-ci/other", []string{"2 pools could serve it"},
		},
		{
			"the pool is being deleted, and its cleanup cannot end (ARC#4484, ARC#427)", newWhy().pool(func(p *slipway.RunnerPool) { p.Deleting = true }).slot(slipway.SlotDraining, time.Hour, func(s *slipway.Slot) { s.Failure = "GitHub refused the token" }),
			view.WhyDeleting, "is being deleted", []string{"slipway-a cannot be cleaned up: GitHub refused the token"},
		},
		{
			"no worker runs", newWhy().status(func(s *slipway.PoolStatus) { s.CheckedAt = ago(time.Hour) }),
			view.WhyUnwatched, "nobody has looked after the pool " + pool + " since 11:00:00 UTC", nil,
		},
		{
			"no worker has ever run", newWhy().in(func(s *view.Situation) { s.Statuses = nil }),
			view.WhyUnwatched, "since 11:00:00 UTC", nil,
		},
		{
			"the pool was at its limit when the job came, and still is (garm#47, tf#238, tf#458)", newWhy().slot(slipway.SlotBusy, 20*time.Minute).slot(slipway.SlotBusy, 40*time.Minute),
			view.WhyFull, "all 2 runners of the pool " + pool + " are taken; the longest, slipway-b, is busy since 11:20:00 UTC",
			[]string{"slipway-b runs job 82 since 11:20:00 UTC", "slipway-a runs job 81", "of 2 runners 2 are busy"},
		},
		{
			"its runner took another job (tf#4262, tf#3130, runs-on#504, runner#620)", newWhy().pool(func(p *slipway.RunnerPool) { p.Spec.Replicas = 1 }).slot(slipway.SlotBusy, time.Minute, func(s *slipway.Slot) { s.Job = 77 }).in(func(s *view.Situation) { s.Ahead = 2 }),
			view.WhyFull, "the one runner of the pool " + pool + " is taken; the longest, slipway-a, is busy since 11:59:00 UTC; 2 jobs wait before it", []string{"slipway-a runs job 77"},
		},
		{
			"what leaves and cannot be cleaned up counts against the limit", newWhy().slot(slipway.SlotDraining, time.Minute, func(s *slipway.Slot) { s.Failure = "GitHub does not answer" }).slot(slipway.SlotRemoving, time.Minute),
			view.WhyFull, "are taken, 2 of them on the way out", []string{"slipway-a cannot be cleaned up and counts until it is: GitHub does not answer"},
		},
		{
			"a ceiling above the pool is reached", newWhy().status(func(s *slipway.PoolStatus) {
				s.State, s.Why = slipway.PoolFull, "the ceiling that it shares with other pools is reached"
			}).slot(slipway.SlotBusy, time.Minute),
			view.WhyCeiling, "launches no more runners for now: the ceiling that it shares with other pools is reached", nil,
		},
		{
			"the token lacks a permission (runs-on#417, ARC#1240)", newWhy().status(held("GitHub refused the secret github-token: it lacks Self-hosted runners: read and write", 10*time.Minute)),
			view.WhyHeld, "cannot launch runners: GitHub refused the secret github-token: it lacks Self-hosted runners: read and write; the next attempt is at 12:10:00 UTC", []string{"3 launches in a row failed"},
		},
		{
			"GitHub is down (runner#3479, runner#4399)", newWhy().status(held("GitHub does not answer: HTTP 503", 30*time.Second)),
			view.WhyHeld, "HTTP 503; the next attempt is at 12:00:30 UTC", nil,
		},
		{
			"the runner program is too old for GitHub (runner#3366, runner#3486)", newWhy().status(func(s *slipway.PoolStatus) {
				s.State, s.Why = slipway.PoolHeld, "GitHub refuses the runner program 2.300.0"
			}),
			view.WhyHeld, "cannot launch runners: GitHub refuses the runner program 2.300.0", nil,
		},
		{
			"the sandbox is not there", newWhy().status(held("the cluster has no RuntimeClass slipway-actions", time.Minute)).in(func(s *view.Situation) { s.Cluster.RuntimeClass = false }),
			view.WhyHeld, "cannot launch runners", []string{"the cluster has no RuntimeClass slipway-actions"},
		},
		{
			"no node has room", newWhy().pool(func(p *slipway.RunnerPool) { p.Spec.Resources.CPURequest = 16000 }).status(held("its pod found no node", time.Minute)),
			view.WhyHeld, "its pod found no node", []string{"1 of 1 runners of runner have no place"},
		},
		{
			"the registration fails and is tried again (runs-on#546, tf#4990)", newWhy().slot(slipway.SlotRegistering, time.Minute, func(s *slipway.Slot) {
				s.Failure, s.RetryAt = "GitHub did not answer within 10s", noon.Add(8*time.Second)
			}),
			view.WhyStarting, "slipway-a of the pool " + pool + " is on its way: GitHub is asked for its registration since 11:59:00 UTC; the last attempt failed: GitHub did not answer within 10s; the next is at 12:00:08 UTC", nil,
		},
		{
			"its pod does not come up (tf#3535, tf#3493)", newWhy().slot(slipway.SlotStarting, 5*time.Minute, func(s *slipway.Slot) { s.Seen = "it pulls its image" }).in(func(s *view.Situation) { s.Cluster.Nodes = nil }),
			view.WhyStarting, "its pod starts and its runner has not reported since 11:55:00 UTC", []string{"its pod: it pulls its image", "1 of 1 runners of runner have no place"},
		},
		{
			"of two that start the one that has come further is told of", newWhy().slot(slipway.SlotWanted, time.Second).slot(slipway.SlotLaunching, time.Second),
			view.WhyStarting, "slipway-b of the pool " + pool + " is on its way: its pod is asked for", nil,
		},
		{
			"an idle runner is there since a moment: no delay is added (garm#270)", newWhy().slot(slipway.SlotIdle, 5*time.Second),
			view.WhyHandingOver, "slipway-a of the pool " + pool + " waits for a job since 11:59:55 UTC", nil,
		},
		{
			"an idle runner waits for an hour and the job came just now", newWhy().slot(slipway.SlotIdle, time.Hour).of(func(j *slipway.Job) { j.QueuedAt = ago(time.Second) }),
			view.WhyHandingOver, "gives it one within moments", nil,
		},
		{
			"an idle runner is there and GitHub does not give it the job: the group excludes the repository", newWhy().slot(slipway.SlotIdle, 5*time.Minute).status(func(s *slipway.PoolStatus) { s.Group = 7 }),
			view.WhyNotGiven, "GitHub does not give it the job: most likely the runner group 7 may not be used by acme/shop", []string{"repository access"},
		},
		{
			"the same of a repository's own pool, which has no group", newWhy().slot(slipway.SlotIdle, 5*time.Minute).pool(func(p *slipway.RunnerPool) { p.Spec.Scope.Repository = "shop" }),
			view.WhyNotGiven, "and GitHub does not give it the job", nil,
		},
		{
			"the idle runner is for the job before it, and another starts", newWhy().slot(slipway.SlotIdle, time.Second).slot(slipway.SlotStarting, time.Second).in(func(s *view.Situation) { s.Ahead = 1 }),
			view.WhyStarting, "slipway-b", nil,
		},
		{
			"a job waits and the ceiling is free: it is not made up why (ARC#3953, ARC#3420, ARC#4027)", newWhy(),
			view.WhyUnexplained, "has room for it, and yet no runner is launched", []string{"of 2 runners 0 are busy, 0 wait, 0 start, 0 leave", "the pool was looked at 11:59:58 UTC"},
		},
		{
			"its first pool is full and the second takes it", newWhy().slot(slipway.SlotBusy, time.Minute).slot(slipway.SlotBusy, time.Minute).another(func(*slipway.RunnerPool) {}).of(func(j *slipway.Job) { j.SeenAt = noon }),
			view.WhyLaunching, "team-ci/other", nil,
		},
		{
			"its first pool is held and the second takes it", newWhy().status(held("refused", time.Minute)).another(func(*slipway.RunnerPool) {}).of(func(j *slipway.Job) { j.SeenAt = noon }),
			view.WhyLaunching, "team-ci/other", nil,
		},
		{
			"its first pool's image was turned away and the second takes it", newWhy().status(func(s *slipway.PoolStatus) { s.Outdated = "runner@sha256:1" }).another(func(*slipway.RunnerPool) {}).of(func(j *slipway.Job) { j.SeenAt = noon }),
			view.WhyLaunching, "team-ci/other", nil,
		},
		{
			"its first pool was changed since it was held, and tries anew", newWhy().status(held("refused", time.Minute)).pool(func(p *slipway.RunnerPool) { p.UpdatedAt = ago(time.Second) }).another(func(*slipway.RunnerPool) {}),
			view.WhyLaunching, pool + " is about to be launched", nil,
		},
		{
			"what its first pool planned before it was held is no runner", newWhy().status(held("refused", time.Minute)).slot(slipway.SlotWanted, time.Minute).another(func(*slipway.RunnerPool) {}).of(func(j *slipway.Job) { j.SeenAt = noon }),
			view.WhyLaunching, "team-ci/other", nil,
		},
		{
			"an image that is turned away counts before an older failure", newWhy().status(held("refused", time.Minute)).status(func(s *slipway.PoolStatus) { s.Outdated, s.Why = "runner@sha256:1", "GitHub does not take it" }),
			view.WhyHeld, "cannot launch runners: GitHub does not take it", nil,
		},
		{
			"the pool's runners cannot be listed, and that is said", newWhy().slot(slipway.SlotStarting, time.Second).status(func(s *slipway.PoolStatus) { s.ListError = "HTTP 502" }),
			view.WhyStarting, "on its way", []string{"its runners cannot be listed: HTTP 502"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := view.WhyWaiting(c.w.job, c.w.s)
			if got.Code != c.code || !strings.Contains(got.Sentence, c.sentence) {
				t.Errorf("%s: %s\nwant %s: … %s …", got.Code, got.Sentence, c.code, c.sentence)
			}
			all := strings.Join(got.Evidence, "\n")
			for _, e := range c.evidence {
				if !strings.Contains(all, e) {
					t.Errorf("the evidence does not say %q:\n%s", e, all)
				}
			}
			if strings.Contains(got.Sentence, "\n") || got.Sentence == "" {
				t.Errorf("it is not one sentence: %q", got.Sentence)
			}
		})
	}
}

func TestUnheard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, host, owner string
		connections       []slipway.Connection
		sentence          string
		evidence          string
	}{
		{"a delivery was lost (ARC#2788, pytorch/ci-infra#271)", "github.com", "acme", []slipway.Connection{{ID: 1, Name: "a", LastDelivery: ago(time.Hour), RecoveredAt: ago(time.Minute)}, {ID: 2, Name: "b", LastDelivery: ago(time.Minute)}}, "nothing is known of it: no delivery of it came, or it asks for runners that no pool has; the last delivery of github.com came at 11:59:00 UTC through the connection b", "Recent Deliveries"},
		{"it was of GitHub's own runners and is not kept", "github.com", "acme", []slipway.Connection{{ID: 1, Name: "a", LastDelivery: ago(time.Hour)}}, "or it asks for runners that no pool has", "listed as ignored"},
		{"lost ones cannot be looked for", "github.com", "acme", []slipway.Connection{{ID: 1, Name: "a", LastDelivery: ago(time.Hour), RecoverError: "HTTP 403"}}, "through the connection a", "lost deliveries of a cannot be looked for: HTTP 403"},
		{"no delivery has ever come", "github.com", "acme", []slipway.Connection{{ID: 1, Name: "a"}}, "no delivery of github.com has ever come", "is the hook of the connection a set up"},
		{"there is no connection of the host", "ghes.example.com", "acme", []slipway.Connection{{ID: 1, Name: "a", LastDelivery: noon}}, "no connection receives deliveries of ghes.example.com", "make a connection"},
		{"no pool is of its owner either", "github.com", "umbrella", nil, "nothing was heard of it", "no pool is of umbrella"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newWhy().s
			s.Connections = c.connections
			got := view.Unheard(c.host, c.owner, s)
			if got.Code != view.WhyUnknown || !strings.Contains(got.Sentence, c.sentence) || !strings.Contains(strings.Join(got.Evidence, "\n"), c.evidence) {
				t.Errorf("%s: %s %q", got.Code, got.Sentence, got.Evidence)
			}
		})
	}
}
