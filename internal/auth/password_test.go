package auth

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func TestNewPasswords(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range map[string]struct{ password, want string }{
		"eleven characters":    {"elf zeichen", "shorter than 12"},
		"twelve, not in ASCII": {"zwölfzeichen", ""},
		"blank":                {strings.Repeat(" ", 20), "blank"},
		"the longest":          {strings.Repeat("a", MaxPassword), ""},
		"one more":             {strings.Repeat("a", MaxPassword+1), "longer than 1024"},
		"not text":             {strings.Repeat("\xff", 20), "not valid text"},
	} {
		hash, err := w.a.HashPassword(t.Context(), tc.password)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
		if err != nil {
			var e *slipway.Error
			if !errors.As(err, &e) || len(e.Fields) != 1 || e.Fields[0].Path != "password" || e.Hint == "" || strings.Contains(err.Error(), tc.password) {
				t.Errorf("%s: %+v", name, e)
			}
			continue
		}
		if !strings.HasPrefix(hash, "$argon2id$") || strings.Contains(hash, tc.password) {
			t.Errorf("%s: hash %s", name, hash)
		}
		if ok, err := w.a.CheckPassword(t.Context(), tc.password, hash); err != nil || !ok {
			t.Errorf("%s: its own password does not match: %v", name, err)
		}
	}
}

func TestHashesRunAFewAtATime(t *testing.T) {
	t.Parallel()
	h := &hasher{slots: make(chan struct{}, 2)}
	var now, most atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			release, err := h.turn(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			defer release()
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
		})
	}
	wg.Wait()
	if most.Load() != 2 {
		t.Errorf("%d at a time, want 2", most.Load())
	}
	// Whoever waits can leave.
	h.slots <- struct{}{}
	h.slots <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.turn(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("turn = %v", err)
	}
}

func TestASignInBringsAnOldHashUpToDate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	u := w.user("anna", slipway.ReadOnly)
	old, err := argon2id.CreateHash(password, &argon2id.Params{Memory: 8 * 1024, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	if err != nil {
		t.Fatal(err)
	}
	w.write(func(tx *store.Tx) error { return tx.SetUserPassword(t.Context(), u.ID, old) })
	w.mustLogin("anna")
	var now string
	w.write(func(tx *store.Tx) (err error) {
		now, err = tx.UserPasswordHash(t.Context(), u.ID)
		return err
	})
	if now == old || outdated(now) {
		t.Errorf("the hash is still %s", now)
	}
	w.mustLogin("anna")
}
