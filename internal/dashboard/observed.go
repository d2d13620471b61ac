package dashboard

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// about is what is known of a request beside its content.
type about struct{ id, user string }

type aboutKey struct{}

func aboutOf(ctx context.Context) *about {
	if a, ok := ctx.Value(aboutKey{}).(*about); ok {
		return a
	}
	return &about{}
}

// saneID is what is taken over as a request's ID: it goes into logs and headers.
var saneID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// pageWrite bounds how long a page may take to be taken off our hands. The event stream
// sets deadlines of its own.
const pageWrite = time.Minute

// observed gives every request an ID and the log one line: method, route, status, time
// and user. Never the query, the form or a header.
func (s *site) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		a := &about{id: r.Header.Get("X-Request-ID")}
		if !saneID.MatchString(a.id) {
			a.id = rand.Text()[:16]
		}
		w.Header().Set("X-Request-ID", a.id)
		// A recorder in a test has no connection, and so no deadline.
		_ = http.NewResponseController(w).SetWriteDeadline(start.Add(pageWrite))
		out := &recorder{ResponseWriter: w}
		r = r.WithContext(context.WithValue(r.Context(), aboutKey{}, a))
		defer func() {
			broke := recover()
			if broke != nil && broke != http.ErrAbortHandler {
				s.Log.ErrorContext(r.Context(), "a page broke", "request_id", a.id, "panic", broke, "stack", string(debug.Stack()))
				if out.status == 0 {
					s.fail(&request{Request: r, w: out, site: s}, slipway.Errorf(slipway.Internal, "a page broke"))
				}
			}
			s.logRequest(r, a, out, time.Since(start))
			if broke != nil && (broke == http.ErrAbortHandler || out.status < 500) {
				panic(http.ErrAbortHandler) // half an answer is out: break the connection
			}
		}()
		next.ServeHTTP(out, r)
	})
}

func (s *site) logRequest(r *http.Request, a *about, out *recorder, took time.Duration) {
	level := slog.LevelInfo
	if out.status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	route := r.Pattern
	if route == "" {
		route = "none"
	}
	s.Log.LogAttrs(r.Context(), level, "request", slog.String("method", r.Method), slog.String("route", route),
		slog.Int("status", out.status), slog.Duration("duration", took), slog.Int64("bytes", out.bytes),
		slog.String("user", a.user), slog.String("request_id", a.id))
}

// recorder remembers what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap gives http.ResponseController the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// policy allows a page what it brings itself and nothing else: no inline script or style,
// no other host, no frame around it, no form to elsewhere.
const policy = "default-src 'self'; base-uri 'none'; object-src 'none'; frame-ancestors 'none'; form-action 'self'"

// guarded has the browser keep pages to themselves.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store") // assets say otherwise
		next.ServeHTTP(w, r)
	})
}
