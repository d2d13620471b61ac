package sim

import (
	"context"
	"fmt"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
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
	if err != nil {
		return err
	}
	return w.wordsKept(ctx)
}

// wordsKept looks whether of each delivery that counts as taken its word is on record: it
// will never be taken again.
func (w *World) wordsKept(ctx context.Context) error {
	return w.look(ctx, func(tx *store.Tx) error {
		rows, err := tx.SQL().QueryContext(ctx, `SELECT d.guid, d.action, COALESCE(j.state, 'not known')
			FROM deliveries d JOIN connections c ON c.id = d.connection_id
			LEFT JOIN forge_jobs j ON j.id = d.job_id AND j.host = CASE c.base_url WHEN '' THEN 'github.com' ELSE 'ghe.example.com' END
			WHERE d.job_id <> 0 AND d.outcome IN ('taken', 'old')`)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }() // what went wrong is in rows.Err
		for rows.Next() {
			var guid string
			var told, known slipway.JobState
			if err := rows.Scan(&guid, &told, &known); err != nil {
				return err
			}
			if known.Rank() < told.Rank() {
				w.violate("delivery %s counts as taken and said that its job is %s, which is %s", guid, told, known)
			}
		}
		return rows.Err()
	})
}
