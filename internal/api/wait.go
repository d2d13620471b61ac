package api

import (
	"context"
	"errors"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Waiting is the part of a question that may be held back until there is news.
type Waiting struct {
	Wait int `query:"wait" minimum:"0" maximum:"25" doc:"Seconds to hold the answer back while there is no news."`
}

// until asks again at every event until there is news, or the time is over, or the server
// stops; then the caller gets the answer as it is. It never ends in an error for waiting
// in vain.
func (s *service) until(ctx context.Context, w Waiting, ask func(context.Context) (news bool, err error)) error {
	if w.Wait == 0 {
		_, err := ask(ctx)
		return err
	}
	over := time.NewTimer(time.Duration(w.Wait) * time.Second)
	defer over.Stop()
	_, events, stop, err := s.Events.Subscribe(ctx, 0) // before asking, or an event in between is missed
	if err != nil {
		return err
	}
	defer stop()
	for {
		news, err := ask(ctx)
		if err != nil || news {
			return err
		}
		select {
		case <-events:
			drain(events)
		case <-over.C:
			return nil
		case <-s.Stopping:
			return nil
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil
			}
			return ctx.Err()
		}
	}
}

// drain takes what else has happened: one question answers for all of it.
func drain(events <-chan slipway.Event) {
	for {
		select {
		case _, open := <-events:
			if !open {
				return
			}
		default:
			return
		}
	}
}
