package api

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"slipway.dev/slipway/contract"
	"slipway.dev/slipway/internal/auth"
	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/joblog"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
	"slipway.dev/slipway/internal/wire"
)

// Prefix is where the API lives.
const Prefix = "/api/v1"

// Dependencies are the parts that the API stands on.
type Dependencies struct {
	Auth   *auth.Authenticator
	Change *change.Service
	View   *view.Reader
	Events Events
	Jobs   joblog.Source // reads steps and logs at the forge; nil: nothing does

	Version      string          // of the server, for GET /installation
	PrefectUI    func() string   // the address of Prefect's own pages; nil or empty: no links to them
	WebhookURL   func() string   // the address below which forges reach the webhooks; nil: none
	Log          *slog.Logger    // nil: none
	BundleBytes  int64           // the largest driver; 0: 10 MiB
	RequestBytes int64           // the largest other body; 0: 1 MiB
	Stopping     <-chan struct{} // closed when the server begins to stop; may be nil
}

// Events is the stream of what has changed.
type Events interface {
	// Subscribe returns what happened after the event of that ID, as far as it is kept,
	// and a channel of what happens from now on, until stop is called. After 0 there is no
	// past. An event may come twice. One without an ID says that some are missing here,
	// and everything must be read again.
	Subscribe(ctx context.Context, after int64) (past []slipway.Event, next <-chan slipway.Event, stop func(), err error)
}

// service is the API at work.
type service struct {
	Dependencies
	api huma.API
}

// Handler serves the API below Prefix.
func Handler(d Dependencies) http.Handler {
	d.Log = cmp.Or(d.Log, slog.New(slog.DiscardHandler))
	d.BundleBytes = cmp.Or(d.BundleBytes, 10<<20)
	d.RequestBytes = cmp.Or(d.RequestBytes, 1<<20)
	s := &service{Dependencies: d}
	mux := http.NewServeMux()
	s.build(mux)
	mux.HandleFunc("GET "+Prefix+"/openapi.yaml", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(contract.OpenAPI) // a failure is the reader's loss of connection
	})
	mux.HandleFunc(Prefix+"/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, s.problem(r.Context(), slipway.Errorf(slipway.NotFound, "the API has no such operation").
			WithHint("%s/openapi.yaml lists what it has", Prefix)))
	})
	return s.observed(d.Auth.CrossOrigin(mux))
}

// Description returns the API's description as YAML, as it is committed in contract.
func Description() ([]byte, error) {
	s := &service{Dependencies: Dependencies{BundleBytes: 1, RequestBytes: 1}}
	s.build(http.NewServeMux())
	return s.api.OpenAPI().YAML()
}

// build registers every operation.
func (s *service) build(mux *http.ServeMux) {
	useProblems()
	c := huma.DefaultConfig("Slipway", "v1")
	c.Info.Description = apiDescription
	c.Info.License = &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"}
	c.CreateHooks = nil // or every answer gets a $schema
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	c.Formats = map[string]huma.Format{"application/json": strictJSON, "json": strictJSON}
	c.RejectUnknownQueryParameters = true
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token":   {Type: "http", Scheme: "bearer", Description: "An API token: slw_…"},
		"session": {Type: "apiKey", In: "cookie", Name: "slipway_session", Description: "What signing in to the dashboard gives a browser."},
	}
	s.api = humago.NewWithPrefix(mux, Prefix, c)
	s.registerInstallation()
	s.registerSessions()
	s.registerProjects()
	s.registerBackups()
	s.registerEnvironments()
	s.registerSecrets()
	s.registerConnections()
	s.registerDrivers()
	s.registerApplications()
	s.registerDrift()
	s.registerRunners()
	s.registerTasks()
	s.registerActionCalls()
	s.registerUsers()
	s.registerTokens()
	s.registerAudit()
	s.registerEvents()
	finish(s.api.OpenAPI())
}

const apiDescription = `What Slipway can do, for programs; its own command line uses nothing else.

Send a token as Authorization: Bearer slw_…. A request that makes something takes
an Idempotency-Key: the same key with the same input gets the first answer again,
with another input it is a conflict. Listings come in pages: give next_cursor as
cursor until it is absent. Unknown fields and query parameters are refused. Every
refusal is a problem (RFC 9457) with a kind to branch on and a hint to read.`

// timeouts of a handler, by what it does.
const (
	ordinaryTimeout = 30 * time.Second
	checkTimeout    = 55 * time.Second // renders a chart
	forgeTimeout    = 55 * time.Second // fetches from a forge
	loadTimeout     = 4 * time.Minute  // asks Python about a driver's actions
	maxWait         = 25               // seconds that a question may be held back
)

// Page is the part of a request that picks a page of a listing. Like every type that is
// embedded in a request it is exported: huma passes over the fields of others in silence.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"50" doc:"How many items at most."`
	Cursor string `query:"cursor" maxLength:"500" doc:"The next_cursor of the page before."`
}

func (p Page) view() view.Page { return view.Page{Limit: p.Limit, After: p.Cursor} }

// answer is a response with a body.
type answer[T any] struct{ Body T }

func reply[T any](v T, err error) (*answer[T], error) {
	if err != nil {
		return nil, err
	}
	return &answer[T]{v}, nil
}

// nothing is a response without a body.
type nothing struct{}

// none is a request without anything.
type none struct{}

// Keyed is the part of a request that makes something.
type Keyed struct {
	Key string `header:"Idempotency-Key" maxLength:"200" doc:"The same key with the same input gets the first answer again."`
}

// listing turns rows into a page of the wire.
func listing[R, T any](l view.List[R], err error, turn func(R) T) (*answer[wire.List[T]], error) {
	if err != nil {
		return nil, err
	}
	out := wire.List[T]{Items: make([]T, len(l.Items)), NextCursor: l.Next}
	for i, r := range l.Items {
		out.Items[i] = turn(r)
	}
	return &answer[wire.List[T]]{out}, nil
}
