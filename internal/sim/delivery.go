package sim

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/webhook"
)

// arrival is a delivery on its way to us. It may be on its way for hours.
type arrival struct {
	host        *host
	connection  slipway.Connection
	event, guid string
	payload     []byte
	again       bool // it came before: nobody waits for an answer
}

// How deliveries are lost.
const (
	noAnswer  = iota // it does not reach us
	refused          // something in front of us answers that it is ill
	neverSent        // the forge forgets it, and its list does not even show it
	ways
)

// receive is where the forges' hooks send to. What is not lost is on its way until it is
// taken, in whatever order.
func (w *World) receive(a arrival) int {
	w.Count.Deliveries++
	if w.dropping == 0 {
		w.inbox = append(w.inbox, a)
		return fake.Later
	}
	w.dropping--
	w.tell("LOST delivery %s (%d)", a.guid, w.dropHow)
	w.lose(a)
	switch w.dropHow {
	case refused:
		return 502
	case neverSent:
		if at, ok := a.about(); ok {
			w.never[at] = true
		}
		return fake.Later
	}
	return 0
}

// about is the job that a delivery is about.
func (a arrival) about() (hostJob, bool) {
	e, err := webhook.Parse(a.event, a.payload, begin)
	if err != nil || e.Job == nil {
		return hostJob{}, false
	}
	return hostJob{a.host, e.Job.Job.ID}, true
}

func (w *World) lose(a arrival) {
	w.Count.Lost++
	if at, ok := a.about(); ok {
		w.losses[at]++
	}
}

// take takes one of the deliveries that are on their way. When our process dies meanwhile,
// or says that it could not keep it, the forge has no good answer, and does not send it
// again by itself.
func (w *World) take(ctx context.Context, n int) error {
	a := w.inbox[n]
	w.inbox = append(w.inbox[:n:n], w.inbox[n+1:]...)
	code := 0
	err := w.live(ctx, func(ctx context.Context) error {
		d := change.Delivery{Connection: a.connection, GUID: a.guid, Event: a.event, Size: int64(len(a.payload))}
		e, err := webhook.Parse(a.event, a.payload, w.now)
		if err != nil {
			return fmt.Errorf("read delivery %s: %w", a.guid, err)
		}
		if e.Job != nil {
			d.Job = &e.Job.Job
			d.Job.Host, d.Job.RunnerID = slipway.ForgeHost(a.connection.BaseURL), e.Job.RunnerID
			d.Action = string(d.Job.State)
			w.tell("take job %d %s %v on %s", d.Job.ID, d.Job.State, d.Job.Labels, d.Job.Runner)
		}
		taken := w.proc.change.TakeDeliveries(ctx, []change.Delivery{d})
		if taken[0].Err != nil {
			code = 503
			return taken[0].Err
		}
		w.taken = append(w.taken[max(0, len(w.taken)-20):], a)
		if w.point("the answer", func(x What) bool { return x == Crash || x == Lost }) != Lost {
			code = 202
		}
		return nil
	})
	if code != 202 {
		w.lose(a)
	}
	if !a.again {
		a.host.Answer(a.guid, code)
	}
	return err
}
