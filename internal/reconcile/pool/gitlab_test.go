package pool

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/outside/forge/gitlab"
	"slipway.dev/slipway/internal/outside/forge/rest"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// World: the real GitLab client, a fake GitLab over loopback HTTP and a fake cluster, over
// SQLite and the scene's clock.

// gitlabScene is a pool of fixed size on a GitLab.
type gitlabScene struct {
	*scene
	world *fake.GitLab
	pods  *gitlabPods
}

func newGitLabScene(t *testing.T, change ...func(*slipway.PoolSpec)) *gitlabScene {
	t.Helper()
	const token = "ghp_0123456789012345678901234567890123456789" // the scene's secret
	world := fake.NewGitLab(token)
	world.Add("groups/acme")
	world.Add("projects/acme/shop")
	server := httptest.NewServer(world.Handler())
	t.Cleanup(server.Close)
	fixed := func(p *slipway.PoolSpec) {
		p.Scope = slipway.ForgeScope{Forge: slipway.GitLab, BaseURL: server.URL, Owner: "acme"}
		p.Idle, p.Labels = 0, []string{"gpu"}
	}
	g := &gitlabScene{scene: newScene(t, append([]func(*slipway.PoolSpec){fixed}, change...)...), world: world}
	g.pods = &gitlabPods{g: g, pods: map[string]*gitlabPod{}, ends: map[string]time.Time{}, work: 10 * time.Second}
	clients := &gitlab.Clients{Settle: time.Millisecond, Budget: rest.BudgetOptions{PerSecond: 1e6, Registrations: 1e6}}
	g.change = append(g.change, func(c *Config) {
		c.Cluster = g.pods
		c.Forge = func(s slipway.ForgeScope, credential string) (forge.Runners, error) {
			return clients.For(s.BaseURL, credential)
		}
	})
	g.restart()
	return g
}

// gitlabPods are pods in which a stand-in for gitlab-runner asks for one job and ends.
type gitlabPods struct {
	g    *gitlabScene
	mu   sync.Mutex
	pods map[string]*gitlabPod
	work time.Duration
	most int
	slow bool // pods that were asked to end do not
	ends map[string]time.Time
}

type gitlabPod struct {
	Pod
	token string
	job   int64
	begun time.Time
}

func (c *gitlabPods) Launch(_ context.Context, l Launch) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[l.Slot.Runner] = &gitlabPod{token: l.Config, Pod: Pod{
		Name: l.Slot.Runner, UID: "uid-" + l.Slot.Runner, Pool: l.Pool.ID, Slot: l.Slot.ID, CreatedAt: c.g.time(), Seen: "it waits for a node",
	}}
	c.most = max(c.most, len(c.pods))
	return "uid-" + l.Slot.Runner, nil
}

func (c *gitlabPods) Pods(context.Context, string) (out []Pod, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		out = append(out, c.pods[name].Pod)
	}
	return out, nil
}

func (c *gitlabPods) End(_ context.Context, _, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[name]
	if p == nil {
		return nil
	}
	if p.job != 0 && !p.Over && !c.g.deleting() {
		c.g.Errorf("the pod %s was ended while its runner had job %d", name, p.job)
	}
	p.Leaving = true
	if c.ends[name].IsZero() {
		c.ends[name] = c.g.time()
	}
	return nil
}

// asked is when a pod was first asked to end; zero: never.
func (c *gitlabPods) asked(name string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends[name]
}

func (c *gitlabPods) live() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, p := range c.pods {
		switch {
		case p.Leaving && c.slow:
		case p.Leaving:
			delete(c.pods, name) // without a word to GitLab
		case p.Over:
		case !p.Running:
			p.Running, p.Seen, p.Node = true, "it runs on node-1", "node-1"
		case p.job != 0 && c.g.time().Sub(p.begun) >= c.work:
			c.g.world.Finish(p.job, "success")
			p.Over, p.Result = true, "it has ended"
		case p.job == 0:
			job, err := c.g.world.Ask(p.token)
			if err != nil {
				continue // it is refused, and asks again
			}
			p.job, p.begun = job, c.g.time()
		}
	}
}

func (c *gitlabPods) kill(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[name]
	p.Over, p.Fault, p.Result = true, true, "the container runner took more memory than its limit"
}

func (c *gitlabPods) busy() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, p := range c.pods {
		if p.job != 0 && !p.Over {
			names = append(names, name)
		}
	}
	return names
}

func (c *gitlabPods) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pods)
}

func (g *gitlabScene) live(d time.Duration) {
	g.Helper()
	due := g.time()
	for end := due.Add(d); g.time().Before(end); g.pass(g.every) {
		g.pods.live()
		if !g.time().Before(due) {
			again, _ := g.look()
			due = g.time().Add(again)
		}
	}
}

func (g *gitlabScene) queue(n int) (jobs []int64) {
	for range n {
		jobs = append(jobs, g.world.Queue("acme/shop", "gpu"))
	}
	return jobs
}

func (g *gitlabScene) in(status string, jobs []int64) (n int) {
	for _, j := range jobs {
		if g.world.Job(j) == status {
			n++
		}
	}
	return n
}

func (g *gitlabScene) pause(on bool) {
	g.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetRunnerPoolPaused(ctx, g.pool.ID, on) })
}

func (g *gitlabScene) nothingLeft() {
	g.Helper()
	if n := g.pods.count(); n > 0 || len(g.world.Names()) > 0 || len(g.slots()) > 0 {
		g.Errorf("left are %d pods, the registrations %v and slots %v", n, g.world.Names(), g.states())
	}
}

func TestAGitLabRunnerIsReplacedAfterItsJob(t *testing.T) {
	t.Parallel()
	g := newGitLabScene(t)
	g.live(time.Minute)
	if got := g.states(); !slices.Equal(got, []slipway.SlotState{slipway.SlotIdle, slipway.SlotIdle}) {
		t.Fatalf("without a job its slots are %v", got)
	}
	if s := g.status(); s.State != slipway.PoolReady || !strings.Contains(s.Why, "GitLab hands out jobs itself") {
		t.Errorf("the pool is %s: %s", s.State, s.Why)
	}
	jobs := g.queue(5)
	g.live(5 * time.Minute)
	if n := g.in("success", jobs); n != 5 {
		t.Errorf("%d of 5 jobs are done; slots %v", n, g.states())
	}
	if g.pods.most != 2 {
		t.Errorf("%d pods at most, want 2", g.pods.most)
	}
	s := g.status()
	if s.State != slipway.PoolReady || s.Failures != 0 || len(s.Ledger.Pods)+len(s.Ledger.Registrations)+len(s.Ledger.Slots) > 0 {
		t.Errorf("at the end: %+v", s)
	}
	open := map[string]bool{}
	for _, slot := range g.slots() {
		open[slot.Runner] = true
	}
	for _, name := range g.world.Names() {
		if !open[name] {
			t.Errorf("the registration %s has no slot", name)
		}
	}
	closed := 0
	for _, slot := range g.allSlots() {
		if slot.State != slipway.SlotClosed {
			continue
		}
		closed++
		if slot.OnlineAt.IsZero() || slot.BusyAt.IsZero() || slot.EndedAt.IsZero() || slot.Reason == "" {
			t.Errorf("a slot's life is not on record: %+v", slot)
		}
	}
	if closed != 5 {
		t.Errorf("%d slots are closed, want one for each job", closed)
	}
	tags, untagged, _, _, timeout := g.world.Registered(g.world.Names()[0])
	if !slices.Equal(tags, []string{"gpu"}) || untagged || timeout != 3600 {
		t.Errorf("runners have the tags %v, untagged %t, timeout %d", tags, untagged, timeout)
	}
}

// A job shorter than the time between two looks was never seen to run.
func TestAGitLabRunnerThatEndedWellHadItsJob(t *testing.T) {
	t.Parallel()
	g := newGitLabScene(t)
	g.pods.work = 0
	g.live(time.Minute)
	for range 10 {
		g.queue(2)
		g.live(time.Minute)
	}
	if s := g.status(); s.Failures != 0 || s.State != slipway.PoolReady {
		t.Errorf("after twenty short jobs: %s, %d failures, %s", s.State, s.Failures, s.HoldWhy)
	}
}

func TestAPausedGitLabPoolLetsItsJobsEnd(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		t.Run(fmt.Sprintf("tells who is busy %t", !old), func(t *testing.T) {
			t.Parallel()
			g := newGitLabScene(t)
			if old {
				g.world.Old()
			}
			g.pods.work = 10 * time.Minute
			g.live(time.Minute)
			jobs := g.queue(1)
			g.live(10 * time.Second)
			g.pause(true)
			g.live(time.Minute)
			late := g.queue(3)
			g.live(time.Minute)
			if n := len(g.pods.busy()); n != 1 || g.pods.count() != 1 || g.in("running", jobs) != 1 {
				t.Errorf("paused, %d pods are there and %d busy", g.pods.count(), n)
			}
			g.live(10 * time.Minute)
			if g.in("success", jobs) != 1 || g.in("pending", late) != 3 {
				t.Errorf("its job is %s, and of the later ones %d wait", g.world.Job(jobs[0]), g.in("pending", late))
			}
			g.nothingLeft()
			if s := g.status(); s.State != slipway.PoolPaused {
				t.Errorf("the pool is %s", s.State)
			}
			g.pause(false)
			g.live(15 * time.Minute)
			if n := g.in("success", late); n < 2 {
				t.Errorf("after it went on, %d of 3 jobs are done", n)
			}
		})
	}
}

// An older server does not tell who is busy; half of a runner's life is over, and it is not
// ended with its job.
func TestAnOldGitLabsJobOutlivesHalfOfItsRunner(t *testing.T) {
	t.Parallel()
	g := newGitLabScene(t)
	g.world.Old()
	g.pods.work = 45 * time.Minute
	g.live(time.Minute)
	jobs := g.queue(2)
	g.live(50 * time.Minute)
	if n := g.in("success", jobs); n != 2 {
		t.Errorf("%d of 2 jobs are done; slots %v", n, g.states())
	}
}

// GitLab takes the job of a runner that died for running, for an hour and more. The slot
// does not wait for that.
func TestAGitLabRunnerThatDiedIsReplaced(t *testing.T) {
	t.Parallel()
	g := newGitLabScene(t)
	g.pods.work = time.Hour
	g.live(time.Minute)
	jobs := g.queue(2)
	g.live(20 * time.Second)
	dead := g.pods.busy()[0]
	g.pods.kill(dead)
	g.live(2 * time.Minute)
	if slices.Contains(g.world.Names(), dead) || g.in("running", jobs) != 2 {
		t.Errorf("registered are %v, and %d jobs run", g.world.Names(), g.in("running", jobs))
	}
	if got := g.states(); len(got) != 2 || !slices.Contains(got, slipway.SlotIdle) || !slices.Contains(got, slipway.SlotBusy) {
		t.Errorf("its slots are %v, want a new one beside the busy one", got)
	}
}

func TestADeletedGitLabPoolLeavesNothing(t *testing.T) {
	t.Parallel()
	g := newGitLabScene(t)
	g.pods.work = time.Hour
	g.live(time.Minute)
	g.queue(1)
	g.live(20 * time.Second)
	g.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetRunnerPoolDeleting(ctx, g.pool.ID, true) })
	g.live(6 * time.Minute)
	g.nothingLeft()
}

// A slot that drained for long, because GitLab did not answer, gives its job the time to end
// all the same: its registration stays until its pod was asked to end and had its minute.
func TestAGitLabJobHasItsGraceAfterAnOutage(t *testing.T) {
	t.Parallel()
	g := newGitLabScene(t)
	g.pods.work, g.pods.slow = time.Hour, true
	g.live(time.Minute)
	g.queue(1)
	g.live(20 * time.Second)
	busy := g.pods.busy()[0]
	g.world.Refuse(http.StatusBadGateway)
	g.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetRunnerPoolDeleting(ctx, g.pool.ID, true) })
	g.live(5 * time.Minute)
	if at := g.pods.asked(busy); !at.IsZero() {
		t.Fatalf("its pod was asked to end at %s, though GitLab said nothing of it", at)
	}
	g.world.Refuse(0)
	gone := g.time()
	for ; slices.Contains(g.world.Names(), busy); gone = g.time() {
		if g.live(g.every); g.time().Sub(noon) > 20*time.Minute {
			t.Fatal("its registration stays")
		}
	}
	if at := g.pods.asked(busy); at.IsZero() || gone.Sub(at) <= time.Minute {
		t.Errorf("its registration went at %s, and its pod was asked to end at %s", gone.Format(time.TimeOnly), at.Format(time.TimeOnly))
	}
	g.pods.slow = false
	g.live(2 * time.Minute)
	g.nothingLeft()
}

func TestAGitLabRegistrationWhoseReplyWasLostIsRemoved(t *testing.T) {
	t.Parallel()
	g := newGitLabScene(t)
	g.world.Lose(http.MethodPost)
	g.live(3 * time.Minute)
	if got := g.states(); len(got) != 2 || len(g.world.Names()) != 2 {
		t.Errorf("its slots are %v, and registered are %v", got, g.world.Names())
	}
	g.pause(true)
	g.live(time.Minute)
	g.nothingLeft()
}

func TestAGitLabThatRefusesSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	g := newGitLabScene(t)
	g.world.RefuseOf(http.MethodPost, http.StatusForbidden)
	g.live(time.Minute)
	if s := g.status(); s.State != slipway.PoolHeld || !strings.Contains(s.HoldWhy, "create_runner") || !strings.Contains(s.HoldWhy, "role Owner in the group acme") {
		t.Errorf("the pool is %s: %s", s.State, s.HoldWhy)
	}
	g.world.RefuseOf(http.MethodPost, 0)
	g.live(5 * time.Minute)
	if s := g.status(); s.State != slipway.PoolReady {
		t.Errorf("when it does not any more, the pool is %s: %s", s.State, s.Why)
	}
}
