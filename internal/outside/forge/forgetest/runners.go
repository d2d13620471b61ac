package forgetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/slipway"
)

// World is what stands behind the runners of a forge, as far as the suite moves it.
type World struct {
	Scopes []slipway.ForgeScope // that the credential may use
	Hidden slipway.ForgeScope   // that it may not
	Online func(config string) error
	// Give gives the runner of a configuration, which is online, a job, and returns how that
	// ends.
	Give func(config string) (end func())
	Lose func() // the reply to the next registration

	Outage, Revoke, Forbid func(bool)
	Throttle               func(time.Duration)
}

// RunRunners runs the part of the suite that is about runners alone. open returns a forge of
// its own for each test, and the world behind it.
func RunRunners(t *testing.T, open func(t *testing.T) (forge.Runners, World)) {
	for _, tc := range []struct {
		name string
		test func(*testing.T, forge.Runners, World)
	}{
		{"a runner comes online, has its job, and leaves nothing", runnersLife},
		{"a runner without work can be removed, once, and comes back no more", runnersRemoved},
		{"a runner with a job cannot be removed, and its job goes on", runnersBusy},
		{"a registration whose reply was lost is found by its name", runnersLost},
		{"a list of runners has all its pages", runnersPages},
		{"a refusal, an outage and a limit are told apart for runners", runnersProblems},
		{"a runner that is not there is told from one that may not be seen", runnersAbsent},
		{"an end of the context ends a call", runnersCancel},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f, world := open(t)
			tc.test(t, f, world)
		})
	}
}

func registerOne(t *testing.T, f forge.Runners, s slipway.ForgeScope, name string) forge.Configured {
	t.Helper()
	c, err := f.Register(t.Context(), s, forge.Registration{Name: name, Labels: []string{"linux", "gpu"}, Timeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if c.Config == "" || c.Runner.ID == 0 || c.Runner.Name != name || c.Runner.Online || c.Runner.Busy {
		t.Fatalf("registered %+v", c.Runner)
	}
	return c
}

func begin(t *testing.T, w World, c forge.Configured) {
	t.Helper()
	if err := w.Online(c.Config); err != nil {
		t.Fatal(err)
	}
}

func runnersLife(t *testing.T, f forge.Runners, w World) {
	for i, s := range w.Scopes {
		name := fmt.Sprintf("slw-life-%d", i)
		c := registerOne(t, f, s, name)
		if r, err := f.Runner(t.Context(), s, c.Runner.ID); err != nil || r.Name != name || r.Online || r.Busy {
			t.Errorf("before it began it is %+v, %v", r, err)
		}
		begin(t, w, c)
		if r, err := f.RunnerNamed(t.Context(), s, name); err != nil || r.ID != c.Runner.ID || !r.Online || r.Busy {
			t.Errorf("without a job it is %+v, %v; want it online", r, err)
		}
		end := w.Give(c.Config)
		if r, err := f.Runner(t.Context(), s, c.Runner.ID); err != nil || !r.Online || !r.Busy {
			t.Errorf("with its job it is %+v, %v; want it busy", r, err)
		}
		end()
		// Some forges forget a runner with its job, others when they are asked to.
		if err := f.Unregister(t.Context(), s, c.Runner.ID); err != nil && !forge.Is(err, forge.NotFound) {
			t.Errorf("Unregister() = %v", err)
		}
		_, err := f.Runner(t.Context(), s, c.Runner.ID)
		want(t, err, forge.NotFound)
		if all, err := f.Runners(t.Context(), s); err != nil || len(all) != 0 {
			t.Errorf("left over: %v, %v", all, err)
		}
	}
}

func runnersRemoved(t *testing.T, f forge.Runners, w World) {
	for i, s := range w.Scopes {
		for _, online := range []bool{false, true} {
			c := registerOne(t, f, s, fmt.Sprintf("slw-removed-%d-%t", i, online))
			if online {
				begin(t, w, c)
			}
			if err := f.Unregister(t.Context(), s, c.Runner.ID); err != nil {
				t.Errorf("Unregister() = %v", err)
			}
			want(t, f.Unregister(t.Context(), s, c.Runner.ID), forge.NotFound)
			if err := w.Online(c.Config); err == nil {
				t.Error("a removed runner came online")
			}
		}
	}
}

func runnersBusy(t *testing.T, f forge.Runners, w World) {
	for i, s := range w.Scopes {
		c := registerOne(t, f, s, fmt.Sprintf("slw-busy-%d", i))
		begin(t, w, c)
		end := w.Give(c.Config)
		for range 2 {
			want(t, f.Unregister(t.Context(), s, c.Runner.ID), forge.Busy)
		}
		if r, err := f.Runner(t.Context(), s, c.Runner.ID); err != nil || !r.Busy {
			t.Errorf("after that it is %+v, %v; want it busy", r, err)
		}
		end()
		if err := f.Unregister(t.Context(), s, c.Runner.ID); err != nil && !forge.Is(err, forge.NotFound) {
			t.Errorf("when its job has ended: %v", err)
		}
	}
}

func runnersLost(t *testing.T, f forge.Runners, w World) {
	s := w.Scopes[0]
	w.Lose()
	_, err := f.Register(t.Context(), s, forge.Registration{Name: "slw-lost", Labels: []string{"x"}})
	want(t, err, forge.Away)
	r, err := f.RunnerNamed(t.Context(), s, "slw-lost")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Unregister(t.Context(), s, r.ID); err != nil {
		t.Error(err)
	}
	_, err = f.RunnerNamed(t.Context(), s, "slw-lost")
	want(t, err, forge.NotFound)
}

func runnersPages(t *testing.T, f forge.Runners, w World) {
	const many = 230
	s := w.Scopes[0]
	var names []string
	for i := range many {
		names = append(names, fmt.Sprintf("slw-%03d", i))
		registerOne(t, f, s, names[i])
	}
	all, err := f.Runners(t.Context(), s)
	var seen []string
	for _, r := range all {
		seen = append(seen, r.Name)
	}
	slices.Sort(seen)
	if err != nil || !slices.Equal(seen, names) {
		t.Errorf("%d runners, %v; want %d", len(seen), err, many)
	}
	if r, err := f.RunnerNamed(t.Context(), s, "slw-229"); err != nil || r.Name != "slw-229" {
		t.Errorf("the last one by its name: %+v, %v", r, err)
	}
}

func runnersProblems(t *testing.T, f forge.Runners, w World) {
	s := w.Scopes[0]
	for name, call := range map[string]func() error{
		"Register": func() error {
			_, err := f.Register(t.Context(), s, forge.Registration{Name: "slw-p", Labels: []string{"x"}})
			return err
		},
		"Runners":     func() error { _, err := f.Runners(t.Context(), s); return err },
		"Runner":      func() error { _, err := f.Runner(t.Context(), s, 1); return err },
		"RunnerNamed": func() error { _, err := f.RunnerNamed(t.Context(), s, "x"); return err },
		"Unregister":  func() error { return f.Unregister(t.Context(), s, 1) },
	} {
		w.Outage(true)
		want(t, call(), forge.Away)
		w.Outage(false)
		for _, refuse := range []func(bool){w.Revoke, w.Forbid} {
			refuse(true)
			err := call()
			want(t, err, forge.Refused)
			var e *forge.Error
			if !errors.As(err, &e) || e.Permission == "" {
				t.Errorf("%s: %v does not say what is missing", name, err)
			}
			refuse(false)
		}
	}
	// Last, because who is asked to wait may keep to it.
	w.Throttle(time.Hour)
	_, err := f.Runners(t.Context(), s)
	var e *forge.Error
	if !forge.Is(err, forge.Throttled) || !errors.As(err, &e) || e.RetryAfter < 59*time.Minute || e.RetryAfter > 2*time.Hour {
		t.Errorf("asked to wait an hour, it says %v: %+v", err, e)
	}
}

func runnersAbsent(t *testing.T, f forge.Runners, w World) {
	s := w.Scopes[0]
	_, err := f.Runner(t.Context(), s, 1)
	want(t, err, forge.NotFound)
	want(t, f.Unregister(t.Context(), s, 1), forge.NotFound)
	_, err = f.Runners(t.Context(), w.Hidden)
	want(t, err, forge.Refused)
	_, err = f.Register(t.Context(), w.Hidden, forge.Registration{Name: "slw-h", Labels: []string{"x"}})
	want(t, err, forge.Refused)
	w.Forbid(true)
	want(t, f.Unregister(t.Context(), s, 1), forge.Refused)
}

func runnersCancel(t *testing.T, f forge.Runners, w World) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := f.Runners(ctx, w.Scopes[0]); !errors.Is(err, context.Canceled) {
		t.Errorf("it says %v", err)
	}
}

// githubWorld is the fake GitHub as the suite of runners moves it.
func githubWorld(g *fake.GitHub) World {
	var job int64
	return World{
		Scopes: []slipway.ForgeScope{org, alone}, Hidden: slipway.ForgeScope{Owner: "nobody"},
		Online: func(config string) error { _, err := g.Online(config); return err },
		Give: func(string) func() {
			job = g.Queue(repo, []string{"linux"})[0]
			g.Assign()
			return func() { g.Finish(job, "success") }
		},
		Lose:   func() { g.Break(fake.Fault{Op: "Register", Lost: true}) },
		Outage: g.Outage, Revoke: g.Revoke, Forbid: func(on bool) { g.Forbid("team", on) }, Throttle: g.Throttle,
	}
}
