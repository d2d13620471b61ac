package prefect

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// readyWithin is how long a server may take to answer. Its first start makes its
	// tables, which takes 5 to 15 s on two shared cores.
	readyWithin = 60 * time.Second
	// launchTries is how often another port is tried.
	launchTries = 3
	// stopGrace is the time between TERM and KILL.
	stopGrace = 10 * time.Second
	// watchEvery is how soon a server that died is noticed.
	watchEvery = time.Second
	// checkEvery is how often a living server is asked whether it works, and hungAfter how
	// long it may not: a machine under load answers late, and a server that makes its tables
	// not at all.
	checkEvery = 10 * time.Second
	hungAfter  = 5 * time.Minute
)

// ServerConfig is what a Server needs. Python and Dir are required.
type ServerConfig struct {
	Python Python
	// Dir is a private folder, absolute, for the database, the auth string, the log and the
	// record of the running process. Two Servers must not share one.
	Dir string
	// Port is the one to try first; 4200 when zero. When it is taken another one is found,
	// and is tried first from then on.
	Port int
	// LogMax bounds the server's log, in bytes; 8 MiB when zero.
	LogMax int64
	// ReadyWithin is how long the server may take to answer; 60 s when zero.
	ReadyWithin time.Duration
	Logger      *slog.Logger
}

// Server keeps one Prefect server running as a child on loopback.
//
//	none ─Start─▶ starting ─answers─▶ running ─dies─▶ (back-off) ─▶ starting
//	  └─Start, and one is there and answers─▶ running (adopted)      Stop ─▶ none
//
// The process is in its own session and outlives a kill -9 of Slipway, since actions that
// run need it. The next Start adopts it.
type Server struct {
	ServerConfig
	auth string
	log  *slog.Logger

	portPatience time.Duration

	// starting is held while a server is started or stopped, which takes long; mu is held
	// for a moment, so that Endpoint never waits.
	starting sync.Mutex
	mu       sync.Mutex
	record   serverRecord
	stopped  bool
}

// NewServer prepares the folder and the auth string, and reads which port was used last.
// It starts nothing.
func NewServer(c ServerConfig) (*Server, error) {
	c.LogMax = cmp.Or(c.LogMax, 8<<20)
	c.Port = cmp.Or(c.Port, 4200)
	c.ReadyWithin = cmp.Or(c.ReadyWithin, readyWithin)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	s := &Server{ServerConfig: c, log: c.Logger, portPatience: portPatience}
	if err := s.prepare(); err != nil {
		return nil, fmt.Errorf("prepare the Prefect server: %w", err)
	}
	return s, nil
}

func (s *Server) prepare() (err error) {
	if !filepath.IsAbs(s.Dir) {
		return fmt.Errorf("the folder %q is not absolute", s.Dir)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return err
	}
	if s.auth, err = ensureAuth(filepath.Join(s.Dir, "auth")); err != nil {
		return err
	}
	if s.record, err = readServerRecord(s.Dir); err != nil {
		return err
	}
	s.record.Port = cmp.Or(s.record.Port, s.Port)
	return nil
}

// ensureAuth returns the auth string in the file, which it makes when there is none.
func ensureAuth(path string) (string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data = []byte("slipway:" + rand.Text() + rand.Text())
		err = writeFile(path, data)
	}
	if err != nil {
		return "", fmt.Errorf("keep the auth string: %w", err)
	}
	if user, password, _ := strings.Cut(strings.TrimSpace(string(data)), ":"); user == "" || password == "" {
		return "", fmt.Errorf("the file %s does not hold \"user:password\"", path)
	}
	return strings.TrimSpace(string(data)), nil
}

// Endpoint returns the server's address. It may change when the server is started anew.
func (s *Server) Endpoint() Endpoint {
	return Endpoint{API: fmt.Sprintf("http://127.0.0.1:%d/api", s.port()), Auth: s.auth}
}

func (s *Server) port() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.Port
}

// Process returns the server's process; the zero value when none was started.
func (s *Server) Process() Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.Process
}

// Start adopts the server that an earlier Slipway left running, or starts one, and returns
// when it answers. When it does not in time, or at all, the error holds the end of its log.
// A server that is merely slow is left running, since to kill it would only begin the same
// again: Start may be repeated, and Run looks after it.
func (s *Server) Start(ctx context.Context) error {
	s.starting.Lock()
	defer s.starting.Unlock()
	s.mu.Lock()
	s.stopped = false
	s.mu.Unlock()
	if err := s.start(ctx); err != nil {
		return fmt.Errorf("start the Prefect server: %w", err)
	}
	return nil
}

func (s *Server) start(ctx context.Context) error {
	old := s.Process()
	if old.alive() {
		err := s.awaitReady(ctx, old)
		if err == nil {
			s.log.InfoContext(ctx, "adopted the Prefect server", "pid", old.PID, "api", s.Endpoint().API)
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		s.log.WarnContext(ctx, "replacing the Prefect server that was left running", "pid", old.PID, "error", err)
	}
	// Whatever is left of it has our database open, and two servers must not.
	if err := old.endGroup(ctx, stopGrace, s.mark()); err != nil {
		return err
	}
	if old.Known() {
		s.awaitPort(ctx, s.port())
	}
	for try := 1; ; try++ {
		p, err := s.launch(ctx)
		if err != nil {
			return err
		}
		if err = s.awaitReady(ctx, p); err == nil {
			s.log.InfoContext(ctx, "started the Prefect server", "pid", p.PID, "api", s.Endpoint().API)
			return nil
		}
		if errors.Is(err, errWrongServer) {
			_ = p.endGroup(context.WithoutCancel(ctx), 0, s.mark())
		}
		// The port was free when it was chosen, and a start takes long enough for somebody
		// else to take it. The next launch finds another one.
		if port := s.port(); try < launchTries && !p.alive() && ctx.Err() == nil && !isFree(ctx, port) {
			s.log.WarnContext(ctx, "the port of the Prefect server was taken by another program", "port", port)
			continue
		}
		tail, _ := p.ReadTail(4 << 10)
		return fmt.Errorf("%w; the end of its log %s:\n%s", err, p.Output, strings.TrimSpace(string(tail)))
	}
}

// errWrongServer: something answers, and it will never be what is needed.
var errWrongServer = errors.New("it is not the right server")

// awaitReady returns nil when the process is a server of ours that works: in good health,
// of the version in our environment, and with our auth string. It returns an error when
// the process died, is another server, or did not answer in time.
func (s *Server) awaitReady(ctx context.Context, p Process) error {
	late := fmt.Errorf("it did not answer within %s, and is left to go on starting", s.ReadyWithin)
	deadline, cancel := context.WithTimeoutCause(ctx, s.ReadyWithin, late)
	defer cancel()
	for {
		err := s.check(deadline)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errWrongServer):
			return err
		case !p.alive():
			return errors.New("it ended before it answered")
		}
		select {
		case <-deadline.Done():
			return context.Cause(deadline)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// check asks the server once whether it works and is ours.
func (s *Server) check(ctx context.Context) error {
	client := NewClient(s, ClientOptions{})
	if err := client.Health(ctx); err != nil {
		return err
	}
	version, err := client.Version(ctx)
	switch {
	case errors.Is(err, ErrUnauthorized):
		return fmt.Errorf("%w: %w", errWrongServer, err)
	case err == nil && version != s.Python.Prefect:
		return fmt.Errorf("%w: it is Prefect %s, not %s", errWrongServer, version, s.Python.Prefect)
	}
	return err
}

// Run starts the server whenever there is none, or none that has answered for 5 minutes,
// again and again with a growing pause, until ctx ends. It leaves the server running then:
// call Stop, unless actions still need it.
func (s *Server) Run(ctx context.Context) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var failures int
	var notBefore, checked time.Time
	answered := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := time.Now()
		trimOutput(s.logFile(), s.LogMax)
		s.mu.Lock()
		p, stopped := s.record.Process, s.stopped
		s.mu.Unlock()
		if stopped || p.alive() {
			if now.Sub(checked) >= checkEvery {
				checked = now
				if stopped || s.check(ctx) == nil {
					answered, failures = time.Now(), 0
				}
			}
			if time.Since(answered) < hungAfter {
				continue
			}
			s.log.WarnContext(ctx, "the Prefect server has not answered for long; ending it", "pid", p.PID)
			_ = p.endGroup(ctx, stopGrace, s.mark())
		}
		if now.Before(notBefore) {
			continue
		}
		// 1 s, 2 s, 4 s … up to one minute between two starts.
		failures++
		s.log.WarnContext(ctx, "the Prefect server ended; starting it again", "start", failures)
		if err := s.Start(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "the Prefect server does not start", "error", err)
		}
		answered = time.Now()
		notBefore = answered.Add(min(time.Second<<min(failures, 6), time.Minute))
	}
}

// Stop ends the server: TERM, then KILL after 10 s. Run does not start it again.
func (s *Server) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.starting.Lock()
	defer s.starting.Unlock()
	if err := s.Process().endGroup(ctx, stopGrace, s.mark()); err != nil {
		return fmt.Errorf("stop the Prefect server: %w", err)
	}
	return nil
}
