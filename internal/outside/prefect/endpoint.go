package prefect

import (
	"log/slog"
	"strings"
)

// Endpoint says where a Prefect server is and how to be let in.
type Endpoint struct {
	// API is the base of the REST interface, ending in "/api":
	// "http://127.0.0.1:4200/api".
	API string
	// UI is the base of the pages that people open. Empty means API without "/api".
	UI string
	// Auth is the server's auth string, "user:password". Empty means a server that asks
	// for none. It is a secret: it is left out of every printed form of an Endpoint.
	Auth string
}

// String returns the address alone.
func (e Endpoint) String() string { return e.API }

// GoString keeps the auth string out of %#v.
func (e Endpoint) GoString() string { return "prefect.Endpoint{API: " + e.API + "}" }

// LogValue keeps the auth string out of structured logs.
func (e Endpoint) LogValue() slog.Value { return slog.StringValue(e.API) }

// FlowRunURL returns the page of one flow run in Prefect's own user interface.
func (e Endpoint) FlowRunURL(flowRunID string) string {
	base := e.UI
	if base == "" {
		base = strings.TrimSuffix(strings.TrimSuffix(e.API, "/"), "/api")
	}
	return strings.TrimSuffix(base, "/") + "/runs/flow-run/" + flowRunID
}

// Source is something that knows a Prefect server's present address. It is asked before
// every request, because a [Server] may come back on another port.
type Source interface {
	Endpoint() Endpoint
}

// External is a Prefect server that Slipway does not run.
type External struct {
	URL  string // the API's base; "/api" is added when it is missing
	UI   string // the pages' base, when it is not the API's without "/api"
	Auth string // "user:password", or empty
}

// Endpoint returns the address as configured.
func (x External) Endpoint() Endpoint {
	api := strings.TrimSuffix(x.URL, "/")
	if !strings.HasSuffix(api, "/api") {
		api += "/api"
	}
	return Endpoint{API: api, UI: x.UI, Auth: x.Auth}
}
