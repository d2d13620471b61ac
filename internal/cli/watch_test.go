package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

// TestAWatchOutlivesItsServer stands in the fake world: a server that goes away in the
// middle of a task, and comes back.
func TestAWatchOutlivesItsServer(t *testing.T) {
	t.Parallel()
	task := wire.Task{ID: 1, RootID: 1, State: "running", Title: "upgrade guestbook to 1.1.0", CreatedAt: t0, StartedAt: at(0), Version: "1"}
	done := task
	done.State, done.EndedAt = "succeeded", at(4)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/applications/") {
			json.NewEncoder(w).Encode(wire.Application{Name: "guestbook"})
			return
		}
		switch n := asked.Add(1); {
		case n == 1:
			json.NewEncoder(w).Encode(task)
		case n < 5:
			panic(http.ErrAbortHandler) // the client asks again by itself
		case n == 5:
			w.WriteHeader(http.StatusServiceUnavailable) // a proxy before a server that starts
		default:
			json.NewEncoder(w).Encode(done)
		}
	}))
	t.Cleanup(server.Close)
	c, err := client.New(client.Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	s := &session{Process: Process{Stdout: &out, Stderr: &errs}, format: "table"}
	if err := s.watch(t.Context(), c, 1); err != nil {
		t.Fatalf("watch() = %v", err)
	}
	if want := "task 1  upgrade guestbook to 1.1.0\nsucceeded in 4.0s\n"; out.String() != want {
		t.Errorf("output = %q, want %q", out.String(), want)
	}
	if n := strings.Count(errs.String(), "the server does not answer; waiting for it\n"); n != 1 {
		t.Errorf("people were told %d times that the server is away, want once:\n%s", n, errs.String())
	}
}
