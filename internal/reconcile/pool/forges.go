package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// forges opens credentials, and keeps what was listed through each, so that the pools of
// one scope list its registrations once. It keeps no secret.
type forges struct {
	c Config

	mu     sync.Mutex
	lists  map[listKey]*listing
	offers map[listKey]offer
	seats  map[forge.Runners]chan struct{}
}

func newForges(c Config) *forges {
	return &forges{c: c, lists: map[listKey]*listing{}, offers: map[listKey]offer{}, seats: map[forge.Runners]chan struct{}{}}
}

type listKey struct {
	client forge.Runners
	scope  string
}

// listing is the newest whole list of a scope's registrations.
type listing struct {
	mu     sync.Mutex // held while the list is asked for
	state  sync.Mutex
	last   Listed
	failed error
	tried  time.Time
}

// Listed is a whole list of a scope's registrations.
type Listed struct {
	At     time.Time // when it was asked for: what is younger may be missing; zero: there is none
	Named  map[string]forge.Runner
	Failed error // why the newest list failed; nil: it did not
	audit  *audit
}

// audit is which registrations of a list have no slot: looked for once, by the first of
// the pools that share the list.
type audit struct {
	mu     sync.Mutex
	done   bool
	strays []forge.Runner
}

// strays are the registrations of a list with our prefix of which no slot was open after
// the list was asked for.
func (l Listed) strays(prefix string, open func() (map[string]bool, error)) ([]forge.Runner, error) {
	if l.audit == nil {
		return nil, nil
	}
	l.audit.mu.Lock()
	defer l.audit.mu.Unlock()
	if l.audit.done {
		return l.audit.strays, nil
	}
	var mine []forge.Runner
	for name, r := range l.Named {
		if strings.HasPrefix(name, prefix) {
			mine = append(mine, r)
		}
	}
	if len(mine) > 0 {
		names, err := open()
		if err != nil {
			return nil, err
		}
		for _, r := range mine {
			if !names[r.Name] {
				l.audit.strays = append(l.audit.strays, r)
			}
		}
		slices.SortFunc(l.audit.strays, func(a, b forge.Runner) int { return strings.Compare(a.Name, b.Name) })
	}
	l.audit.done = true
	return l.audit.strays, nil
}

const (
	// listFresh is how old a list may be that a settled pool looks at; listEager the same
	// while runners are expected, if the scope is not large.
	listFresh, listEager = 30 * time.Second, 5 * time.Second
	// smallScope is as many runners as three pages show.
	smallScope = 300
	// listAgain is how soon after a failure a list is asked for again.
	listAgain = 15 * time.Second
	// seatsEach is how many pools may wait for one credential's forge at once. The workers
	// of this process are shared: a forge that does not answer must not take all of them.
	seatsEach = 12
)

// open returns the client of a secret of an environment. The secret is opened each time,
// and not kept.
func (f *forges) open(ctx context.Context, p slipway.RunnerPool, scope slipway.ForgeScope, name string) (forge.Runners, error) {
	var sealed []byte
	err := f.c.Store.Read(ctx, func(tx *store.Tx) (err error) {
		sealed, err = tx.SecretSealed(ctx, p.EnvironmentID, name)
		return err
	})
	if slipway.Is(err, slipway.NotFound) {
		return nil, forge.Fail(forge.Refused, fmt.Sprintf("the secret %q, with which runners are registered, is not there any more", name),
			fmt.Sprintf("set it with  slipway secrets set %s -e %s", name, slipway.EnvironmentRef(p.Project, p.Environment)), nil)
	}
	if err != nil {
		return nil, &bookkeeping{fmt.Errorf("read the secret %s: %w", name, err)}
	}
	value, err := f.c.Box.Open(secret.Place{Installation: f.c.Installation.ID, Environment: p.EnvironmentID, Name: name}, sealed)
	if err != nil {
		return nil, refused(err)
	}
	client, err := f.c.Forge(scope, string(value))
	if err != nil {
		return nil, refused(err)
	}
	return client, nil
}

// refused makes of an error in our own words one that a person must see to.
func refused(err error) error {
	var e *slipway.Error
	if errors.As(err, &e) {
		return forge.Fail(forge.Refused, e.Msg, e.Hint, e.Err)
	}
	return forge.Fail(forge.Refused, "the credential cannot be used", "save it anew", err)
}

// seat takes one of a credential's places, or says that all are taken. Whoever gets one
// gives it back.
func (f *forges) seat(client forge.Runners) (leave func(), ok bool) {
	f.mu.Lock()
	s := f.seats[client]
	if s == nil {
		s = make(chan struct{}, seatsEach)
		f.seats[client] = s
	}
	f.mu.Unlock()
	select {
	case s <- struct{}{}:
		return func() { <-s }, true
	default:
		return nil, false
	}
}

// list returns the registrations of a scope, not older than fresh where that can be had
// without waiting for another pool's request.
func (f *forges) list(ctx context.Context, client forge.Runners, scope slipway.ForgeScope, eager bool) Listed {
	key := listKey{client, scope.Host() + "/" + scope.Owner + " " + scope.Repository} // a group acme/shop is not the project shop of acme
	f.mu.Lock()
	l := f.lists[key]
	if l == nil {
		l = &listing{}
		f.lists[key] = l
	}
	f.mu.Unlock()
	if !l.mu.TryLock() {
		return l.known() // somebody is asking; the next look has it
	}
	defer l.mu.Unlock()
	now := f.c.Store.Now()
	known := l.known()
	fresh := listFresh
	if eager && len(known.Named) <= smallScope {
		fresh = listEager
	}
	l.state.Lock()
	wait := known.Failed != nil && now.Sub(l.tried) < listAgain
	l.state.Unlock()
	if wait || !known.At.IsZero() && now.Sub(known.At) < fresh {
		return known
	}
	leave, ok := f.seat(client)
	if !ok {
		return known
	}
	defer leave()
	all, err := client.Runners(ctx, scope)
	l.state.Lock()
	defer l.state.Unlock()
	l.tried, l.failed = now, err
	if err == nil {
		l.last = Listed{At: now, Named: make(map[string]forge.Runner, len(all)), audit: &audit{}}
		for _, r := range all {
			l.last.Named[r.Name] = r
		}
	}
	return Listed{l.last.At, l.last.Named, l.failed, l.last.audit}
}

func (l *listing) known() Listed {
	l.state.Lock()
	defer l.state.Unlock()
	return Listed{l.last.At, l.last.Named, l.failed, l.last.audit}
}

// forget drops what was listed through clients that nobody used lately. A credential that
// was replaced is never asked for again.
func (f *forges) forget(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, l := range f.lists {
		l.state.Lock()
		old := now.Sub(l.tried) > time.Hour
		l.state.Unlock()
		if old {
			delete(f.lists, key)
			delete(f.seats, key.client)
		}
	}
}

// bookkeeping marks an error of our own database: it says nothing of the world.
type bookkeeping struct{ err error }

func (b *bookkeeping) Error() string { return b.err.Error() }
func (b *bookkeeping) Unwrap() error { return b.err }
