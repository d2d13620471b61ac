package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

const (
	remembered   = 3 * 24 * time.Hour // github.com forgets deliveries then
	overlap      = time.Hour          // of two looks, for what was asked for again and lost again
	maxAttempts  = 3                  // of one delivery, the first among them
	maxRedeliver = 50                 // in one look
)

// Recover looks for deliveries of a connection that were lost, and asks the forge for them
// again. It is a handler of package task.
func (r *Recovery) Recover(ctx context.Context, id int64) (again time.Duration, err error) {
	var c slipway.Connection
	var pools []slipway.RunnerPool
	err = r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		if c, err = tx.Connection(ctx, id); err != nil {
			return err
		}
		pools, err = tx.RunnerPools(ctx)
		return err
	})
	if slipway.Is(err, slipway.NotFound) {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	limited, stop := context.WithTimeout(ctx, roundWithin)
	defer stop()
	found, failure := r.hooks(limited, c, pools)
	more := false
	for _, h := range found {
		rest, err := r.redeliver(limited, c, h)
		if err != nil {
			failure = err
		}
		more = more || rest
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if more && failure == nil {
		return time.Minute, nil // what is left is not to be forgotten by the next look
	}
	if len(found) == 0 && failure == nil {
		return 0, nil // nobody can be asked
	}
	return 0, r.Store.InTx(ctx, func(tx *store.Tx) error { return tx.ConnectionRecovered(ctx, id, sentence(failure)) })
}

// sentence is what people read of a failure.
func sentence(err error) string {
	var e *slipway.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e) && e.Hint != "":
		return e.Msg + "; " + e.Hint
	case errors.As(err, &e):
		return e.Msg
	}
	return "the look failed; the server's log says why"
}

// sender is a hook that sends to a connection, and who may be asked about it.
type sender struct {
	hook   forge.Hook
	client Forge
}

// hooks finds the hooks that send to a connection: its App's, or those that the pools'
// credentials show. A refusal counts when nothing was found; an outage counts always, for
// what was lost meanwhile must not be passed over when the look is noted.
func (r *Recovery) hooks(ctx context.Context, c slipway.Connection, pools []slipway.RunnerPool) (found []sender, failure error) {
	app, err := r.app(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case app != nil:
		return []sender{{forge.Hook{App: true}, app}}, nil
	}
	var missed error
	seen := map[string]bool{}
	for _, p := range pools {
		scope := p.Spec.Scope
		scope.Group = 0
		if c.EnvironmentID != 0 && c.EnvironmentID != p.EnvironmentID || scope.Host() != slipway.ForgeHost(c.BaseURL) {
			continue
		}
		for _, name := range []string{p.Spec.Jobs(), p.Spec.Credential} {
			key := fmt.Sprint(p.EnvironmentID, name, strings.ToLower(scope.String()))
			if seen[key] {
				continue
			}
			seen[key] = true
			hooks, client, err := r.hooksOf(ctx, p, name, scope)
			if err != nil {
				if failure = err; forge.Is(err, forge.Away, forge.Throttled) {
					missed = err
				}
				continue
			}
			for _, h := range hooks {
				// One that was found by two credentials is asked about once.
				if at := fmt.Sprint("hook ", h.ID); strings.HasSuffix(h.URL, c.WebhookPath()) && !seen[at] {
					seen[at] = true
					found = append(found, sender{h, client})
				}
			}
		}
	}
	if len(found) > 0 {
		return found, missed
	}
	if failure == nil && len(seen) > 0 {
		failure = slipway.Errorf(slipway.NotFound, "none of the webhooks that the pools' credentials show sends to this connection").
			WithHint("make one, or give the connection the App that sends")
	}
	return nil, failure
}

func (r *Recovery) hooksOf(ctx context.Context, p slipway.RunnerPool, name string, scope slipway.ForgeScope) ([]forge.Hook, Forge, error) {
	client, err := r.ofPool(ctx, p, name)
	if err != nil {
		return nil, nil, err
	}
	hooks, err := client.Hooks(ctx, scope)
	return hooks, client, err
}

// redeliver asks for what a hook could not deliver, the oldest first. It reports whether
// some are left for the next look.
func (r *Recovery) redeliver(ctx context.Context, c slipway.Connection, s sender) (rest bool, err error) {
	since := r.Now().Add(-remembered)
	if known := c.RecoveredAt.Add(-overlap); known.After(since) {
		since = known
	}
	all, err := s.client.Deliveries(ctx, s.hook, since)
	if err != nil {
		return false, err
	}
	attempts := map[string]int{}
	for _, d := range all {
		attempts[d.GUID]++
	}
	var lost []forge.Delivery
	var guids []string
	for _, d := range forge.Lost(all) {
		// One that fails again and again fails for a reason that a repetition does not cure.
		if (d.Event == "workflow_job" || d.Event == "workflow_run") && attempts[d.GUID] < maxAttempts {
			lost, guids = append(lost, d), append(guids, d.GUID)
		}
	}
	if len(lost) == 0 {
		return false, nil
	}
	var taken map[string]bool
	err = r.Store.Read(ctx, func(tx *store.Tx) (err error) {
		taken, err = tx.DeliveriesTaken(ctx, c.ID, guids)
		return err
	})
	if err != nil {
		return false, err
	}
	asked := 0
	for _, d := range lost {
		if taken[d.GUID] {
			continue // only its answer was lost
		}
		if asked == maxRedeliver || !s.client.Spare() {
			return true, nil
		}
		if err := s.client.Redeliver(ctx, s.hook, d.ID); err != nil && !forge.Is(err, forge.NotFound) {
			return true, err
		}
		asked++
	}
	if asked > 0 {
		r.Log.InfoContext(ctx, "lost deliveries were asked for again", "connection", c.Name, "deliveries", asked)
	}
	return false, nil
}
