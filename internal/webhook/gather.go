package webhook

import (
	"context"
	"time"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
)

const (
	// maxWaiting bounds the deliveries that were read and wait for their transaction. Each
	// is about a kilobyte.
	maxWaiting = 8192
	// maxBatch bounds one transaction, so that it is over in milliseconds.
	maxBatch = 256
	// commitTimeout is how long a transaction may take. The forge has given up by then.
	commitTimeout = 15 * time.Second
)

// gatherer has deliveries that come at the same time share a transaction: on SQLite there
// is one writer, and each commit waits for the disk. Whatever comes while one is being
// committed goes into the next, so nothing waits for company.
type gatherer struct {
	take    func(context.Context, []change.Delivery) []change.Taken
	waiting chan waiter
}

type waiter struct {
	delivery change.Delivery
	done     chan change.Taken // holds one, so that nobody waits for a reader who has gone
}

func newGatherer(take func(context.Context, []change.Delivery) []change.Taken) *gatherer {
	return &gatherer{take: take, waiting: make(chan waiter, maxWaiting)}
}

// add hands a delivery over and waits until it is durable or has failed.
func (g *gatherer) add(ctx context.Context, d change.Delivery) change.Taken {
	w := waiter{d, make(chan change.Taken, 1)}
	select {
	case g.waiting <- w:
	default:
		return change.Taken{Err: errBusy}
	}
	select {
	case t := <-w.done:
		return t
	case <-ctx.Done():
		return change.Taken{Err: slipway.Errorf(slipway.Unavailable, "the database did not keep the delivery in time")}
	}
}

// run commits until ctx ends, and then what still waits.
func (g *gatherer) run(ctx context.Context) {
	for {
		select {
		case w := <-g.waiting:
			g.commit(ctx, w)
		case <-ctx.Done():
			for {
				select {
				case w := <-g.waiting:
					g.commit(ctx, w)
				default:
					return
				}
			}
		}
	}
}

func (g *gatherer) commit(ctx context.Context, first waiter) {
	batch := []waiter{first}
	for more := true; more && len(batch) < maxBatch; {
		select {
		case w := <-g.waiting:
			batch = append(batch, w)
		default:
			more = false
		}
	}
	ds := make([]change.Delivery, len(batch))
	for i, w := range batch {
		ds[i] = w.delivery
	}
	// The batch belongs to many requests: the end of one of them must not undo it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	taken := g.take(ctx, ds)
	for i, w := range batch {
		w.done <- taken[i]
	}
}
