package task

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// riverLog gives River a logger. What it holds for information — started, stopped, this
// many jobs — is detail here, and what it warns of is part of a normal stop. Its errors
// are warnings, because what it could not do is repeated; while the database is away that
// is twice a second, so each is let through once in a while.
func (q *Queue) riverLog() *slog.Logger {
	return slog.New(&quieter{Handler: q.log.Handler(), last: &lastSeen{at: map[string]time.Time{}}}).With("part", "river")
}

const sameLogEvery = 30 * time.Second

type quieter struct {
	slog.Handler
	last *lastSeen
}

type lastSeen struct {
	mu sync.Mutex
	at map[string]time.Time
}

func quiet(l slog.Level) slog.Level {
	switch {
	case l >= slog.LevelError:
		return slog.LevelWarn
	case l >= slog.LevelWarn:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

func (h *quieter) Enabled(ctx context.Context, l slog.Level) bool {
	return h.Handler.Enabled(ctx, quiet(l))
}

func (h *quieter) Handle(ctx context.Context, r slog.Record) error {
	if r.Level = quiet(r.Level); r.Level >= slog.LevelWarn && h.last.tooSoon(r.Message, r.Time) {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (s *lastSeen) tooSoon(message string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.at[message]) < sameLogEvery {
		return true
	}
	s.at[message] = now
	return false
}

func (h *quieter) WithAttrs(as []slog.Attr) slog.Handler {
	return &quieter{h.Handler.WithAttrs(as), h.last}
}

func (h *quieter) WithGroup(name string) slog.Handler {
	return &quieter{h.Handler.WithGroup(name), h.last}
}
