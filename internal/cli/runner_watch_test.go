package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

// lines hands on what is written, line by line.
type lines struct {
	mu   sync.Mutex
	rest bytes.Buffer
	all  chan string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest.Write(b)
	for {
		line, err := l.rest.ReadString('\n')
		if err != nil {
			l.rest.WriteString(line)
			return len(b), nil
		}
		l.all <- line
	}
}

// TestRunnersAreWatched stands in the fake world: a server whose pool is looked at all the
// time, changes once, and says so by an event.
func TestRunnersAreWatched(t *testing.T) {
	t.Parallel()
	var changed, asked atomic.Int64
	events := make(chan wire.Event, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			w.WriteHeader(http.StatusOK)
			for {
				select {
				case e := <-events:
					data, err := json.Marshal(e)
					if err != nil {
						t.Error(err)
					}
					fmt.Fprintf(w, "data: %s\n\n", data)
				case <-r.Context().Done():
					return
				}
				if err := http.NewResponseController(w).Flush(); err != nil {
					return
				}
			}
		}
		now := time.Now().Add(time.Duration(asked.Add(1)) * time.Second) // each look is a newer one
		state := "sleeping"
		if changed.Load() > 0 {
			state = "scaling"
		}
		if err := json.NewEncoder(w).Encode(wire.Actions{Application: "shop/dev/team-ci", Pools: []wire.RunnerPool{{Ref: "shop/dev/team-ci/runner", State: state, CheckedAt: &now}}}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	out := &lines{all: make(chan string, 100)}
	s := &session{Process: Process{Stdout: out, Stderr: &bytes.Buffer{}}, format: "table"}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.watchRunners(ctx, c, wire.Application{ID: 1, Project: "shop", Environment: "dev"})
	}()
	saw := func(state string) {
		t.Helper()
		for {
			select {
			case line := <-out.all:
				if strings.HasPrefix(line, "shop/dev/team-ci/runner") {
					if !strings.Contains(line, state) {
						t.Fatalf("it shows %q, want %s: nothing was new in between", line, state)
					}
					return
				}
			case <-time.After(30 * time.Second):
				t.Fatalf("it does not show that the pool is %s", state)
			}
		}
	}
	saw("sleeping")
	events <- wire.Event{ID: 1, Noun: "pool", Project: "shop", Environment: "dev"} // read again: nothing is new
	for asked.Load() < 2 {
		select {
		case <-time.After(time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("it is not read again")
		}
	}
	changed.Store(1)
	events <- wire.Event{ID: 2, Noun: "pool", Project: "shop", Environment: "dev"}
	saw("scaling")
	stop()
	var q quiet
	if err := <-ended; !errors.As(err, &q) || int(q) != exitInterrupted {
		t.Errorf("it ended with %v, want %d", err, exitInterrupted)
	}
}
