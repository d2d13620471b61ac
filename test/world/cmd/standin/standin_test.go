package main

// World: the fake forge over loopback HTTP, and this program's own functions.

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/slipway"
)

var (
	repo = forge.Repository{Owner: "team", Name: "app"}
	org  = slipway.ForgeScope{Owner: "team"}
)

func open(t *testing.T) (*fake.GitHub, *fake.Served, forge.Configured) {
	t.Helper()
	g := fake.New(nil)
	g.AddRepository(repo)
	served, err := g.Serve(fake.Listen{REST: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := served.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := g.Register(t.Context(), org, forge.Registration{Name: "slw-1", Labels: []string{"x"}})
	if err != nil {
		t.Fatal(err)
	}
	return g, served, c
}

// until waits for something to be so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
	}
}

func running(g *fake.GitHub, id int64, steps int) func() bool {
	return func() bool {
		j, _ := g.State(id)
		return j.Status == "in_progress" && len(j.Steps) >= steps
	}
}

func TestARunnerEndsWithItsJob(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name   string
		script []string
		during func(t *testing.T, g *fake.GitHub, id int64, stop func())
		want   string
		log    string
	}{
		{"all went well", []string{"echo hello there", "write 2MiB " + filepath.Join(t.TempDir(), "a", "b"), "hold 1MiB", "sleep 1ms", "env"}, nil, "success", "hello there\n"},
		{"a step fails, and none follows", []string{"fail on purpose", "echo never"}, nil, "failure", "Error: on purpose\n"},
		{"what must not be reached is not", []string{"deny tcp " + nobody}, nil, "success", "not reached"},
		{"what must be reached is not", []string{"reach tcp " + nobody}, nil, "failure", "Error: tcp " + nobody + " is not reached"},
		{"a probe only tells", []string{"probe tcp " + nobody}, nil, "success", "not reached"},
		{"a word that it does not know", []string{"make"}, nil, "failure", "Error: make: command not found"},
		{"a file that is not there", []string{"read /no/such/file"}, nil, "failure", "no such file"},
		{"it is cancelled", []string{"sleep 1h", "echo never"}, func(t *testing.T, g *fake.GitHub, id int64, _ func()) {
			until(t, "it sleeps", running(g, id, 2))
			g.Cancel(id)
		}, "cancelled", "The operation was canceled"},
		{"the pod is told to end", []string{"sleep 1h", "echo never"}, func(t *testing.T, g *fake.GitHub, id int64, stop func()) {
			until(t, "it sleeps", running(g, id, 2))
			stop()
		}, "failure", "received a shutdown signal"},
		{"the forge is away for a while", []string{"sleep 300ms", "echo back"}, func(t *testing.T, g *fake.GitHub, id int64, _ func()) {
			until(t, "it sleeps", running(g, id, 2))
			g.Outage(true)
			time.AfterFunc(time.Second, func() { g.Outage(false) })
		}, "success", "back\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			g, _, c := open(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			id := g.Start(repo, fake.JobSpec{Labels: []string{"x"}, Script: tc.script})[0]
			done := make(chan error, 1)
			go func() { done <- runner(ctx, []string{"--jitconfig", c.Config}) }()
			if tc.during != nil {
				tc.during(t, g, id, stop)
			}
			if err := <-done; err != nil {
				t.Errorf("it ends with %v", err)
			}
			j, _ := g.State(id)
			if j.Conclusion != tc.want || !strings.Contains(j.Log, tc.log) || strings.Contains(j.Log, "never\n##[end") {
				t.Errorf("the job ended with %q, want %q:\n%s", j.Conclusion, tc.want, j.Log)
			}
			if left := g.Registrations(); len(left) != 0 {
				t.Errorf("left over: %+v", left)
			}
		})
	}
}

func TestARunnerWithoutAJob(t *testing.T) {
	t.Parallel()
	online := func(g *fake.GitHub) func() bool {
		return func() bool { all := g.Registrations(); return len(all) == 1 && all[0].Online }
	}
	t.Run("it is removed, and ends", func(t *testing.T) {
		t.Parallel()
		g, _, c := open(t)
		done := make(chan error, 1)
		go func() { done <- runner(t.Context(), []string{"--jitconfig", c.Config}) }()
		until(t, "it is online", online(g))
		if err := g.Unregister(t.Context(), org, c.Runner.ID); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("it is told to end, and its registration stays", func(t *testing.T) {
		t.Parallel()
		g, _, c := open(t)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- runner(ctx, []string{"--jitconfig", c.Config}) }()
		until(t, "it is online", online(g))
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if all := g.Registrations(); len(all) != 1 || all[0].Online {
			t.Errorf("registrations: %+v", all)
		}
	})
	t.Run("its configuration was used, or is none", func(t *testing.T) {
		t.Parallel()
		g, _, c := open(t)
		if _, err := g.Online(c.Config); err != nil {
			t.Fatal(err)
		}
		for _, config := range []string{c.Config, "bm9uZQ==", ""} {
			if err := runner(t.Context(), []string{"--jitconfig", config}); err == nil {
				t.Errorf("it takes %q", config)
			}
		}
	})
}

func TestDockerIsThereAndDoesNothing(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	socket := "unix://" + filepath.Join(t.TempDir(), "docker.sock")
	done := make(chan error, 1)
	go func() { done <- dockerd(ctx, []string{"--tls=false", "--host=" + socket}) }()
	until(t, "it answers", func() bool { return docker(ctx, []string{"--host", socket, "version"}) == nil })
	if err := docker(ctx, []string{"--host", socket, "run", "image"}); err == nil {
		t.Error("it runs containers")
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := docker(t.Context(), []string{"--host", socket, "version"}); err == nil {
		t.Error("it answers after its end")
	}
}
