package rest

// World: pure, with virtual time; the far side is a function.

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
)

type answering func(*http.Request) *http.Response

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

func answered(code int, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{StatusCode: code, Header: h, Body: io.NopCloser(strings.NewReader("{}"))}
}

// spend sends one request through a budget.
func spend(t *testing.T, b *Budget, path string, far answering) (code int, err error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.github.com"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := b.Over(far).RoundTrip(r)
	if err != nil {
		return 0, err
	}
	return res.StatusCode, res.Body.Close()
}

// runner#4399, runner#3479, tf#4710: what a forge asks for in trouble, and for how long.
func TestABudgetKeepsAwayAsLongAsItIsAsked(t *testing.T) {
	t.Parallel()
	reset := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
	for _, tc := range []struct {
		name   string
		answer func() *http.Response
		least  time.Duration // 0: it is not kept away at all
		most   time.Duration
	}{
		{"by Retry-After in seconds", func() *http.Response { return answered(429, "Retry-After", "90") }, 90 * time.Second, 100 * time.Second},
		{"by Retry-After on a 403", func() *http.Response { return answered(403, "Retry-After", "90") }, 90 * time.Second, 100 * time.Second},
		{"by Retry-After in an outage", func() *http.Response { return answered(503, "Retry-After", "90") }, 90 * time.Second, 100 * time.Second},
		{"by Retry-After as a date", func() *http.Response {
			return answered(429, "Retry-After", time.Now().Add(90*time.Second).UTC().Format(http.TimeFormat))
		}, 89 * time.Second, 100 * time.Second},
		{"until the hour's reset", func() *http.Response {
			return answered(403, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset(10*time.Minute))
		}, 10*time.Minute - time.Second, 11*time.Minute + time.Second},
		{"until the minute's reset, in GitLab's words", func() *http.Response {
			return answered(429, "RateLimit-Remaining", "0", "RateLimit-Reset", reset(10*time.Minute))
		}, 10*time.Minute - time.Second, 11*time.Minute + time.Second},
		{"before GitHub has to refuse", func() *http.Response {
			return answered(200, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset(10*time.Minute))
		}, 10*time.Minute - time.Second, 11*time.Minute + time.Second},
		{"for a minute when it is not told", func() *http.Response { return answered(429) }, time.Minute, 67 * time.Second},
		{"not by a plain refusal", func() *http.Response {
			return answered(403, "X-RateLimit-Remaining", "4999", "X-RateLimit-Reset", reset(time.Hour))
		}, 0, 0},
		{"not by an outage that tells no time", func() *http.Response { return answered(502) }, 0, 0},
		{"at most a day, whatever is asked", func() *http.Response { return answered(429, "Retry-After", "99999999999999") }, 24 * time.Hour, 27 * time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := NewBudget(BudgetOptions{})
				sent := 0
				far := answering(func(*http.Request) *http.Response { sent++; return tc.answer() })
				if _, err := spend(t, b, "/x", far); err != nil {
					t.Fatal(err)
				}
				_, err := spend(t, b, "/x", far)
				if tc.least == 0 {
					if err != nil || sent != 2 {
						t.Errorf("kept away: %v", err)
					}
					return
				}
				var e *forge.Error
				if !forge.Is(err, forge.Throttled) || !errors.As(err, &e) || sent != 1 {
					t.Fatalf("sent %d, %v; want it refused without being sent", sent, err)
				}
				if e.RetryAfter < tc.least || e.RetryAfter > tc.most {
					t.Errorf("kept away for %s, want %s to %s", e.RetryAfter, tc.least, tc.most)
				}
				time.Sleep(e.RetryAfter + time.Second) // virtual
				ok := answering(func(*http.Request) *http.Response { return answered(200) })
				if _, err := spend(t, b, "/x", ok); err != nil {
					t.Errorf("after that time: %v", err)
				}
			})
		})
	}
}

func TestABudgetWaitsForWhatIsNear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(BudgetOptions{Patience: 5 * time.Second})
		if _, err := spend(t, b, "/x", func(*http.Request) *http.Response { return answered(429, "Retry-After", "2") }); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := spend(t, b, "/x", func(*http.Request) *http.Response { return answered(200) }); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(began); waited < 2*time.Second || waited > 4*time.Second {
			t.Errorf("it waited %s", waited)
		}
	})
}

func TestABudgetPacesRequestsAndRegistrationsMore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		path string
		most int // in a minute: the burst and the pace
	}{
		{"/orgs/team/actions/runners", burst + 60*defaultPerSecond},
		{"/orgs/team/actions/runners/generate-jitconfig", burst + 60*5/2},
	} {
		t.Run(tc.path, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := NewBudget(BudgetOptions{Registers: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/generate-jitconfig") }})
				began, n := time.Now(), 0
				for time.Since(began) < time.Minute {
					_, err := spend(t, b, tc.path, func(*http.Request) *http.Response { return answered(200) })
					if err != nil {
						t.Fatal(err)
					}
					n++
				}
				if n > tc.most+1 || n < tc.most-5 {
					t.Errorf("%d requests in a minute, want about %d", n, tc.most)
				}
			})
		})
	}
}

func TestABudgetBoundsWhatIsInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(BudgetOptions{Concurrency: 3, PerSecond: 1000})
		release := make(chan struct{})
		done := make(chan error, 10)
		for range 10 {
			go func() {
				_, err := spend(t, b, "/x", func(*http.Request) *http.Response { <-release; return answered(200) })
				done <- err
			}()
		}
		synctest.Wait()
		if n := b.State().InFlight; n != 3 {
			t.Errorf("%d in flight, want 3", n)
		}
		close(release)
		for range 10 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if n := b.State().InFlight; n != 0 {
			t.Errorf("%d in flight at the end", n)
		}
	})
}

func TestABudgetGrowsItsPauseWhileItIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(BudgetOptions{})
		last := time.Duration(0)
		for i := range 6 {
			if _, err := spend(t, b, "/x", func(*http.Request) *http.Response { return answered(429) }); err != nil {
				t.Fatal(err)
			}
			wait := time.Until(b.State().Until)
			if i < 4 && wait < last*3/2 || wait > longestPause*12/10 {
				t.Errorf("pause %d is %s after %s", i+1, wait, last)
			}
			last = wait
			time.Sleep(wait) // virtual
		}
	})
}

// tf#5037, tf PR#5132: one credential's limit is not another's.
func TestBudgetsAreApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := NewBudget(BudgetOptions{}), NewBudget(BudgetOptions{})
		if _, err := spend(t, a, "/x", func(*http.Request) *http.Response { return answered(429, "Retry-After", "3600") }); err != nil {
			t.Fatal(err)
		}
		if _, err := spend(t, b, "/x", func(*http.Request) *http.Response {
			return answered(200, "X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4321")
		}); err != nil {
			t.Errorf("another's limit holds it up: %v", err)
		}
		if s := b.State(); s.Limit != 5000 || s.Remaining != 4321 || !s.Until.IsZero() {
			t.Errorf("State() = %+v", s)
		}
		if s := a.State(); s.Until.IsZero() {
			t.Errorf("State() = %+v", s)
		}
	})
}

// World: pure.
func TestSpareSaysWhetherThereIsRoomForWhatCanWait(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		header http.Header
		code   int
		want   bool
	}{
		"nothing is known":          {nil, 200, true},
		"half is left":              {limits("5000", "2500", time.Hour), 200, true},
		"a fifth is left":           {limits("5000", "1000", time.Hour), 200, false},
		"the hour is over":          {limits("5000", "1000", -time.Minute), 200, true},
		"GitHub asked to keep away": {http.Header{"Retry-After": {"60"}}, 429, false},
	} {
		b := NewBudget(BudgetOptions{})
		b.Learn(&http.Response{StatusCode: tc.code, Header: tc.header})
		if got := b.Spare(); got != tc.want {
			t.Errorf("%s: Spare() = %t, want %t", name, got, tc.want)
		}
	}
}

func limits(limit, left string, reset time.Duration) http.Header {
	h := http.Header{}
	h.Set("X-RateLimit-Limit", limit)
	h.Set("X-RateLimit-Remaining", left)
	h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(reset).Unix(), 10))
	return h
}
