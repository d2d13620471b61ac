//go:build e2e

package prefect

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func realServer(t *testing.T, dir string, change func(*ServerConfig)) *Server {
	t.Helper()
	c := ServerConfig{Python: mustPython(t), Dir: dir, Port: anyPort(), ReadyWithin: 5 * time.Minute, Logger: testLog()}
	if change != nil {
		change(&c)
	}
	s, err := NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Process().killGroup("") })
	return s
}

// TestTheLifeOfAServer goes through one server's life, since each start takes its time.
func TestTheLifeOfAServer(t *testing.T) {
	ctx := t.Context()
	dir := t.TempDir()
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port

	first := realServer(t, dir, func(c *ServerConfig) { c.Port = port })
	if err := first.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(first.Endpoint().API, ":"+strconv.Itoa(port)+"/api") {
		t.Errorf("the server took the port %d, which is taken", port)
	}

	// An action is under way when the server is killed.
	r := runnerOn(t, first, nil)
	id, p, _ := begin(t, r, testAction(t, "actions.py", "sleep", map[string]any{"context": map[string]any{}, "seconds": 20}), nil)
	running(t, r, id, "sleeping")
	watch, stop := context.WithCancel(ctx)
	watched := make(chan error, 1)
	go func() { watched <- first.Run(watch) }()
	killed := first.Process()
	address := first.Endpoint().API
	killed.killGroup("")
	eventually(t, "the server is started again", func() bool {
		return first.Process() != killed && r.client.Health(ctx) == nil
	})
	if first.Endpoint().API != address {
		t.Errorf("it came back at %s, but the action knows %s", first.Endpoint().API, address)
	}
	if got := finish(t, r, id, p, WaitOptions{}); got.State != Completed {
		t.Errorf("Wait() = %+v; output:\n%s", got, printed(p))
	}
	stop()
	if err := <-watched; err != nil {
		t.Errorf("Run() = %v", err)
	}
	if !first.Process().alive() {
		t.Fatal("the server ended with Run")
	}

	// The next Slipway finds it.
	second := realServer(t, dir, func(c *ServerConfig) { c.Port = port })
	if err := second.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if second.Process() != first.Process() || second.Endpoint() != first.Endpoint() {
		t.Errorf("the server was not adopted: %+v, want %+v", second.Process(), first.Process())
	}

	// A Slipway with another Prefect in its environment replaces it.
	third := realServer(t, dir, func(c *ServerConfig) { c.Python.Prefect = "3.0.0" })
	if err := third.Start(ctx); err == nil || !strings.Contains(err.Error(), "not 3.0.0") {
		t.Errorf("Start() = %v, want an error about the version", err)
	}
	if second.Process().alive() {
		t.Error("the server of another version was left running on the same database")
	}

	fourth := realServer(t, dir, nil)
	if err := fourth.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if run, err := NewClient(fourth, ClientOptions{}).GetFlowRun(ctx, id); err != nil || run.State.Type != Completed {
		t.Errorf("the database is lost: %+v, %v", run, err)
	}
	if err := fourth.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if fourth.Process().alive() {
		t.Error("the server lives on after Stop")
	}
	if err := fourth.Stop(ctx); err != nil {
		t.Errorf("a second Stop() = %v", err)
	}
}

func TestAServerThatDoesNotStartSaysWhy(t *testing.T) {
	s := realServer(t, t.TempDir(), func(c *ServerConfig) { c.Python.Package = "" })
	s.Python.Interpreter = "/bin/false"
	err := s.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "ended before it answered") {
		t.Errorf("Start() = %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	s.Python = mustPython(t)
	if err := s.Start(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Start() = %v", err)
	}
	if err := s.Stop(t.Context()); err != nil || s.Process().alive() {
		t.Errorf("a server that was not waited for lives on after Stop() = %v", err)
	}
}

func TestTheWrongAuthStringIsNamed(t *testing.T) {
	good := sharedServer(t).Endpoint()
	_, err := NewClient(External{URL: good.API, Auth: "slipway:wrongpassword"}, ClientOptions{}).Version(t.Context())
	if !errors.Is(err, ErrUnauthorized) || strings.Contains(err.Error(), "wrongpassword") {
		t.Errorf("Version() = %v", err)
	}
	version, err := NewClient(External{URL: strings.TrimSuffix(good.API, "/api"), Auth: good.Auth}, ClientOptions{}).Version(t.Context())
	if err != nil || version != mustPython(t).Prefect {
		t.Errorf("Version() = %s, %v", version, err)
	}
}

// TestPrefectsPagesAreServed: people follow an action there while it runs.
func TestPrefectsPagesAreServed(t *testing.T) {
	s := sharedServer(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Endpoint().FlowRunURL(newUUID()), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html") // as a browser; Prefect answers 404 to others
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		t.Errorf("the page of a flow run is answered with %s %s", res.Status, res.Header.Get("Content-Type"))
	}
}
