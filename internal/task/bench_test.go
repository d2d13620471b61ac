package task

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"slipway.dev/slipway/internal/store"
)

// BenchmarkWakeUp measures the time from the return of the commit that enqueues a wake-up
// to the first line of its handler. World: both databases; PostgreSQL as the tests start
// it, without fsync, unless SLIPWAY_TEST_POSTGRES names another.
func BenchmarkWakeUp(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres"} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, name)
			q, seen := w.queue(Options{}), make(chan time.Time, 1)
			q.Handle("task", func(ctx context.Context, id int64) (time.Duration, error) { seen <- time.Now(); return 0, nil })
			w.start(q)
			w.wake(q, WakeUp{Noun: "task", ID: 1})
			within(b, time.Minute, seen, "the first wake-up")
			var took []time.Duration
			for id := int64(2); b.Loop(); id++ {
				var committed time.Time
				err := w.store.InTx(context.Background(), func(tx *store.Tx) error {
					tx.AfterCommit(func() { committed = time.Now() })
					return q.Enqueue(context.Background(), tx, WakeUp{Noun: "task", ID: id})
				})
				if err != nil {
					b.Fatal(err)
				}
				took = append(took, within(b, time.Minute, seen, "the wake-up").Sub(committed))
			}
			slices.Sort(took)
			at := func(p float64) time.Duration { return took[int(p*float64(len(took)-1))].Round(10 * time.Microsecond) }
			fmt.Printf("wake-up, %s, %d of them, %d cores: median %s, 99th of 100 %s, slowest %s\n",
				name, len(took), runtime.NumCPU(), at(0.5), at(0.99), at(1))
			b.ReportMetric(float64(at(0.5).Microseconds())/1000, "median-ms")
			b.ReportMetric(float64(at(0.99).Microseconds())/1000, "p99-ms")
		})
	}
}
