//go:build e2e

package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"slipway.dev/slipway/internal/store/postgres/postgrestest"
	"slipway.dev/slipway/internal/wire"
	"slipway.dev/slipway/test/world"
)

// TestDeliveriesSurviveKills kills the server with SIGKILL in the middle of bursts. Each
// delivery that was answered with success is on record afterwards, once: sent again, it is
// known. One that was not answered is on record or is taken now, and known from then on.
// World: real server, SQLite and Debian's PostgreSQL; the forge is a sender in this process.
func TestDeliveriesSurviveKills(t *testing.T) {
	for _, db := range []string{"SQLite", "PostgreSQL"} {
		t.Run(db, func(t *testing.T) {
			w := world.Prepare(t)
			var flags []string
			if db == "PostgreSQL" {
				flags = []string{"--database", postgrestest.DSN(t)}
			}
			server := w.Launch("data", flags...)
			w.Up(server)
			w.SetUp("data")
			var made wire.ConnectionSecret
			if err := json.Unmarshal([]byte(w.Must("connections", "create", "team", "-e", w.Env, "-o", "json")), &made); err != nil {
				t.Fatal(err)
			}
			b := &bursts{T: t, sender: world.NewSender(t, made.Connection.WebhookURL, made.Secret, "team")}
			var all []int64
			for range 3 {
				answered, open := b.until(func() { w.Kill(server) })
				server = w.Launch("data", flags...)
				w.Up(server)
				if len(open) == 0 {
					t.Error("the kill came between two deliveries, so it shows nothing")
				}
				t.Logf("%d were answered before the kill, and %d were under way", len(answered), len(open))
				b.again(answered, "again")
				b.again(open, "again", "taken")
				all = append(append(all, answered...), open...)
			}
			b.again(all, "again")
		})
	}
}

// bursts sends deliveries of ever new jobs by many at once.
type bursts struct {
	*testing.T
	sender *world.Sender
	next   atomic.Int64
}

const atOnce = 32

// until sends until the server is killed, which is at some moment after some hundred
// deliveries. It returns the jobs whose deliveries were answered with success, and those
// whose were not answered at all.
func (b *bursts) until(kill func()) (answered, open []int64) {
	b.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	var killed atomic.Bool
	enough := make(chan struct{})
	for range atOnce {
		all.Go(func() {
			line, err := b.sender.Dial()
			if err != nil {
				b.Error(err)
				return
			}
			defer line.Close()
			for {
				job := b.next.Add(1)
				status, text, err := line.Send(job)
				mu.Lock()
				switch {
				case err != nil:
					open = append(open, job)
					if !killed.Load() {
						b.Errorf("before the kill: %v", err)
					}
				case status != http.StatusOK || !strings.HasPrefix(text, "taken"):
					b.Errorf("job %d: %d %s", job, status, text)
				default:
					answered = append(answered, job)
					if len(answered) == 300 {
						close(enough)
					}
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	select {
	case <-enough:
	case <-time.After(20 * time.Second):
		b.Error("300 deliveries were not taken within 20 s")
	}
	time.Sleep(time.Duration(rand.IntN(200)) * time.Millisecond) // anywhere in a transaction
	killed.Store(true)
	kill()
	all.Wait()
	return answered, open
}

// again sends the deliveries of jobs once more, and checks what becomes of each.
func (b *bursts) again(jobs []int64, results ...string) {
	b.Helper()
	work := make(chan int64)
	var all sync.WaitGroup
	for range atOnce {
		all.Go(func() {
			line, err := b.sender.Dial()
			if err == nil {
				defer line.Close()
			}
			for job := range work {
				if err != nil {
					continue
				}
				var status int
				var text string
				if status, text, err = line.Send(job); err == nil {
					result, _, _ := strings.Cut(text, ":")
					if status != http.StatusOK || !slices.Contains(results, result) {
						b.Errorf("the delivery of job %d, sent again: %d %s, want %v", job, status, text, results)
					}
				}
			}
			if err != nil {
				b.Error(err)
			}
		})
	}
	for _, job := range jobs {
		work <- job
	}
	close(work)
	all.Wait()
}
