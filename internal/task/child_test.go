package task

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// A child is this test binary again, as a process of its own that handles tasks: one that
// can be killed for real.
const (
	childDatabase = "SLIPWAY_TEST_CHILD_DATABASE" // sqlite or postgres
	childWhere    = "SLIPWAY_TEST_CHILD_WHERE"
	childReplica  = "SLIPWAY_TEST_CHILD_REPLICA"
	childGo       = "SLIPWAY_TEST_CHILD_GO"   // the file that lets the second step end
	childBeat     = "SLIPWAY_TEST_CHILD_BEAT" // how often it beats; it is dead after five of them
)

// child is called first by TestMain. It does not return in a child.
func child() {
	if os.Getenv(childDatabase) == "" {
		return
	}
	if err := childMain(); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func childMain() error {
	ctx := context.Background()
	db, err := openDatabase(ctx, os.Getenv(childDatabase), os.Getenv(childWhere))
	if err != nil {
		return err
	}
	beat, err := time.ParseDuration(os.Getenv(childBeat))
	if err != nil {
		return err
	}
	replica, log := os.Getenv(childReplica), slog.New(slog.NewTextHandler(os.Stderr, nil))
	q, err := NewQueue(db.store, db.River(), Options{Replica: slipway.Replica{ID: replica}, Log: log, BeatEvery: beat, DeadAfter: 5 * beat})
	if err != nil {
		return err
	}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	var background sync.WaitGroup
	events := NewEvents(db.store, log)
	background.Go(func() { events.Run(watch) })
	j := NewJournal(db.store, events, replica, log)
	background.Go(func() { j.Watch(watch) })
	q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) {
		err := childTask(ctx, j, id, replica, os.Getenv(childGo), func(s string) { fmt.Println(s) })
		fmt.Println("returned", err)
		return 0, err
	})
	if err := q.Start(ctx); err != nil {
		return err
	}
	fmt.Println("ready")
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	select {
	case <-terminate:
		if err := q.Stop(ctx); err != nil {
			return err
		}
		stop()
		background.Wait()
		signal.Stop(terminate)
		if err := db.Close(); err != nil {
			return err
		}
		// database/sql and pgx end theirs a moment after Close has returned.
		return goleak.Find(goleak.IgnoreTopFunction("os/signal.signal_recv"), goleak.IgnoreTopFunction("os/signal.loop"))
	case <-q.Lost():
		time.Sleep(time.Second) // a slow end: what can its handlers still do?
		fmt.Println("lost")
		return nil
	}
}

// childTask has two steps; the second lasts until a file is there.
func childTask(ctx context.Context, j *Journal, id int64, replica, goFile string, say func(string)) error {
	r, err := j.Claim(ctx, id)
	if err != nil {
		return err
	}
	defer r.Close()
	one, err := r.Step("one", "First step")
	if err != nil {
		return err
	}
	if !one.Done() {
		say("did one")
		if err := errors.Join(one.Note("by "+replica), one.Close(slipway.StepSucceeded, "")); err != nil {
			return err
		}
	}
	two, err := r.Step("two", "Second step")
	if err != nil {
		return err
	}
	say("in two")
	for {
		if _, err := os.Stat(goFile); err == nil {
			break
		}
		select {
		case <-r.Context().Done():
			return context.Cause(r.Context())
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := two.Close(slipway.StepSucceeded, ""); err != nil {
		return err
	}
	return r.Finish(store.TaskEnd{State: slipway.Succeeded})
}

// process is a child as its parent sees it.
type process struct {
	testing.TB
	cmd   *exec.Cmd
	lines chan string
	done  chan error
}

func (w *world) process(replica, goFile string, beat time.Duration) *process {
	w.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDatabase+"="+w.name, childWhere+"="+w.where, childReplica+"="+replica,
		childGo+"="+goFile, childBeat+"="+beat.String())
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	cmd.Stderr = w.Output()
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	p := &process{TB: w.TB, cmd: cmd, lines: make(chan string, 10000), done: make(chan error, 1)}
	go func() {
		p.read(out)
		p.done <- cmd.Wait()
	}()
	w.Cleanup(func() { p.signal(syscall.SIGKILL) })
	return p
}

func (p *process) read(out io.Reader) {
	for s := bufio.NewScanner(out); s.Scan(); {
		p.lines <- s.Text()
	}
}

// says waits for a line that begins so, over others.
func (p *process) says(d time.Duration, want string) string {
	p.Helper()
	for deadline := time.Now().Add(d); ; {
		if line := within(p, time.Until(deadline), p.lines, fmt.Sprintf("%q", want)); strings.HasPrefix(line, want) {
			return line
		}
	}
}

// signal does nothing to a process that has ended.
func (p *process) signal(s syscall.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.Error(err)
	}
}
