package prefect

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

//go:embed rehearse.py
var rehearseScript []byte

// Rehearsal runs actions for a test, without a Prefect server: in Prefect's own engine,
// each in a process of its own, against a stand-in for the server that lives in this
// process. One imports Prefect for all of them, so that an action begins in milliseconds.
//
// It is for an author's machine. Nothing survives it, and nothing is repeatable.
type Rehearsal struct {
	runner *Runner // for its environment alone; it never starts anything
	stand  *standIn
	server *http.Server
	url    string

	mu    sync.Mutex // one action at a time
	child *child
	lines chan string // closed when the process has ended
}

// RehearsalConfig is what a Rehearsal needs.
type RehearsalConfig struct {
	Python Python
	Dir    string       // private, absolute
	API    http.Handler // answers what the actions call back, below URL
}

// rehearsalReady is how long Prefect's imports may take, on a machine that is busy.
const rehearsalReady = 2 * time.Minute

// NewRehearsal starts the stand-in and the process that actions are forked from.
func NewRehearsal(ctx context.Context, c RehearsalConfig) (*Rehearsal, error) {
	r := &Rehearsal{stand: newStandIn()}
	var listen net.ListenConfig
	l, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for actions: %w", err)
	}
	r.url = "http://" + l.Addr().String()
	mux := http.NewServeMux()
	mux.Handle("/prefect/", http.StripPrefix("/prefect", r.stand))
	mux.Handle("/", c.API)
	r.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(l) }() // it ends with Close
	r.runner, err = NewRunner(RunnerConfig{
		Client: NewClient(External{URL: r.url + "/prefect/api"}, ClientOptions{}), Python: c.Python, Dir: c.Dir, NoSpare: true,
	})
	if err == nil {
		err = r.start(ctx)
	}
	if err != nil {
		r.Close()
		return nil, fmt.Errorf("prepare Python for actions: %w", err)
	}
	return r, nil
}

// URL is where the actions find the API.
func (r *Rehearsal) URL() string { return r.url }

func (r *Rehearsal) start(ctx context.Context) error {
	if err := r.runner.writeSharedFiles(); err != nil {
		return err
	}
	script := r.runner.sharedFile("rehearse.py")
	if err := writeFile(script, rehearseScript); err != nil {
		return err
	}
	log, err := os.OpenFile(r.runner.sharedFile("rehearse.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	answers, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	env := childEnv(r.runner.Python, r.runner.prefectHome())
	for name, value := range r.runner.prefectEnv() {
		env[name] = value
	}
	cmd := exec.Command(r.runner.Python.Interpreter, script) //nolint:noctx // Close ends it
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = environ(env), r.runner.Dir, log, log
	cmd.ExtraFiles = []*os.File{theirs} // its descriptor 3
	if r.child, err = startChild(cmd, ""); err != nil {
		answers.Close()
		return err
	}
	r.lines = make(chan string)
	go func() {
		defer close(r.lines)
		defer answers.Close()
		for said := bufio.NewScanner(answers); said.Scan(); {
			r.lines <- said.Text()
		}
	}()
	line, err := r.next(ctx, rehearsalReady)
	if err == nil && line != "ready" {
		err = fmt.Errorf("it said %q", line)
	}
	if err != nil {
		text, _ := os.ReadFile(log.Name())
		return fmt.Errorf("%w\n%s", err, strings.TrimSpace(string(text)))
	}
	return nil
}

// next reads what the process says next.
func (r *Rehearsal) next(ctx context.Context, within time.Duration) (string, error) {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case line, ok := <-r.lines:
		if !ok {
			return "", errors.New("the process of the actions has ended")
		}
		return line, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case <-timer.C:
		return "", fmt.Errorf("no answer within %s", within)
	}
}

// Rehearsed is how an action went.
type Rehearsed struct {
	Outcome
	Logs    []LogRecord // in order
	Output  string      // what the process printed, beside its log
	Unknown []string    // requests to Prefect that a test cannot answer: "POST /variables/"
}

// LogRecord is one record of a flow run's log.
type LogRecord struct {
	At      time.Time
	Level   int // Python's: 20 is INFO, 40 is ERROR
	Logger  string
	Message string
}

// Run runs an action to its end, or ends it after limit.
func (r *Rehearsal) Run(ctx context.Context, l Launch, name string, limit time.Duration) (Rehearsed, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.stand.add(name, l.Params)
	if err := os.MkdirAll(filepath.Join(l.RunDir, "tmp"), 0o700); err != nil {
		return Rehearsed{}, fmt.Errorf("make the action's folder: %w", err)
	}
	env := r.runner.runEnv(id, l)
	if err := json.NewEncoder(r.child.gate).Encode(spareJob{Env: env, Dir: l.Dir, Output: outputFile(l.RunDir)}); err != nil {
		return Rehearsed{}, fmt.Errorf("start the action %s: %w", name, err)
	}
	line, err := r.next(ctx, rehearsalReady)
	var began struct {
		PID int `json:"pid"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(line), &began)
	}
	if err != nil {
		return Rehearsed{}, fmt.Errorf("start the action %s: %w", name, err)
	}
	line, err = r.next(ctx, limit)
	expired := err != nil && ctx.Err() == nil
	if err != nil {
		signalGroup(began.PID, sigKill) // nobody has reaped it, so the number is its own
		if line, err = r.next(context.WithoutCancel(ctx), rehearsalReady); err != nil {
			return Rehearsed{}, fmt.Errorf("end the action %s: %w", name, err)
		}
	}
	if ctx.Err() != nil {
		return Rehearsed{}, context.Cause(ctx)
	}
	var ended struct {
		Exit int `json:"exit"`
	}
	if err := json.Unmarshal([]byte(line), &ended); err != nil {
		return Rehearsed{}, fmt.Errorf("read how the action %s ended: %w", name, err)
	}
	output, _ := os.ReadFile(outputFile(l.RunDir))
	out := r.stand.outcome(id, ended.Exit)
	out.Expired, out.Output = expired, string(output)
	return out, nil
}

// Close ends everything.
func (r *Rehearsal) Close() {
	if r.child != nil {
		r.child.abandon()
		for range r.lines { // so that nobody is left who would say more
		}
	}
	_ = r.server.Close() // connections of actions that were ended
}
