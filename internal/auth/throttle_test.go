package auth

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Pure.
func TestLimitDoublesUpToItsLongest(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	l := limit{free: 5, first: time.Second, longest: 15 * time.Minute}
	for _, tc := range []struct {
		name string
		f    store.LoginFailure
		want time.Duration
	}{
		{"no failure", store.LoginFailure{}, 0},
		{"the last free one", store.LoginFailure{Failures: 4, LastAt: now}, 0},
		{"the first that costs", store.LoginFailure{Failures: 5, LastAt: now}, time.Second},
		{"one more doubles", store.LoginFailure{Failures: 6, LastAt: now}, 2 * time.Second},
		{"a part has passed", store.LoginFailure{Failures: 8, LastAt: now.Add(-3 * time.Second)}, 5 * time.Second},
		{"all has passed", store.LoginFailure{Failures: 8, LastAt: now.Add(-8 * time.Second)}, 0},
		{"never more than the longest", store.LoginFailure{Failures: 17, LastAt: now}, 15 * time.Minute},
		{"a million failures do not overflow", store.LoginFailure{Failures: 1_000_000, LastAt: now}, 15 * time.Minute},
		{"a day later they are forgotten", store.LoginFailure{Failures: 1_000_000, LastAt: now.Add(-25 * time.Hour)}, 0},
	} {
		if got := l.wait(tc.f, now); got != tc.want {
			t.Errorf("%s: wait = %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestGuessingIsThrottledForKnownAndUnknownNamesAlike(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.stop()
	w.user("anna", slipway.ReadOnly)
	for _, name := range []string{"anna", "nobody"} {
		for i := range perUser.free {
			if _, err := w.login(name, "wrong"); !errors.Is(err, errLogin) {
				t.Fatalf("%s, guess %d: %v", name, i+1, err)
			}
		}
		_, err := w.login(name, "wrong")
		w.wantKind(err, slipway.Throttled, "too many failed sign-ins")
		var e *slipway.Error
		if !errors.As(err, &e) || e.RetryAfter <= 0 || e.RetryAfter > 2*time.Second {
			t.Errorf("RetryAfter = %s", e.RetryAfter)
		}
	}
	// The right password does not help before its time, and helps after it.
	_, err := w.login("ANNA", password)
	w.wantKind(err, slipway.Throttled, "")
	w.clock.move(3 * time.Second)
	if _, err := w.login("anna", password); err != nil {
		t.Fatal(err)
	}
	// The success cleared the name's failures.
	for range perUser.free {
		if _, err := w.login("anna", "wrong"); !errors.Is(err, errLogin) {
			t.Fatal(err)
		}
	}
}

func TestOtherAddressesAreNotThrottled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.stop()
	w.user("anna", slipway.ReadOnly)
	for range perUser.free + 1 {
		_, _ = w.login("anna", "wrong")
	}
	r := request("")
	r.RemoteAddr = "198.51.100.9:1"
	if _, err := w.a.Login(t.Context(), httptest.NewRecorder(), r, "anna", password); err != nil {
		t.Errorf("from another address: %v", err)
	}
}

func TestOneAddressCannotGuessAtManyNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.clock.stop()
	w.user("mallory", slipway.ReadOnly)
	for i := range perAddress.free {
		if i%5 == 4 { // an account of one's own does not take failures back
			w.mustLogin("mallory")
		}
		if _, err := w.login(fmt.Sprintf("victim%d", i), "wrong"); !errors.Is(err, errLogin) {
			t.Fatalf("guess %d: %v", i+1, err)
		}
	}
	_, err := w.login("victim-next", "wrong")
	w.wantKind(err, slipway.Throttled, "")
}

// World: both databases. Many guesses at once must not all be looked at before the first
// is counted.
func TestGuessesAtOnceAreCounted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(w *world) {
		w.clock.stop()
		w.user("anna", slipway.ReadOnly)
		var looked atomic.Int32
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if _, err := w.login("anna", "wrong"); errors.Is(err, errLogin) {
					looked.Add(1)
				} else if !slipway.Is(err, slipway.Throttled) {
					w.Error(err)
				}
			})
		}
		wg.Wait()
		if n := int(looked.Load()); n != perUser.free {
			w.Errorf("%d guesses were looked at, want %d", n, perUser.free)
		}
	})
}

// Pure.
func TestIPv6IsThrottledByNetwork(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "::1": "::/64", "@": "@",
	} {
		if got := throttled(in); got != want {
			t.Errorf("throttled(%q) = %q, want %q", in, got, want)
		}
	}
}
