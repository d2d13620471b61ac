package task

import (
	"context"
	"database/sql"
	"sync"

	"github.com/riverqueue/river/riverdriver"
)

// instant is a driver for a database that only this process has open. River would write
// each announcement of a job to a table and read the table twenty times a second; here
// who enqueues and who works are in one process, and one can just tell the other.
type instant struct {
	riverdriver.Driver[*sql.Tx]
	bell *bell
}

func newInstant(d riverdriver.Driver[*sql.Tx]) *instant {
	return &instant{Driver: d, bell: &bell{rung: make(chan struct{}, 1), pending: map[riverdriver.Notification]bool{}}}
}

// GetListener returns the one listener there is: a queue starts one client.
func (d *instant) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener { return d.bell }

// SupportsListenNotify is false so that River writes no announcements. It still listens.
func (d *instant) SupportsListenNotify() bool { return false }

// bell is River's listener. An announcement that waits stands for all that say the same.
type bell struct {
	mu      sync.Mutex
	pending map[riverdriver.Notification]bool
	rung    chan struct{}
}

func (b *bell) ring(n riverdriver.Notification) {
	b.mu.Lock()
	b.pending[n] = true
	b.mu.Unlock()
	select {
	case b.rung <- struct{}{}:
	default:
	}
}

func (b *bell) take() (*riverdriver.Notification, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for n := range b.pending {
		delete(b.pending, n)
		return &n, true
	}
	return nil, false
}

func (b *bell) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	for {
		if n, ok := b.take(); ok {
			return n, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-b.rung:
		}
	}
}

// What River asks of a listener that has a connection; this one has none.

func (b *bell) Connect(context.Context) error          { return nil }
func (b *bell) Close(context.Context) error            { return nil }
func (b *bell) Ping(context.Context) error             { return nil }
func (b *bell) Listen(context.Context, string) error   { return nil }
func (b *bell) Unlisten(context.Context, string) error { return nil }
func (b *bell) Schema() string                         { return "" }
func (b *bell) SetAfterConnectExec(string)             {}
