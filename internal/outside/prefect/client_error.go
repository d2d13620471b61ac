package prefect

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// The kinds of failure that a caller acts on; test with errors.Is.
var (
	// ErrUnreachable: no answer, or one that says "later" (429, 502, 503, 504).
	ErrUnreachable = errors.New("the Prefect server does not answer")
	// ErrUnauthorized: the auth string is wrong or missing.
	ErrUnauthorized = errors.New("the Prefect server refused the auth string")
	// ErrNotFound: what the call names is not there.
	ErrNotFound = errors.New("not found in Prefect")
	// ErrConflict: it exists already.
	ErrConflict = errors.New("exists already in Prefect")
	// ErrRefused: Prefect understood the request and will never accept it.
	ErrRefused = errors.New("refused by Prefect")
)

// statusKind sorts Prefect's answers into our kinds; a status that is not listed is ErrRefused.
var statusKind = map[int]error{
	http.StatusUnauthorized:       ErrUnauthorized,
	http.StatusForbidden:          ErrRefused,
	http.StatusNotFound:           ErrNotFound,
	http.StatusConflict:           ErrConflict,
	http.StatusTooManyRequests:    ErrUnreachable,
	http.StatusBadGateway:         ErrUnreachable,
	http.StatusServiceUnavailable: ErrUnreachable,
	http.StatusGatewayTimeout:     ErrUnreachable,
}

// faultTries is how often a request is sent whose answer is another 5xx. Such a fault of the
// server may pass, but one that our request causes each time must not hold a hook for long.
// (A locked database is a 503 in Prefect, and passes.)
const faultTries = 4

// mayPass says whether the request is worth another attempt after so many.
func mayPass(err error, attempts int) bool {
	if errors.Is(err, ErrUnreachable) {
		return true
	}
	var e *APIError
	return errors.As(err, &e) && e.Status >= 500 && attempts < faultTries
}

// APIError is an answer of the Prefect server that is not the one asked for, or the lack
// of any. It names the call, and never holds the auth string.
type APIError struct {
	Method, Path string
	Server       string // the API's base address
	Status       int    // 0 when there was no answer
	Detail       string // what Prefect said, at most 2,000 bytes
	kind         error
}

// Error names the call, the status and what was said.
func (e *APIError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("prefect %s %s: %v at %s: %s", e.Method, e.Path, e.kind, e.Server, e.Detail)
	}
	return fmt.Sprintf("prefect %s %s: %d %s: %s", e.Method, e.Path, e.Status, http.StatusText(e.Status), e.Detail)
}

// Unwrap returns the kind, for errors.Is.
func (e *APIError) Unwrap() error { return e.kind }

func newAPIError(method, path string, ep Endpoint, status int, body []byte) *APIError {
	kind, known := statusKind[status]
	if !known {
		kind = ErrRefused
	}
	return &APIError{Method: method, Path: path, Server: ep.API, Status: status, Detail: withoutAuth(detail(body), ep.Auth), kind: kind}
}

// detail finds the sentence in Prefect's shapes of error: {"detail": "…"},
// {"exception_message": "…", "exception_detail": […]}. Anything else is shown as it is.
func detail(body []byte) string {
	var shape struct {
		Detail  any             `json:"detail"`
		Message string          `json:"exception_message"`
		Errors  json.RawMessage `json:"exception_detail"`
	}
	text := string(body)
	if json.Unmarshal(body, &shape) == nil {
		text = shape.Message
		if shape.Detail != nil {
			text += fmt.Sprint(" ", shape.Detail)
		}
		if shape.Errors != nil {
			text += " " + string(shape.Errors)
		}
	}
	if text = strings.TrimSpace(text); len(text) > 2000 {
		text = strings.ToValidUTF8(text[:2000], "") + "…"
	}
	return text
}

// withoutAuth takes the auth string out of what a server or proxy echoed back.
func withoutAuth(text, auth string) string {
	if auth == "" {
		return text
	}
	text = strings.ReplaceAll(text, base64.StdEncoding.EncodeToString([]byte(auth)), "<redacted>")
	text = strings.ReplaceAll(text, auth, "<redacted>")
	if _, password, found := strings.Cut(auth, ":"); found && password != "" {
		text = strings.ReplaceAll(text, password, "<redacted>")
	}
	return text
}
