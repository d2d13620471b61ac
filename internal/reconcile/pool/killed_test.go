package pool

import (
	"fmt"
	"testing"
	"time"
)

// TestAPoolEndsAsUndisturbedWhereverItIsKilled kills the process in each call of the world,
// before and after its effect, and in each transaction. World: fake, over SQLite.
func TestAPoolEndsAsUndisturbedWhereverItIsKilled(t *testing.T) {
	t.Parallel()
	quiet := newScene(t)
	quiet.every = 4 * time.Second
	quiet.queueJobs(2)
	quiet.live(time.Minute)
	quiet.atRest()
	if quiet.done() != 2 {
		t.Fatalf("undisturbed, %d of 2 jobs are done", quiet.done())
	}
	moments := quiet.death.names
	t.Logf("%d moments", len(moments))
	if len(moments) < 50 {
		t.Fatalf("undisturbed the process had %d moments: %v", len(moments), moments)
	}
	for n, name := range moments {
		t.Run(fmt.Sprintf("killed in moment %d (%s)", n+1, name), func(t *testing.T) {
			t.Parallel()
			s := newScene(t)
			s.every, s.death.at = 4*time.Second, n+1
			s.queueJobs(2)
			s.live(130 * time.Second)
			if s.done() != 2 {
				t.Errorf("%d of 2 jobs are done; slots %v", s.done(), s.states())
			}
			s.atRest()
			if s.deaths != 1 {
				t.Errorf("the process died %d times, want once", s.deaths)
			}
		})
	}
}

// TestAPoolIsKilledOverPostgres is the same over PostgreSQL, in some of the moments: what
// differs is only how a transaction ends. World: fake, over a real PostgreSQL.
func TestAPoolIsKilledOverPostgres(t *testing.T) {
	t.Parallel()
	quiet := newPostgresScene(t)
	quiet.every = 4 * time.Second
	quiet.queueJobs(2)
	quiet.live(time.Minute)
	quiet.wantDone(2)
	quiet.atRest()
	for n := 1; n <= quiet.death.moments; n += 9 {
		t.Run(fmt.Sprintf("killed in moment %d (%s)", n, quiet.death.names[n-1]), func(t *testing.T) {
			t.Parallel()
			s := newPostgresScene(t)
			s.every, s.death.at = 4*time.Second, n
			s.queueJobs(2)
			s.live(130 * time.Second)
			s.wantDone(2)
			s.atRest()
		})
	}
}
