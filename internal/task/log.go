package task

import (
	"context"
	"log/slog"
)

// riverLog gives River a logger. What it holds for information — started, stopped, this
// many jobs — is detail here; only its warnings and errors reach an operator.
func (q *Queue) riverLog() *slog.Logger {
	return slog.New(quieter{q.log.Handler()}).With("part", "river")
}

type quieter struct{ slog.Handler }

func (h quieter) level(l slog.Level) slog.Level {
	if l < slog.LevelWarn {
		return slog.LevelDebug
	}
	return l
}

func (h quieter) Enabled(ctx context.Context, l slog.Level) bool {
	return h.Handler.Enabled(ctx, h.level(l))
}

func (h quieter) Handle(ctx context.Context, r slog.Record) error {
	r.Level = h.level(r.Level)
	return h.Handler.Handle(ctx, r)
}

func (h quieter) WithAttrs(as []slog.Attr) slog.Handler { return quieter{h.Handler.WithAttrs(as)} }
func (h quieter) WithGroup(name string) slog.Handler    { return quieter{h.Handler.WithGroup(name)} }
