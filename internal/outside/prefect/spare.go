package prefect

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	// spareDelay keeps the next spare's imports (2 to 4 s of one core) away from the
	// start of the action that has just taken this one.
	spareDelay = 2 * time.Second
	// spareAnswer is how long a spare may take to accept a run. One that is still
	// importing accepts when it has finished.
	spareAnswer = 15 * time.Second
)

// spare is an interpreter that has imported Prefect and waits for one run. It ends when
// Slipway does, as long as it has none.
type spare struct {
	*child
	prefect string        // the settings that it was started with
	ready   chan struct{} // closed when its imports are done
	taken   chan struct{} // closed when it has accepted a run, before it begins with it
	silent  chan struct{} // closed when it will say no more
}

// spareSeat holds at most one spare.
type spareSeat struct {
	mu     sync.Mutex
	spare  *spare
	wanted bool // set while Run runs
	timer  *time.Timer
}

// spareJob is what a spare is told. It travels over a pipe, so the token in Env is in no
// file and in no argument.
type spareJob struct {
	Env    map[string]string `json:"env"`
	Dir    string            `json:"dir"`
	Output string            `json:"output"`
}

// settingsOf makes settings comparable.
func settingsOf(env map[string]string) string { return strings.Join(environ(env), "\n") }

// keepSpare starts a spare, now, unless one is there or none is wanted.
func (r *Runner) keepSpare() {
	r.spare.mu.Lock()
	defer r.spare.mu.Unlock()
	if !r.spare.wanted || r.spare.spare != nil {
		return
	}
	s, err := r.startSpare()
	if err != nil {
		r.log.Warn("no warm spare; actions start cold", "error", err)
		return
	}
	r.spare.spare = s
}

// dropSpare ends the spare, if there is one, and stops wanting it.
func (r *Runner) dropSpare() {
	r.spare.mu.Lock()
	s := r.spare.spare
	r.spare.spare, r.spare.wanted = nil, false
	if r.spare.timer != nil {
		r.spare.timer.Stop()
	}
	r.spare.mu.Unlock()
	if s != nil {
		s.abandon()
	}
}

func (r *Runner) startSpare() (*spare, error) {
	log, err := os.OpenFile(r.sharedFile("spare.log"), os.O_CREATE|os.O_TRUNC|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	answers, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	env := childEnv(r.Python, r.prefectHome())
	settings := r.prefectEnv()
	for name, value := range settings {
		env[name] = value
	}
	cmd := exec.Command(r.Python.Interpreter, r.sharedFile("spare.py")) //nolint:noctx // with a run it outlives every context
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = environ(env), r.Dir, log, log
	cmd.ExtraFiles = []*os.File{theirs} // its descriptor 3
	c, err := startChild(cmd, "")
	if err != nil {
		answers.Close()
		return nil, fmt.Errorf("start %s: %w", r.Python.Interpreter, err)
	}
	s := &spare{
		child: c, prefect: settingsOf(settings),
		ready: make(chan struct{}), taken: make(chan struct{}), silent: make(chan struct{}),
	}
	go s.listen(answers)
	return s, nil
}

// listen reads what the spare says, to the end: its last word is in the pipe also when it
// has already ended, and decides whether the run may be started once more.
func (s *spare) listen(answers io.ReadCloser) {
	defer answers.Close()
	defer close(s.silent)
	lines := bufio.NewScanner(answers)
	for _, expected := range []struct {
		word string
		said chan struct{}
	}{{"ready", s.ready}, {"taken", s.taken}} {
		if !lines.Scan() || lines.Text() != expected.word {
			return
		}
		close(expected.said)
	}
}

// takeSpare hands the run to the spare. It returns nil and no error when there is none, or
// when it did not accept: then it has ended, and no code of the driver has run.
func (r *Runner) takeSpare(ctx context.Context, env map[string]string, l Launch, note func(Process) error) (*child, error) {
	r.spare.mu.Lock()
	s := r.spare.spare
	r.spare.spare = nil
	if r.spare.wanted {
		r.spare.timer = time.AfterFunc(spareDelay, r.keepSpare)
	}
	r.spare.mu.Unlock()
	if s == nil {
		return nil, nil
	}
	// The server came back on another port, or with another auth string.
	if s.prefect != settingsOf(r.prefectEnv()) {
		s.abandon()
		return nil, nil
	}
	s.process.Output = outputFile(l.RunDir)
	err := s.handOver(ctx, spareJob{Env: env, Dir: l.Dir, Output: s.process.Output}, note)
	if err == nil {
		return s.child, nil
	}
	s.abandon()
	<-s.silent
	select {
	case <-s.taken: // it accepted just before it was ended, so the run is not started again
		return s.child, nil
	default:
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	r.log.WarnContext(ctx, "the warm spare did not take the run; it starts cold", "error", err, "log", r.sharedFile("spare.log"))
	return nil, nil
}

// handOver gives the job to the spare and waits until it has accepted.
func (s *spare) handOver(ctx context.Context, job spareJob, note func(Process) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, spareAnswer, errors.New("it does not answer"))
	defer cancel()
	select {
	case <-s.ready:
	case <-s.silent:
		return errors.New("it has ended")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := note(s.process); err != nil {
		return err
	}
	if err := json.NewEncoder(s.gate).Encode(job); err != nil {
		return fmt.Errorf("tell it the run: %w", err)
	}
	s.gate.Close()
	select {
	case <-s.taken:
		return nil
	case <-s.silent:
		select {
		case <-s.taken:
			return nil
		default:
			return errors.New("it ended with the run in its hands")
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
