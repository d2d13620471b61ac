package api

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

// about is what is known of a request beside its content: its ID, and, once it is
// authenticated, its user.
type about struct {
	id   string
	user string
}

type aboutKey struct{}

func aboutOf(ctx context.Context) *about {
	if a, ok := ctx.Value(aboutKey{}).(*about); ok {
		return a
	}
	return &about{}
}

// saneID is what is taken over as a request's ID: it goes into logs and headers.
var saneID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-ID"); saneID.MatchString(id) {
		return id
	}
	return rand.Text()[:16]
}

// slowWriter bounds how long an answer may take to be taken off our hands, over the time
// that the longest handler has. The event stream sets deadlines of its own.
const slowWriter = loadTimeout + time.Minute

// observed gives every request an ID and the log one line: the method, the route's
// pattern, the status, the time and the user. Never the query, the body or a header.
func (s *service) observed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		a := &about{id: requestID(r)}
		w.Header().Set("X-Request-ID", a.id)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		out := &recorder{ResponseWriter: w}
		// A recorder in a test has no connection, and so no deadline.
		_ = http.NewResponseController(w).SetWriteDeadline(start.Add(slowWriter))
		r = r.WithContext(context.WithValue(r.Context(), aboutKey{}, a))
		defer func() {
			broke := recover()
			if broke != nil && broke != http.ErrAbortHandler {
				s.Log.ErrorContext(r.Context(), "a request broke", "request_id", a.id, "panic", broke, "stack", string(debug.Stack()))
				if out.status == 0 {
					writeProblem(out, s.problem(r.Context(), slipway.Errorf(slipway.Internal, "")))
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

func (s *service) logRequest(r *http.Request, a *about, out *recorder, took time.Duration) {
	level := slog.LevelInfo
	if out.status >= 500 {
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
