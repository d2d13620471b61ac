package prefect

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCallsAreRepeatedWhileTheServerCannotAnswer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		faults []fault
		calls  int
		want   error
	}{
		{"it answers at once", nil, 1, nil},
		{"it is overloaded twice", []fault{{suffix: "/flows/", status: 503}, {suffix: "/flows/", status: 429}}, 3, nil},
		{"a proxy in front of it has lost it", []fault{{suffix: "/flows/", status: 502}}, 2, nil},
		{"it has a fault that passes", []fault{{suffix: "/flows/", status: 500}}, 2, nil},
		{"it has a fault that this request causes", slices.Repeat([]fault{{suffix: "/flows/", status: 500}}, 9), 4, ErrRefused},
		{"its answer is lost", []fault{{suffix: "/flows/", lose: true}}, 2, nil},
		{"it says when to come back", []fault{{suffix: "/flows/", status: 429, header: "1"}}, 2, nil},
		{"it understood, and refuses", []fault{{suffix: "/flows/", status: 422}}, 1, ErrRefused},
		{"it does not know the address", []fault{{suffix: "/flows/", status: 404}}, 1, ErrNotFound},
		{"it redirects", []fault{{suffix: "/flows/", status: 307}}, 1, ErrRefused},
		{"it asks for longer than we wait", []fault{{suffix: "/flows/", status: 503, header: "60"}}, 1, ErrUnreachable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.fail(tc.faults...)
			_, err := f.client().EnsureFlow(t.Context(), "guestbook.upgrade")
			if !errors.Is(err, tc.want) {
				t.Errorf("EnsureFlow() = %v, want %v", err, tc.want)
			}
			if got := f.count("POST /flows/"); got != tc.calls {
				t.Errorf("the server was called %d times, want %d", got, tc.calls)
			}
		})
	}
}

func TestAnErrorNamesTheCallAndKeepsTheAuthString(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	// The fake echoes what it was sent, as a debugging proxy does.
	f.fail(fault{suffix: "/flows/", status: 422})
	_, err := f.client().EnsureFlow(t.Context(), "guestbook.upgrade")
	_, password, _ := strings.Cut(fakeAuth, ":")
	if text := fmt.Sprint(err); !strings.Contains(text, "POST /flows/: 422") || !strings.Contains(text, "guestbook.upgrade") ||
		strings.Contains(text, password) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(fakeAuth))) {
		t.Errorf("the error is %q", text)
	}
	e := f.Endpoint()
	if text := fmt.Sprintf("%v %+v %#v %s", e, e, e, e.LogValue()); strings.Contains(text, password) {
		t.Errorf("an Endpoint prints as %q", text)
	}
	wrong := NewClient(External{URL: f.URL, Auth: "slipway:other"}, ClientOptions{})
	if _, err := wrong.Version(t.Context()); !errors.Is(err, ErrUnauthorized) || strings.Contains(err.Error(), "other") {
		t.Errorf("Version() = %v", err)
	}
}

func TestAServerThatIsNotThere(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := NewClient(f, ClientOptions{}).EnsureFlow(ctx, "guestbook.upgrade")
	if !errors.Is(err, ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "Xq7") {
		t.Errorf("EnsureFlow() = %v", err)
	}
	if err := NewClient(f, ClientOptions{}).Health(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("Health() = %v", err)
	}
}

func TestAnAnswerIsReadToALimit(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		line := []byte(strings.Repeat("x", 1<<20))
		for range maxResponse>>20 + 1 {
			if _, err := w.Write(line); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	_, err := NewClient(External{URL: s.URL}, ClientOptions{}).EnsureFlow(t.Context(), "guestbook.upgrade")
	if err == nil || !strings.Contains(err.Error(), "larger than 32 MiB") {
		t.Errorf("EnsureFlow() = %v", err)
	}
}

func TestTheAddressesOfAnExternalServer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		server      External
		api, flowUI string
	}{
		{"with /api", External{URL: "http://prefect:4200/api"}, "http://prefect:4200/api", "http://prefect:4200/runs/flow-run/r1"},
		{"without", External{URL: "http://prefect:4200/"}, "http://prefect:4200/api", "http://prefect:4200/runs/flow-run/r1"},
		{"with other pages", External{URL: "https://prefect/api/", UI: "https://pages/prefect/"}, "https://prefect/api", "https://pages/prefect/runs/flow-run/r1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			e := tc.server.Endpoint()
			if e.API != tc.api || NewClient(tc.server, ClientOptions{}).FlowRunUIURL("r1") != tc.flowUI {
				t.Errorf("Endpoint() = %s, page %s", e.API, e.FlowRunURL("r1"))
			}
		})
	}
}

func TestPrefectsShapesOfError(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, body, want string }{
		{"a sentence", `{"detail":"Work pool \"a\" not found."}`, `Work pool "a" not found.`},
		{"an exception", `{"exception_message":"Unauthorized"}`, "Unauthorized"},
		{"a validation", `{"exception_message":"Invalid request received.","exception_detail":[{"loc":["body"]}]}`, `Invalid request received. [{"loc":["body"]}]`},
		{"a list", `{"detail":[{"msg":"x"}]}`, "[map[msg:x]]"},
		{"no JSON at all", "<html>Bad gateway</html>\n", "<html>Bad gateway</html>"},
		{"much of it", strings.Repeat("ä", 2000), strings.Repeat("ä", 1000) + "…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := detail([]byte(tc.body)); got != tc.want {
				t.Errorf("detail() = %q, want %q", got, tc.want)
			}
		})
	}
}
