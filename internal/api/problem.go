package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

// statusOf is the one table from kinds to HTTP statuses.
var statusOf = map[slipway.Kind]int{
	slipway.Invalid:         http.StatusUnprocessableEntity,
	slipway.Unauthenticated: http.StatusUnauthorized,
	slipway.Forbidden:       http.StatusForbidden,
	slipway.NotFound:        http.StatusNotFound,
	slipway.Conflict:        http.StatusConflict,
	slipway.TooLarge:        http.StatusRequestEntityTooLarge,
	slipway.Throttled:       http.StatusTooManyRequests,
	slipway.Unavailable:     http.StatusServiceUnavailable,
	slipway.Internal:        http.StatusInternalServerError,
}

// kindOf is the way back, for what huma itself refuses.
func kindOf(status int) slipway.Kind {
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return slipway.TooLarge
	case status >= 500:
		return slipway.Internal
	}
	return slipway.Invalid
}

// Problem is a wire.Problem on its way out.
type Problem struct {
	wire.Problem
	headers http.Header
}

func (p *Problem) Error() string             { return p.Detail }
func (p *Problem) GetStatus() int            { return p.Status }
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// statusGone is the answer to who has gone away meanwhile, as a long poll that was
// interrupted. Nobody reads it but the log and the metrics, in which it must be no fault of
// the server; the number is the one that proxies use.
const statusGone = 499

// problem turns an error into what its reader may see. The rest goes to the log.
func (s *service) problem(ctx context.Context, err error) *Problem {
	p := &Problem{wire.Problem{RequestID: aboutOf(ctx).id}, http.Header{}}
	if errors.Is(context.Cause(ctx), context.Canceled) {
		s.Log.DebugContext(ctx, "whoever asked has gone", "request_id", p.RequestID, "error", err)
		p.Kind, p.Status, p.Title = string(slipway.Unavailable), statusGone, "Client Closed Request"
		return p
	}
	var e *slipway.Error
	kind := slipway.Internal
	switch {
	case errors.As(err, &e):
		kind, p.Detail, p.Hint = e.Kind, e.Msg, e.Hint
		for _, f := range e.Fields {
			p.Fields = append(p.Fields, wire.FieldError{File: f.File, Path: f.Path, Line: f.Line, Column: f.Column, Message: f.Msg, Hint: f.Hint})
		}
		if e.RetryAfter > 0 {
			p.headers.Set("Retry-After", retryAfter(e.RetryAfter))
		}
	case errors.Is(err, context.DeadlineExceeded):
		kind, p.Detail, p.Hint = slipway.Unavailable, "the server did not come to an answer in time", "repeat it later"
	}
	if kind == slipway.Internal {
		p.Detail, p.Hint = "something broke in the server", "its log has the cause under this request ID"
		s.Log.ErrorContext(ctx, "a request broke", "request_id", p.RequestID, "error", err)
	} else if e != nil && e.Err != nil {
		s.Log.LogAttrs(ctx, slog.LevelInfo, "a request was refused", slog.String("request_id", p.RequestID), slog.String("kind", string(kind)), slog.Any("error", e.Err))
	}
	if kind == slipway.Unauthenticated {
		p.headers.Set("WWW-Authenticate", `Bearer realm="slipway"`)
	}
	p.Kind, p.Status = string(kind), statusOf[kind]
	p.Title = http.StatusText(p.Status)
	return p
}

// writeProblem answers a request that no handler answers.
func writeProblem(w http.ResponseWriter, p *Problem) {
	for k, v := range p.headers {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p.Problem) // a failure is the reader's loss of connection
}

// useProblems has huma answer in our shape. Its own carries the offending values, for a
// missing field the whole body, and so would send passwords back and into logs. The hook
// is a variable of huma's package, so it is set once.
var useProblems = sync.OnceFunc(func() {
	huma.NewErrorWithContext = func(hc huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return refusal(aboutOf(hc.Context()).id, status, msg, errs)
	}
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return refusal("", status, msg, errs)
	}
})

// refusal is what huma has to say about a request that does not fit its description.
func refusal(requestID string, status int, msg string, errs []error) *Problem {
	kind := kindOf(status)
	p := &Problem{Problem: wire.Problem{Status: status, Title: http.StatusText(status), Kind: string(kind), Detail: msg, RequestID: requestID}}
	if kind == slipway.Internal {
		p.Detail = "something broke in the server"
		return p
	}
	for _, err := range errs {
		var d huma.ErrorDetailer
		if errors.As(err, &d) {
			at := d.ErrorDetail()
			p.Fields = append(p.Fields, field(at.Location, at.Message))
		}
	}
	switch {
	case status == http.StatusRequestEntityTooLarge:
		p.Detail = "the request's body is larger than this server takes"
	case msg == "validation failed":
		p.Detail = "the request does not fit the API's description"
		if len(p.Fields) == 1 { // for those who show no more than a sentence
			p.Detail += ": " + p.Fields[0].Path + ": " + p.Fields[0].Message
		}
	}
	return p
}

// field says huma's finding in our words. Its messages name fields and limits, never
// values; what the JSON decoder says is cut to where it failed, for it quotes the input.
func field(location, msg string) wire.FieldError {
	if name, ok := strings.CutPrefix(msg, "expected required property "); ok {
		name = strings.TrimSuffix(name, " to be present")
		return wire.FieldError{Path: location + "." + name, Message: "it is missing"}
	}
	if location == "body" && (strings.HasPrefix(msg, "invalid character") || strings.HasPrefix(msg, "json:") || strings.HasPrefix(msg, "unexpected end")) {
		msg = "it is not valid JSON"
	}
	if msg == "unexpected property" {
		return wire.FieldError{Path: location, Message: "there is no such field"}
	}
	if msg == "unknown query parameter" {
		return wire.FieldError{Path: location, Message: "there is no such query parameter"}
	}
	return wire.FieldError{Path: location, Message: msg}
}
