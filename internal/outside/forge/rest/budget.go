package rest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"slipway.dev/slipway/internal/outside/forge"
)

// BudgetOptions bound what one credential does. Zero values mean the defaults, which stay
// well below what GitHub allows: 100 requests at once, 900 points a minute, and 180 runner
// configurations a minute. GitLab.com allows no less of what is asked of it.
type BudgetOptions struct {
	Forge         string        // whose limits they are, as people write it
	Concurrency   int           // requests at once; 20
	PerSecond     float64       // requests; 10
	Registrations float64       // of runners in a second; 2.5
	Patience      time.Duration // how long a request waits for its turn before it is refused; 5 s
	// Registers tells which requests register a runner; nil: none.
	Registers func(*http.Request) bool
}

// Budget is what one credential may still do. It is shared by all clients of it.
type Budget struct {
	opts          BudgetOptions
	slots         chan struct{}
	pace          *rate.Limiter
	registrations *rate.Limiter

	mu        sync.Mutex
	limit     int
	remaining int
	reset     time.Time
	until     time.Time // nothing is sent before
	strikes   int       // refusals without a time, one after the other
}

const (
	defaultConcurrency   = 20
	defaultPerSecond     = 10
	defaultRegistrations = 2.5
	defaultPatience      = 5 * time.Second
	burst                = 30
	// firstPause is how long to keep away when a forge says "too fast" and not for how long.
	// GitHub's documentation asks for a minute, and for more each time.
	firstPause, longestPause = time.Minute, 15 * time.Minute
)

// NewBudget returns a full budget.
func NewBudget(o BudgetOptions) *Budget {
	if o.Concurrency <= 0 {
		o.Concurrency = defaultConcurrency
	}
	if o.PerSecond <= 0 {
		o.PerSecond = defaultPerSecond
	}
	if o.Registrations <= 0 {
		o.Registrations = defaultRegistrations
	}
	if o.Patience <= 0 {
		o.Patience = defaultPatience
	}
	return &Budget{
		opts: o, slots: make(chan struct{}, o.Concurrency),
		pace: rate.NewLimiter(rate.Limit(o.PerSecond), burst), registrations: rate.NewLimiter(rate.Limit(o.Registrations), burst),
	}
}

// BudgetState is what people and metrics see of a budget.
type BudgetState struct {
	Limit, Remaining int       // of the hour or minute, as the forge told last; 0 and 0: it told nothing
	Reset            time.Time // when Remaining is full again
	Until            time.Time // nothing is sent before; zero: it is
	InFlight         int
}

// State returns the budget as it stands.
func (b *Budget) State() BudgetState {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := BudgetState{Limit: b.limit, Remaining: b.remaining, Reset: b.reset, InFlight: len(b.slots)}
	if b.until.After(time.Now()) {
		s.Until = b.until
	}
	return s
}

// Over returns a transport that spends the budget.
func (b *Budget) Over(next http.RoundTripper) http.RoundTripper { return &spending{b, next} }

type spending struct {
	budget *Budget
	next   http.RoundTripper
}

// RoundTrip waits for the request's turn, if that is near, and refuses it otherwise: a
// caller that knows how long to wait can do something else meanwhile.
func (s *spending) RoundTrip(r *http.Request) (*http.Response, error) {
	b := s.budget
	if err := b.turn(r); err != nil {
		return nil, err
	}
	select {
	case b.slots <- struct{}{}:
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	res, err := s.next.RoundTrip(r)
	if err != nil {
		<-b.slots
		return nil, err
	}
	b.Learn(res)
	// The request is in flight until its answer was read.
	res.Body = &ending{ReadCloser: res.Body, end: sync.OnceFunc(func() { <-b.slots })}
	return res, nil
}

type ending struct {
	io.ReadCloser
	end func()
}

func (e *ending) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}

// turn waits until a request may be sent.
func (b *Budget) turn(r *http.Request) error {
	now := time.Now()
	b.mu.Lock()
	wait := b.until.Sub(now)
	b.mu.Unlock()
	limiters := []*rate.Limiter{b.pace}
	if b.opts.Registers != nil && b.opts.Registers(r) {
		limiters = append(limiters, b.registrations)
	}
	if wait > b.opts.Patience {
		return b.Throttled(wait) // before anything is taken from the limiters
	}
	var taken []*rate.Reservation
	for _, l := range limiters {
		res := l.ReserveN(now, 1)
		taken = append(taken, res)
		wait = max(wait, res.DelayFrom(now))
	}
	giveBack := func() {
		for _, t := range taken {
			t.CancelAt(now)
		}
	}
	if wait > b.opts.Patience {
		giveBack()
		return b.Throttled(wait)
	}
	if err := Sleep(r.Context(), wait); err != nil {
		giveBack()
		return err
	}
	return nil
}

// Throttled is the error of a request that was to wait for so long.
func (b *Budget) Throttled(wait time.Duration) error {
	wait = wait.Round(time.Second)
	return forge.Fail(forge.Throttled, fmt.Sprintf("%s's limit for this credential is reached for another %s", b.opts.Forge, wait),
		"it goes on by itself; another credential has a limit of its own", nil).Wait(wait)
}

// Sleep waits, unless its context ends before.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Learn reads what an answer says of the limits. GitHub begins the names of its headers
// with X, GitLab does not.
func (b *Budget) Learn(res *http.Response) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	told := func(what string) string {
		return cmp.Or(res.Header.Get("X-RateLimit-"+what), res.Header.Get("RateLimit-"+what))
	}
	if n, err := strconv.Atoi(told("Limit")); err == nil {
		b.limit = n
	}
	remaining, err := strconv.Atoi(told("Remaining"))
	spent := err == nil && remaining == 0
	if err == nil {
		b.remaining = remaining
	}
	if at, err := strconv.ParseInt(told("Reset"), 10, 64); err == nil {
		b.reset = time.Unix(at, 0)
	}
	after, asked := retryAfter(res.Header.Get("Retry-After"), now)
	refused := res.StatusCode == http.StatusForbidden || res.StatusCode == http.StatusTooManyRequests
	switch {
	case asked && (refused || res.StatusCode == http.StatusServiceUnavailable):
		b.away(now, after)
	case refused && spent && b.reset.After(now), spent && b.reset.After(now) && res.StatusCode < http.StatusBadRequest:
		b.away(now, b.reset.Sub(now))
	case res.StatusCode == http.StatusTooManyRequests:
		b.away(now, min(firstPause<<min(b.strikes, 8), longestPause))
		b.strikes++
	case res.StatusCode < http.StatusBadRequest:
		b.strikes = 0
	}
}

// away keeps requests back, with a little more than was asked for, and never all until the
// same moment.
func (b *Budget) away(now time.Time, d time.Duration) {
	d += time.Duration(rand.Int64N(int64(d/10) + int64(time.Second))) //nolint:gosec // it spreads requests, and guards nothing
	if until := now.Add(d); until.After(b.until) {
		b.until = until
	}
}

// Hold keeps requests back after a refusal whose headers told no time.
func (b *Budget) Hold() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if b.until.After(now) {
		return b.until.Sub(now)
	}
	b.away(now, min(firstPause<<min(b.strikes, 8), longestPause))
	b.strikes++
	return b.until.Sub(now)
}

// retryAfter reads seconds, or a date.
func retryAfter(s string, now time.Time) (time.Duration, bool) {
	if s == "" {
		return 0, false
	}
	const longest = 24 * time.Hour // or an overflow would make it short
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return min(time.Duration(min(max(n, 0), int64(longest/time.Second)))*time.Second, longest), true
	}
	if at, err := http.ParseTime(s); err == nil {
		return min(max(at.Sub(now), 0), longest), true
	}
	return 0, false
}

// Spare reports whether requests are left for what can wait: the forge has not asked to
// keep away, and a quarter of what it allows, as it counted last, is still there.
func (b *Budget) Spare() bool {
	s := b.State()
	return s.Until.IsZero() && (s.Limit == 0 || s.Reset.Before(time.Now()) || s.Remaining*4 >= s.Limit)
}
