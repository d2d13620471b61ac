package kube

// World: fake API server over loopback HTTP.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"slipway.dev/slipway/internal/slipway"
)

func TestNewWithoutACluster(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: Config\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]Config{
		"no such file":    {Kubeconfig: file + ".none"},
		"an empty one":    {Kubeconfig: file},
		"no such context": {Kubeconfig: file, Context: "elsewhere"},
	} {
		_, err := New(cfg)
		var e *slipway.Error
		if !errors.As(err, &e) || e.Kind != slipway.Unavailable || e.Hint == "" {
			t.Errorf("%s: %v, want unavailable with a hint", name, err)
		}
	}
}

func TestVersionSaysWhoAsksAndHearsOfItsContext(t *testing.T) {
	t.Parallel()
	var agent atomic.Value
	var hangs atomic.Bool
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agent.Store(r.UserAgent())
		if hangs.Load() {
			<-release
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"gitVersion":"v1.34.4","major":"1","minor":"34"}`)
	}))
	defer s.Close()
	defer close(release)
	c, err := NewForConfig(&rest.Config{Host: s.URL}, Config{Version: "0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Version(t.Context())
	if err != nil || got != "v1.34.4" || agent.Load() != "slipway/0.1.0" {
		t.Errorf("Version() = %s, %v, asked as %v", got, err, agent.Load())
	}
	hangs.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Version(ctx); !slipway.Is(err, slipway.Unavailable) {
		t.Errorf("Version() of a server that hangs = %v", err)
	}
	s.CloseClientConnections()
}

func TestACertificateThatIsNotTrustedIsNoSilence(t *testing.T) {
	t.Parallel()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	c, err := NewForConfig(&rest.Config{Host: s.URL}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Version(t.Context())
	var e *slipway.Error
	if !errors.As(err, &e) || e.Kind != slipway.Unavailable || !strings.Contains(e.Msg, "cannot be verified: x509: ") || !strings.Contains(e.Hint, "certificate-authority-data") {
		t.Errorf("Version() = %#v", err)
	}
	if Away(err) {
		t.Error("a step would wait for a certificate to become another")
	}
}

// slow answers its head at once and its body never.
type slow struct{ t *testing.T }

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(readerFunc(func([]byte) (int, error) {
		<-r.Context().Done()
		return 0, r.Context().Err()
	}))}, nil
}

func TestRequestsHaveAnEndAndWatchesHaveNone(t *testing.T) {
	t.Parallel()
	get := func(query string, wait time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://cluster/pods?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := bounded{slow{t}, 50 * time.Millisecond}.RoundTrip(r)
		if err != nil {
			return err
		}
		_, err = io.ReadAll(res.Body)
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		if ctx.Err() != nil {
			return errors.New("the test's own end")
		}
		return err
	}
	if err := get("limit=5", 10*time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a list ended with %v", err)
	}
	for _, query := range []string{"watch=true", "watch=1", "follow=true"} {
		if err := get(query, 200*time.Millisecond); err == nil || err.Error() != "the test's own end" {
			t.Errorf("%s ended with %v", query, err)
		}
	}
}

func TestGetterEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://cluster/pods", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := until{slow{t}, ctx}.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	go func() { time.Sleep(50 * time.Millisecond); cancel(errors.New("cancelled by a person")) }()
	if _, err := io.ReadAll(res.Body); !errors.Is(err, context.Canceled) {
		t.Errorf("the body under way ended with %v", err)
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	if _, err := (until{slow{t}, ctx}).RoundTrip(r); err == nil || !strings.Contains(err.Error(), "cancelled by a person") {
		t.Errorf("a request after the end: %v, want the cause", err)
	}
}
