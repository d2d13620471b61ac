package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"slipway.dev/slipway/internal/wire"
)

// Error is what the server said when it refused or failed.
type Error struct{ wire.Problem }

func (e *Error) Error() string { return e.Detail }

// IsKind reports whether err is the server's refusal of that kind: not_found, conflict, …
func IsKind(err error, kind string) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}

// Unreachable says that no answer came.
type Unreachable struct {
	URL string
	Err error
}

func (u *Unreachable) Error() string { return fmt.Sprintf("%s does not answer: %v", u.URL, u.Err) }
func (u *Unreachable) Unwrap() error { return u.Err }

// refusal reads a problem from an answer with an error's status. A proxy in between, or
// another server, may answer in its own way; its text is not shown, for it can be a page.
func refusal(resp *http.Response, answer []byte) error {
	var p wire.Problem
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/problem+json") && json.Unmarshal(answer, &p) == nil && p.Detail != "" {
		return &Error{p}
	}
	p = wire.Problem{
		Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode), Kind: "internal",
		Detail: fmt.Sprintf("the server answered %d (%s), not as a Slipway does", resp.StatusCode, http.StatusText(resp.StatusCode)),
		Hint:   "check the server's URL, and any proxy before it",
	}
	switch resp.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		p.Kind = "unavailable"
	case http.StatusUnauthorized:
		p.Kind = "unauthenticated"
	case http.StatusForbidden:
		p.Kind = "forbidden"
	case http.StatusNotFound:
		p.Kind = "not_found"
	}
	return &Error{p}
}
