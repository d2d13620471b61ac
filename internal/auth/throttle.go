package auth

import (
	"context"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// limit says how many failed sign-ins are free, and how long one waits after more.
type limit struct {
	free    int
	first   time.Duration
	longest time.Duration
}

// A name from one address gets few free failures: a person mistypes. An address gets
// more, since many people can stand behind one.
var (
	perUser    = limit{free: 5, first: time.Second, longest: 15 * time.Minute}
	perAddress = limit{free: 20, first: time.Second, longest: 15 * time.Minute}
)

// forgetAfter is when a key's failures no longer count.
const forgetAfter = 24 * time.Hour

// wait is how long from now on the next try must wait. Each failure beyond the free ones
// doubles the time.
func (l limit) wait(f store.LoginFailure, now time.Time) time.Duration {
	over := f.Failures - l.free
	if over < 0 || now.Sub(f.LastAt) > forgetAfter {
		return 0
	}
	d := l.longest
	if over < 20 { // beyond, the shift would overflow, and longest is long reached
		d = min(l.longest, l.first<<over)
	}
	return max(0, f.LastAt.Add(d).Sub(now))
}

// userKey and addressKey name the counters. The name is in the form in which two names
// are the same, and counts whether or not there is such a user.
func userKey(name, address string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if len(name) > maxUserName {
		name = name[:maxUserName]
	}
	return "user " + address + " " + name
}

func addressKey(address string) string { return "address " + address }

// admit refuses a sign-in that comes too soon, and otherwise counts it as failed before
// its password is looked at: a hundred guesses sent at once would all be looked at before
// the first of them was counted. A success takes the count back.
func (a *Authenticator) admit(ctx context.Context, name, address string) error {
	return a.store.InTx(ctx, func(tx *store.Tx) error {
		f, err := tx.LoginFailures(ctx, addressKey(address))
		if err != nil {
			return err
		}
		if err := refuse(perAddress.wait(f, tx.Now)); err != nil {
			return err
		}
		before, err := tx.LoginFailures(ctx, userKey(name, address))
		if err != nil {
			return err
		}
		if err := refuse(perUser.wait(before, tx.Now)); err != nil {
			return err
		}
		if !before.LastAt.IsZero() && tx.Now.Sub(before.LastAt) > forgetAfter {
			before = store.LoginFailure{}
			if err := tx.ClearLoginFailures(ctx, userKey(name, address)); err != nil {
				return err
			}
		}
		after, err := tx.RecordLoginFailure(ctx, userKey(name, address))
		if err != nil {
			return err
		}
		if after.Failures > before.Failures+1 {
			// Others counted between our look and our count: judge as if they had come first.
			return refuse(perUser.wait(store.LoginFailure{Failures: after.Failures - 1, LastAt: tx.Now}, tx.Now))
		}
		return nil
	})
}

func refuse(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	wait = wait.Truncate(time.Second) + time.Second
	return &slipway.Error{Kind: slipway.Throttled, Msg: "there were too many failed sign-ins",
		Hint: "try again in " + wait.String(), RetryAfter: wait}
}

// failed counts a failure against the address, once the password was looked at. A success
// does not take these back: whoever has an account could otherwise guess at others' for
// ever by signing in in between.
func (a *Authenticator) failed(ctx context.Context, address string) error {
	return a.store.InTx(ctx, func(tx *store.Tx) error {
		f, err := tx.LoginFailures(ctx, addressKey(address))
		if err != nil {
			return err
		}
		if !f.LastAt.IsZero() && tx.Now.Sub(f.LastAt) > forgetAfter {
			if err := tx.ClearLoginFailures(ctx, addressKey(address)); err != nil {
				return err
			}
		}
		_, err = tx.RecordLoginFailure(ctx, addressKey(address))
		return err
	})
}
