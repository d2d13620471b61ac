package pool

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/bitbucket"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/outside/forge/rest"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// World: the real Bitbucket client, a fake Bitbucket over loopback HTTP and a fake cluster,
// over SQLite and the scene's clock.

// bitbucketScene is a pool of fixed size on Bitbucket.
type bitbucketScene struct {
	*scene
	world *fake.Bitbucket
	pods  *bitbucketPods
}

func newBitbucketScene(t *testing.T) *bitbucketScene {
	t.Helper()
	world := fake.NewBitbucket("Bearer ghp_0123456789012345678901234567890123456789") // the scene's secret
	world.Add("acme")
	world.Add("acme/shop")
	server := httptest.NewServer(world.Handler())
	t.Cleanup(server.Close)
	fixed := func(p *slipway.PoolSpec) {
		p.Scope = slipway.ForgeScope{Forge: slipway.Bitbucket, BaseURL: server.URL, Owner: "acme"}
		p.Idle, p.Labels = 0, []string{"gpu"}
	}
	b := &bitbucketScene{scene: newScene(t, fixed), world: world}
	b.pods = &bitbucketPods{b: b, pods: map[string]*bitbucketPod{}, work: 10 * time.Second}
	clients := &bitbucket.Clients{Settle: time.Millisecond, Budget: rest.BudgetOptions{PerSecond: 1e6, Registrations: 1e6}}
	b.change = append(b.change, func(c *Config) {
		c.Cluster = b.pods
		c.Forge = func(s slipway.ForgeScope, credential string) (forge.Runners, error) {
			return clients.For(s.BaseURL, credential)
		}
	})
	b.restart()
	return b
}

// bitbucketPods are pods in which a stand-in for Bitbucket's program asks for one step after
// another, and never ends by itself.
type bitbucketPods struct {
	b    *bitbucketScene
	mu   sync.Mutex
	pods map[string]*bitbucketPod
	work time.Duration
	most int
	had  map[string]int // steps, by pod
}

type bitbucketPod struct {
	Pod
	config string
	step   int64
	begun  time.Time
}

func (c *bitbucketPods) Launch(_ context.Context, l Launch) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods[l.Slot.Runner] = &bitbucketPod{config: l.Config, Pod: Pod{
		Name: l.Slot.Runner, UID: "uid-" + l.Slot.Runner, Pool: l.Pool.ID, Slot: l.Slot.ID, CreatedAt: c.b.time(), Seen: "it waits for a node",
	}}
	c.most = max(c.most, len(c.pods))
	return "uid-" + l.Slot.Runner, nil
}

func (c *bitbucketPods) Pods(context.Context, string) (out []Pod, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		out = append(out, c.pods[name].Pod)
	}
	return out, nil
}

func (c *bitbucketPods) End(_ context.Context, _, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[name]
	if p == nil {
		return nil
	}
	if p.step != 0 && !p.Over && !c.b.deleting() {
		c.b.Errorf("the pod %s was ended while its runner had step %d", name, p.step)
	}
	p.Leaving = true
	return nil
}

func (c *bitbucketPods) live() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.pods)) {
		p := c.pods[name]
		switch {
		case p.Leaving:
			delete(c.pods, name) // without a word to Bitbucket
		case p.Over:
		case !p.Running:
			p.Running, p.Seen, p.Node = true, "it runs on node-1", "node-1"
		case p.step != 0 && c.b.time().Sub(p.begun) >= c.work:
			c.b.world.Finish(p.step)
			p.step = 0
			c.ask(name, p)
		case p.step == 0:
			c.ask(name, p)
		}
	}
}

func (c *bitbucketPods) ask(name string, p *bitbucketPod) {
	step, err := c.b.world.Ask(p.config)
	if err != nil || step == 0 {
		return // refused, or without a step, it asks again
	}
	p.step, p.begun = step, c.b.time()
	if c.had == nil {
		c.had = map[string]int{}
	}
	c.had[name]++
}

func (c *bitbucketPods) kill(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pods[name]
	p.Over, p.Fault, p.Result = true, true, "the container runner took more memory than its limit"
}

func (c *bitbucketPods) busy() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, p := range c.pods {
		if p.step != 0 && !p.Over {
			names = append(names, name)
		}
	}
	return names
}

func (c *bitbucketPods) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pods)
}

func (b *bitbucketScene) live(d time.Duration) {
	b.Helper()
	due := b.time()
	for end := due.Add(d); b.time().Before(end); b.pass(b.every) {
		b.pods.live()
		if !b.time().Before(due) {
			again, _ := b.look()
			due = b.time().Add(again)
		}
	}
}

func (b *bitbucketScene) queue(n int) (steps []int64) {
	for range n {
		steps = append(steps, b.world.Queue("acme/shop", "self.hosted", "gpu"))
	}
	return steps
}

func (b *bitbucketScene) in(state string, steps []int64) (n int) {
	for _, s := range steps {
		if b.world.Step(s) == state {
			n++
		}
	}
	return n
}

func (b *bitbucketScene) pause(on bool) {
	b.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetRunnerPoolPaused(ctx, b.pool.ID, on) })
}

func (b *bitbucketScene) nothingLeft() {
	b.Helper()
	if n := b.pods.count(); n > 0 || len(b.world.Names()) > 0 || len(b.slots()) > 0 {
		b.Errorf("left are %d pods, the registrations %v and slots %v", n, b.world.Names(), b.states())
	}
}

func TestABitbucketRunnerIsReplacedAfterItsStep(t *testing.T) {
	t.Parallel()
	b := newBitbucketScene(t)
	b.live(time.Minute)
	if got := b.states(); !slices.Equal(got, []slipway.SlotState{slipway.SlotIdle, slipway.SlotIdle}) {
		t.Fatalf("without a step its slots are %v", got)
	}
	if s := b.status(); s.State != slipway.PoolReady || !strings.Contains(s.Why, "Bitbucket hands out jobs itself") || !strings.Contains(s.Why, "may share a runner") {
		t.Errorf("the pool is %s: %s", s.State, s.Why)
	}
	if got := b.world.Labels(b.world.Names()[0]); !slices.Equal(got, []string{"self.hosted", "linux", "gpu"}) {
		t.Errorf("its runners have the labels %v", got)
	}
	b.pods.work = 2 * time.Minute
	before := b.world.Names()
	steps := b.queue(2)
	b.live(time.Minute)
	if got := b.states(); !slices.Equal(got, []slipway.SlotState{slipway.SlotBusy, slipway.SlotBusy}) || b.in("IN_PROGRESS", steps) != 2 {
		t.Fatalf("with steps its slots are %v", got)
	}
	b.live(4 * time.Minute)
	for _, name := range b.world.Names() {
		if slices.Contains(before, name) {
			t.Errorf("%s has had a step, and is still there", name)
		}
	}
	if got := b.states(); !slices.Equal(got, []slipway.SlotState{slipway.SlotIdle, slipway.SlotIdle}) || b.in("COMPLETED", steps) != 2 || b.pods.most != 2 {
		t.Errorf("afterwards its slots are %v, and there were %d pods at once", got, b.pods.most)
	}
	s := b.status()
	if s.State != slipway.PoolReady || s.Failures != 0 || len(s.Ledger.Pods)+len(s.Ledger.Registrations)+len(s.Ledger.Slots) > 0 {
		t.Errorf("at the end: %+v", s)
	}
	for _, slot := range b.allSlots() {
		if slot.State == slipway.SlotClosed && (slot.OnlineAt.IsZero() || slot.BusyAt.IsZero() || slot.Reason != "its step has ended") {
			t.Errorf("a slot's life is not on record: %+v", slot)
		}
	}
}

// A runner whose step is seen takes no other, however many wait.
func TestABitbucketRunnerTakesOneStepOfMany(t *testing.T) {
	t.Parallel()
	b := newBitbucketScene(t)
	b.live(time.Minute)
	b.pods.work = 100 * time.Second
	steps := b.queue(12)
	b.live(30 * time.Minute)
	if n := b.in("COMPLETED", steps); n != len(steps) {
		t.Errorf("%d of %d steps are done; slots %v", n, len(steps), b.states())
	}
	open := b.world.Names()
	for name, n := range b.pods.had {
		if n != 1 || slices.Contains(open, name) {
			t.Errorf("%s has had %d steps; it is still there: %t", name, n, slices.Contains(open, name))
		}
	}
	if got := b.states(); !slices.Equal(got, []slipway.SlotState{slipway.SlotIdle, slipway.SlotIdle}) || b.pods.most != 2 {
		t.Errorf("at the end its slots are %v, and there were %d pods at once", got, b.pods.most)
	}
}

// Steps that are shorter than the time between two looks may follow each other on a runner.
// Whichever it has when it is found is let to end.
func TestASecondStepOnABitbucketRunnerIsLetToEnd(t *testing.T) {
	t.Parallel()
	b := newBitbucketScene(t)
	b.live(time.Minute)
	b.pods.work = 12 * time.Second
	steps := b.queue(12)
	b.live(15 * time.Minute)
	if n := b.in("COMPLETED", steps); n != len(steps) {
		t.Errorf("%d of %d steps are done; slots %v", n, len(steps), b.states())
	}
	most := 0
	for _, n := range b.pods.had {
		most = max(most, n)
	}
	if most < 2 || most > 4 {
		t.Errorf("a runner had %d steps; this world is to show two to four", most)
	}
	if got := b.states(); !slices.Equal(got, []slipway.SlotState{slipway.SlotIdle, slipway.SlotIdle}) {
		t.Errorf("at the end its slots are %v", got)
	}
}

// The forge's refusal finds a step that the list did not show.
func TestABitbucketRunnerWithAStepIsNotEndedByAnOldList(t *testing.T) {
	t.Parallel()
	b := newBitbucketScene(t)
	b.live(time.Minute)
	b.pods.work = 5 * time.Minute
	steps := b.queue(1)
	b.pods.live() // it has its step before anybody looked
	b.pause(true)
	b.live(time.Minute)
	if n := len(b.pods.busy()); n != 1 || b.pods.count() != 1 || b.in("IN_PROGRESS", steps) != 1 {
		t.Errorf("paused, %d pods are there and %d busy", b.pods.count(), n)
	}
	late := b.queue(2)
	b.live(10 * time.Minute)
	if b.in("COMPLETED", steps) != 1 || b.in("PENDING", late) != 2 {
		t.Errorf("its step is %s, and of the later ones %d wait", b.world.Step(steps[0]), b.in("PENDING", late))
	}
	b.nothingLeft()
	if s := b.status(); s.State != slipway.PoolPaused {
		t.Errorf("the pool is %s", s.State)
	}
	b.pause(false)
	b.live(15 * time.Minute)
	if n := b.in("COMPLETED", late); n != 2 {
		t.Errorf("after it went on, %d of 2 steps are done", n)
	}
}

func TestABitbucketRunnerThatDiedIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBitbucketScene(t)
	b.pods.work = time.Hour
	b.live(time.Minute)
	steps := b.queue(1)
	b.live(time.Minute)
	dead := b.pods.busy()[0]
	b.pods.kill(dead)
	b.live(3 * time.Minute)
	if slices.Contains(b.world.Names(), dead) || len(b.world.Names()) != 2 {
		t.Errorf("registered are %v, and its step is %s", b.world.Names(), b.world.Step(steps[0]))
	}
	if got := b.states(); !slices.Equal(got, []slipway.SlotState{slipway.SlotIdle, slipway.SlotIdle}) {
		t.Errorf("its slots are %v", got)
	}
}

// Its program never ends well: one that does has not had a step.
func TestABitbucketRunnerThatEndsByItselfIsAFailure(t *testing.T) {
	t.Parallel()
	before := slipway.Slot{ID: 1, State: idle, Scope: slipway.ForgeScope{Forge: slipway.Bitbucket, Owner: "acme"}}
	if got := Judge(before, Sighting{Pod: &Pod{Over: true}}, noon); Failed(before, got, 0) == "" {
		t.Errorf("it is no failure: %+v", got)
	}
}

// Unhealthy, or out of touch, it has no step by Bitbucket's word, and gets none.
func TestABitbucketRunnerThatComesBackUnwellIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBitbucketScene(t)
	b.live(time.Minute)
	b.pods.work = time.Minute
	b.queue(1)
	b.live(40 * time.Second)
	sick := b.pods.busy()[0]
	b.world.Sicken(sick)
	b.live(30 * time.Second)
	if !slices.Contains(b.world.Names(), sick) {
		t.Error("it was removed at once")
	}
	b.live(4 * time.Minute)
	if slices.Contains(b.world.Names(), sick) || len(b.world.Names()) != 2 {
		t.Errorf("registered are %v, slots %v", b.world.Names(), b.states())
	}
}

func TestADeletedBitbucketPoolLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBitbucketScene(t)
	b.pods.work = time.Hour
	b.live(time.Minute)
	b.queue(1)
	b.live(20 * time.Second)
	b.write(func(ctx context.Context, tx *store.Tx) error { return tx.SetRunnerPoolDeleting(ctx, b.pool.ID, true) })
	b.live(6 * time.Minute)
	b.nothingLeft()
}

func TestABitbucketRegistrationWhoseReplyWasLostIsRemoved(t *testing.T) {
	t.Parallel()
	b := newBitbucketScene(t)
	b.world.Lose(http.MethodPost)
	b.live(3 * time.Minute)
	if got := b.states(); len(got) != 2 || len(b.world.Names()) != 2 {
		t.Errorf("its slots are %v, and registered are %v", got, b.world.Names())
	}
	b.pause(true)
	b.live(time.Minute)
	b.nothingLeft()
}

func TestABitbucketThatRefusesSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	b := newBitbucketScene(t)
	b.world.RefuseOf(http.MethodPost, http.StatusForbidden)
	b.live(time.Minute)
	if s := b.status(); s.State != slipway.PoolHeld || !strings.Contains(s.HoldWhy, "runner:write") || !strings.Contains(s.HoldWhy, "administrator of the workspace acme") {
		t.Errorf("the pool is %s: %s", s.State, s.HoldWhy)
	}
	b.world.RefuseOf(http.MethodPost, 0)
	b.live(5 * time.Minute)
	if s := b.status(); s.State != slipway.PoolReady {
		t.Errorf("when it does not any more, the pool is %s: %s", s.State, s.Why)
	}
}
