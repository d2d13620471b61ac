package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

const (
	// runnersPause is how often at most a watched application is read again.
	runnersPause = 400 * time.Millisecond
	// runnersPace is how often it is read at least: times grow, and a stream may be silent.
	runnersPace = 5 * time.Second
)

// watchRunners shows an application's pools until it is interrupted. On a terminal the
// picture changes in its place; elsewhere each change is written below the last.
func (s *session) watchRunners(ctx context.Context, cl *client.Client, app wire.Application) error {
	changed := make(chan struct{}, 1)
	go s.hear(ctx, cl, app, changed)
	pace := time.NewTicker(runnersPace)
	defer pace.Stop()
	_, tty := terminal(s.Stdout)
	tty = tty && s.getenv("TERM") != "dumb"
	var shown string
	var silent time.Time // since when the server does not answer
	for {
		a, err := cl.Actions(ctx, app.ID, 0)
		switch {
		case ctx.Err() != nil:
			return quiet(exitInterrupted)
		case err == nil:
			silent = time.Time{}
			if err := s.draw(a, tty, &shown); err != nil {
				return err
			}
		case !passing(err):
			return err
		case silent.IsZero():
			silent = time.Now()
			s.say("the server does not answer; waiting for it")
		case time.Since(silent) > patience:
			return err
		}
		select {
		case <-ctx.Done():
			return quiet(exitInterrupted)
		case <-changed:
			// What comes with it comes within a moment.
			select {
			case <-time.After(runnersPause):
			case <-ctx.Done():
			}
		case <-pace.C:
		}
	}
}

// draw shows a reading when it differs from the last one; on a terminal also when only
// time has passed.
func (s *session) draw(a wire.Actions, tty bool, shown *string) error {
	now, err := timeless(a)
	if err != nil || now == *shown && !(tty && s.format == "table") {
		return err
	}
	first := *shown == ""
	*shown = now
	if done, err := s.machine(a); done {
		return err
	}
	var b bytes.Buffer
	switch {
	case tty:
		b.WriteString("\x1b[H\x1b[2J")
	case !first:
		b.WriteString("\n")
	}
	s.printActions(&b, a)
	_, err = s.Stdout.Write(b.Bytes())
	return err
}

// timeless is a reading without what changes when nothing happens.
func timeless(a wire.Actions) (string, error) {
	a.Pools = slices.Clone(a.Pools)
	for i := range a.Pools {
		a.Pools[i].CheckedAt, a.Pools[i].Observed.At, a.Pools[i].Ledger.CheckedAt = nil, nil, nil
	}
	a.Queue = slices.Clone(a.Queue)
	for i := range a.Queue {
		a.Queue[i].Why.Evidence = nil // it says when the pool was looked at
	}
	b, err := json.Marshal(a)
	if err != nil {
		return "", fmt.Errorf("compare two readings: %w", err)
	}
	return string(b), nil
}

// hear tells of what concerns runner pools of the application's environment.
func (s *session) hear(ctx context.Context, cl *client.Client, app wire.Application, changed chan<- struct{}) {
	var last int64
	for ctx.Err() == nil {
		err := cl.Events(ctx, last, func(e wire.Event) error {
			last = max(last, e.ID)
			if e.ID == 0 || e.Noun == "pool" && e.Project == app.Project && e.Environment == app.Environment {
				select {
				case changed <- struct{}{}:
				default: // it is known already that something changed
				}
			}
			return nil
		})
		if err != nil && !passing(err) {
			return // the pace goes on without it
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
}
