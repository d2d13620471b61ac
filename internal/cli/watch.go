package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/term"
	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

const (
	// patience is how long a watched task's server may be silent. It may restart in
	// between; the task goes on then, and so does the watching.
	patience = 2 * time.Minute
	// redraw is the pace of the moving line.
	redraw = 200 * time.Millisecond
)

// watch shows a task's steps until its end, which becomes the command's.
func (s *session) watch(ctx context.Context, cl *client.Client, id int64) error {
	t, err := cl.Task(ctx, id)
	if err != nil {
		return err
	}
	out := newLive(s, t)
	for !t.Over() {
		if t, err = s.next(ctx, cl, t, out); err != nil {
			break
		}
		out.update(t)
	}
	out.clear()
	switch {
	case ctx.Err() != nil:
		s.say("task %d goes on · watch it with  slipway tasks watch %d · cancel it with  slipway tasks cancel %d", id, id, id)
		return quiet(exitInterrupted)
	case err != nil:
		return err
	}
	app, err := cl.Application(ctx, t.ApplicationID)
	if err != nil && !client.IsKind(err, "not_found") { // gone after a delete
		return err
	}
	if s.format != "table" {
		if _, err := s.machine(t); err != nil {
			return err
		}
	} else {
		s.print("%s", out.screen.ending(t, app))
	}
	if t.State != "succeeded" {
		return quiet(exitFailed)
	}
	return nil
}

// next waits for another state of the task than t, and keeps the moving line alive
// meanwhile.
func (s *session) next(ctx context.Context, cl *client.Client, t wire.Task, out *live) (wire.Task, error) {
	type answer struct {
		task wire.Task
		err  error
	}
	answers := make(chan answer, 1)
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	var silent time.Time // since when the server does not answer
	ask := func() {
		next, err := cl.WaitTask(ctx, t.ID, t.Version, client.MaxWait)
		answers <- answer{next, err}
	}
	go ask()
	for {
		select {
		case a := <-answers:
			if a.err == nil || !passing(a.err) || ctx.Err() != nil {
				return a.task, a.err
			}
			if silent.IsZero() {
				silent = time.Now()
				out.clear()
				s.say("the server does not answer; waiting for it")
			}
			if time.Since(silent) > patience {
				return a.task, a.err
			}
			go func() {
				select {
				case <-time.After(time.Second):
					ask()
				case <-ctx.Done():
					answers <- answer{t, ctx.Err()}
				}
			}()
		case <-ticker.C:
			out.draw(t)
		}
	}
}

// passing reports whether an error may pass by waiting: nobody is there just now.
func passing(err error) bool {
	var u *client.Unreachable
	return errors.As(err, &u) || client.IsKind(err, "unavailable")
}

// live is a task's steps on the way: each is written once, when it has ended. On a
// terminal, one moving line below shows what runs.
type live struct {
	screen screen
	silent bool // for programs: only the end is printed
	moving bool
	drawn  bool
	frame  int
	width  int
	told   map[int64]bool // the steps that were written
}

func newLive(s *session, t wire.Task) *live {
	l := &live{screen: screen{s: s, w: s.Stdout, task: t.ID}, silent: s.format != "table", told: map[int64]bool{}}
	if f, tty := terminal(s.Stdout); tty && !l.silent && s.getenv("TERM") != "dumb" {
		l.moving = true
		l.width, _, _ = term.GetSize(int(f.Fd())) // 0 on an error: the line is not cut
	}
	if !l.silent {
		s.print("%s", taskHeader(t))
		for _, line := range l.screen.keptLines(t) {
			fmt.Fprintln(l.screen.w, line)
		}
		l.update(t)
	}
	return l
}

// update writes the steps that have ended since the last one.
func (l *live) update(t wire.Task) {
	if l.silent {
		return
	}
	l.clear()
	for _, step := range t.Steps {
		if l.told[step.ID] || step.State == "running" {
			continue
		}
		l.told[step.ID] = true
		for _, line := range l.screen.stepLines(step) {
			fmt.Fprintln(l.screen.w, line)
		}
	}
	if !t.Over() {
		l.draw(t)
	}
}

// draw draws the moving line anew.
func (l *live) draw(t wire.Task) {
	if !l.moving {
		return
	}
	l.clear()
	fmt.Fprint(l.screen.w, runningLine(t, l.frame, l.width))
	l.drawn = true
	l.frame++
}

// clear takes the moving line away.
func (l *live) clear() {
	if l.drawn {
		fmt.Fprint(l.screen.w, "\r\x1b[2K")
		l.drawn = false
	}
}
