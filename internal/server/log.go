package server

import (
	"io"
	"log/slog"

	"slipway.dev/slipway/internal/config"
	"slipway.dev/slipway/internal/redact"
)

// newLog returns the server's log. Every text passes the redactor's patterns: an error of
// a library may quote an address with a password in it.
func newLog(c config.Log, out io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Level)); err != nil {
		level = slog.LevelInfo // config has checked it
	}
	mask := redact.New()
	o := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch v := a.Value.Any().(type) {
		case string:
			a.Value = slog.StringValue(mask.String(v))
		case error:
			a.Value = slog.StringValue(mask.String(v.Error()))
		}
		return a
	}}
	if c.Format == "json" {
		return slog.New(slog.NewJSONHandler(out, o))
	}
	return slog.New(slog.NewTextHandler(out, o))
}
