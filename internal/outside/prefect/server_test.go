package prefect

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWhatAServerRemembers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "prefect")
	c := ServerConfig{Dir: dir, Port: 4299}
	first, err := NewServer(c)
	if err != nil {
		t.Fatal(err)
	}
	if got := first.Endpoint(); got.API != "http://127.0.0.1:4299/api" || len(got.Auth) < 40 {
		t.Errorf("Endpoint() = %s with an auth string of %d bytes", got, len(got.Auth))
	}
	if err := first.writeRecord(serverRecord{Port: 5123}); err != nil {
		t.Fatal(err)
	}
	second, err := NewServer(c)
	if err != nil || second.Endpoint().API != "http://127.0.0.1:5123/api" || second.auth != first.auth {
		t.Errorf("the next Slipway has %s, %v", second.Endpoint(), err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "auth"), filepath.Join(dir, "server.json")} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
	for name, content := range map[string]string{"auth": "nonsense", "server.json": "{"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := NewServer(c); err == nil {
			t.Errorf("NewServer() with %q in %s = nil", content, name)
		}
	}
	if _, err := NewServer(ServerConfig{Dir: "relative"}); err == nil {
		t.Error("a relative folder was taken")
	}
}

func TestAPortThatIsTaken(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := l.Addr().(*net.TCPAddr).Port
	if got, err := freePort(t.Context(), taken); err != nil || got == taken || got == 0 {
		t.Errorf("freePort(%d) = %d, %v", taken, got, err)
	}
	l.Close()
	if got, err := freePort(t.Context(), taken); err != nil || got != taken {
		t.Errorf("freePort(%d) = %d, %v", taken, got, err)
	}
}

// TestAPortThatIsTakenWhileTheServerStarts: the script stands for a server that finds its
// port taken, as Prefect does when it binds at the end of its start.
func TestAPortThatIsTakenWhileTheServerStarts(t *testing.T) {
	t.Parallel()
	f := newFake(t) // the other program; it knows another auth string
	port := f.Listener.Addr().(*net.TCPAddr).Port
	python := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(python, []byte("#!/bin/sh\necho \"port $*\"; exec sleep 60\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := NewServer(ServerConfig{
		Dir: filepath.Join(t.TempDir(), "prefect"), Python: Python{Interpreter: python, Prefect: "3.9.1"}, ReadyWithin: 2 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Process().killGroup("") })
	p, err := s.launch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.portPatience = 0
	// Between the choice and the binding of the port somebody else came.
	if err := s.writeRecord(serverRecord{Process: p, Port: port}); err != nil {
		t.Fatal(err)
	}
	err = s.Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "did not answer within 2s") {
		t.Errorf("Start() = %v", err)
	}
	if s.port() == port || s.Process() == p || p.alive() || !s.Process().alive() {
		t.Errorf("it went on with port %d and process %+v", s.port(), s.Process())
	}
}

func TestAServersEnvironment(t *testing.T) {
	t.Setenv("DATABASE_PASSWORD", "the operator's")
	s, err := NewServer(ServerConfig{Dir: filepath.Join(t.TempDir(), "prefect"), Python: Python{Interpreter: "/venv/bin/python"}})
	if err != nil {
		t.Fatal(err)
	}
	got := "\n" + strings.Join(environ(s.env(4200)), "\n") + "\n"
	for _, want := range []string{
		"PREFECT_SERVER_API_AUTH_STRING=" + s.auth, "PREFECT_HOME=" + s.Dir, "PREFECT_SERVER_ANALYTICS_ENABLED=false",
		"PREFECT_SERVER_UI_ENABLED=true", "DO_NOT_TRACK=1", "PATH=/venv/bin:/usr/local/bin:/usr/bin:/bin",
	} {
		if !strings.Contains(got, "\n"+want+"\n") {
			t.Errorf("no line %q in%s", want, got)
		}
	}
	if strings.Contains(got, "operator") {
		t.Error("the environment of Slipway reached the server")
	}
}

// An action that runs knows one address of the server, so a start waits until its port is
// free again. World: real sockets.
func TestAServerWaitsForThePortThatItHad(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	done := make(chan struct{})
	go func() {
		defer close(done)
		(&Server{portPatience: time.Minute}).awaitPort(t.Context(), port)
	}()
	select {
	case <-done:
		t.Error("it did not wait for a port that is taken")
	case <-time.After(300 * time.Millisecond):
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	<-done
	if got, err := freePort(t.Context(), port); err != nil || got != port {
		t.Errorf("then it takes port %d, %v; want %d again", got, err, port)
	}
}

// Ports that the kernel gives to connections may be gone when a server starts anew. World:
// real sockets.
func TestTheNextPortIsNoneOfTheKernels(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp4", "127.0.0.1:4650")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got, err := freePort(t.Context(), 4650); err != nil || got <= 4650 || got > 4750 {
		t.Errorf("freePort() = %d, %v; want one of the next hundred", got, err)
	}
}
