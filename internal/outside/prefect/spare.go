package prefect

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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
	prefect string // the settings that it was started with
	answers *bufio.Reader
	ready   chan struct{} // closed when its imports are done
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
	cmd := exec.Command(r.Python.Interpreter, r.sharedFile("spare.py"))
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = environ(env), r.Dir, log, log
	cmd.ExtraFiles = []*os.File{theirs} // its descriptor 3
	c, err := startChild(cmd, "")
	if err != nil {
		answers.Close()
		return nil, fmt.Errorf("start %s: %w", r.Python.Interpreter, err)
	}
	s := &spare{child: c, prefect: settingsOf(settings), answers: bufio.NewReader(answers), ready: make(chan struct{})}
	go func() {
		if line, _ := s.answers.ReadString('\n'); line == "ready\n" {
			close(s.ready)
		}
	}()
	go func() {
		<-c.done
		answers.Close()
	}()
	return s, nil
}

// takeSpare hands the run to the spare. It returns nil when there is none, or when it
// did not accept: then it has been killed, and no code of the driver has run.
func (r *Runner) takeSpare(ctx context.Context, env map[string]string, l Launch, note func(Process) error) *child {
	r.spare.mu.Lock()
	s := r.spare.spare
	r.spare.spare = nil
	if r.spare.wanted {
		r.spare.timer = time.AfterFunc(spareDelay, r.keepSpare)
	}
	r.spare.mu.Unlock()
	if s == nil {
		return nil
	}
	// The server came back on another port, or with another auth string.
	if s.prefect != settingsOf(r.prefectEnv()) {
		s.abandon()
		return nil
	}
	s.process.Output = outputFile(l.RunDir)
	if err := r.handOver(ctx, s, spareJob{Env: env, Dir: l.Dir, Output: s.process.Output}, note); err != nil {
		r.log.WarnContext(ctx, "the warm spare did not take the run; it starts cold", "error", err)
		s.abandon()
		return nil
	}
	return s.child
}

// handOver gives the job to the spare and waits until it has accepted.
func (r *Runner) handOver(ctx context.Context, s *spare, job spareJob, note func(Process) error) error {
	ctx, cancel := context.WithTimeout(ctx, spareAnswer)
	defer cancel()
	select {
	case <-s.ready:
	case <-s.done:
		return fmt.Errorf("it ended (%v); see %s", s.exit, filepath.Join(r.Dir, "spare.log"))
	case <-ctx.Done():
		return fmt.Errorf("it is not ready: %w", context.Cause(ctx))
	}
	if err := note(s.process); err != nil {
		return err
	}
	if err := json.NewEncoder(s.gate).Encode(job); err != nil {
		return err
	}
	s.gate.Close()
	accepted := make(chan error, 1)
	go func() {
		line, err := s.answers.ReadString('\n')
		if err == nil && line != "taken\n" {
			err = fmt.Errorf("it said %q", line)
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		accepted <- err
	}()
	select {
	case err := <-accepted:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
