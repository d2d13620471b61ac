package client

import (
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

	"github.com/google/go-cmp/cmp"
	"slipway.dev/slipway/internal/wire"
)

// These tests stand in the fake world: a server of a few lines answers. The client meets
// the real handlers in the scripts of package cli.

func serve(t *testing.T, h http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c, err := New(Options{URL: s.URL + "/", Token: "slw_secret"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func problem(w http.ResponseWriter, p wire.Problem) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	json.NewEncoder(w).Encode(p)
}

func TestARefusalComesBackWhole(t *testing.T) {
	t.Parallel()
	want := wire.Problem{
		Status: 409, Title: "Conflict", Kind: "conflict", Detail: "guestbook is at revision 4, not 3", Hint: "read again",
		Fields: []wire.FieldError{{Path: "expected_revision", Message: "is 3"}}, RequestID: "r1",
	}
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) { problem(w, want) })
	_, err := c.Deploy(t.Context(), "shop", "dev", wire.Deploy{}, "")
	var got *Error
	if !errors.As(err, &got) {
		t.Fatalf("Deploy() = %v, want an *Error", err)
	}
	if diff := cmp.Diff(want, got.Problem); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
	if !IsKind(err, "conflict") || IsKind(err, "not_found") {
		t.Errorf("IsKind disagrees with kind %q", got.Kind)
	}
}

func TestAnotherServersErrorIsNotShown(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(502)
		fmt.Fprint(w, "<html>nginx")
	})
	_, err := c.Whoami(t.Context())
	if !IsKind(err, "unavailable") || strings.Contains(err.Error(), "nginx") {
		t.Errorf("Whoami() = %v, want unavailable without the page", err)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	var followed bool
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		followed = followed || strings.HasSuffix(r.URL.Path, "/elsewhere")
		http.Redirect(w, r, "/elsewhere", http.StatusFound)
	})
	if _, err := c.Whoami(t.Context()); err == nil || followed {
		t.Errorf("Whoami() = %v, followed = %v; want an error and no second request", err, followed)
	}
}

func TestALostAnswerIsAskedForAgainUnderTheSameKey(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex // a broken connection orders nothing between server and client
	var keys []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if len(keys) == 1 {
			panic(http.ErrAbortHandler) // the connection breaks without an answer
		}
		json.NewEncoder(w).Encode(wire.Project{Name: "shop"})
	})
	p, err := c.CreateProject(t.Context(), wire.NewProject{Name: "shop"}, "")
	if err != nil || p.Name != "shop" {
		t.Fatalf("CreateProject() = %v, %v", p, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(keys) != 2 || keys[0] == "" || keys[0] != keys[1] {
		t.Errorf("keys = %q, want the same one twice", keys)
	}
}

func TestALostAnswerOfAnUnkeyedRequestIsNotRepeated(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32 // a broken connection orders nothing between server and client
	c := serve(t, func(http.ResponseWriter, *http.Request) {
		calls.Add(1)
		panic(http.ErrAbortHandler)
	})
	_, err := c.CreateToken(t.Context(), wire.NewToken{Name: "ci"})
	var u *Unreachable
	if !errors.As(err, &u) || calls.Load() != 1 {
		t.Errorf("CreateToken() = %v after %d calls, want Unreachable after 1", err, calls.Load())
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(nil)
	s.Close()
	c, err := New(Options{URL: s.URL, Token: "slw_secret"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Whoami(t.Context())
	var u *Unreachable
	if !errors.As(err, &u) {
		t.Fatalf("Whoami() = %v, want Unreachable", err)
	}
	if strings.Contains(err.Error(), "slw_secret") {
		t.Errorf("the error holds the token: %v", err)
	}
}

func TestBadURLs(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "slipway.example.com", "ftp://x", "https://user:pass@slipway.example.com", "http://"} {
		if _, err := New(Options{URL: url}); err == nil {
			t.Errorf("New(%q) = nil error", url)
		} else if strings.Contains(err.Error(), "pass@") {
			t.Errorf("New(%q) repeats the password: %v", url, err)
		}
	}
}

func TestPathsAreEscaped(t *testing.T) {
	t.Parallel()
	var got string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.URL.EscapedPath()
		fmt.Fprint(w, "{}")
	})
	if _, err := c.User(t.Context(), "a/b ü"); err != nil {
		t.Fatal(err)
	}
	if want := "/api/v1/users/a%2Fb%20%C3%BC"; got != want {
		t.Errorf("path = %s, want %s", got, want)
	}
}

func TestAllFollowsTheCursorToItsEnd(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("cursor") {
		case "":
			json.NewEncoder(w).Encode(wire.List[wire.Project]{Items: []wire.Project{{Name: "a"}}, NextCursor: "2"})
		case "2":
			json.NewEncoder(w).Encode(wire.List[wire.Project]{Items: []wire.Project{{Name: "b"}}})
		}
	})
	got, err := All(t.Context(), c.Projects)
	if err != nil || len(got) != 2 || got[1].Name != "b" {
		t.Errorf("All() = %v, %v", got, err)
	}
}

func TestEventsPassCommentsAndEnd(t *testing.T) {
	t.Parallel()
	var after string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		after = r.URL.Query().Get("after")
		fmt.Fprint(w, ": still here\n\nid: 8\nevent: task.changed\ndata: {\"id\":8,\"kind\":\"task.changed\"}\n\n: still here\n\n")
	})
	var got []int64
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err := c.Events(ctx, 7, func(e wire.Event) error { got = append(got, e.ID); return nil })
	if err != nil || len(got) != 1 || got[0] != 8 || after != "7" {
		t.Errorf("Events() = %v, IDs %v, after %q", err, got, after)
	}
}
