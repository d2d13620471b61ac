package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/bitbucket"
	"slipway.dev/slipway/internal/outside/forge/github"
	"slipway.dev/slipway/internal/outside/forge/gitlab"
	"slipway.dev/slipway/internal/outside/forge/rest"
	"slipway.dev/slipway/internal/slipway"
)

// forgeClients keeps one client for each credential at each forge, for all who use it. What
// is GitHub's alone, jobs and hooks, is asked of the embedded ones.
type forgeClients struct {
	*github.Clients
	gitlab    *gitlab.Clients
	bitbucket *bitbucket.Clients
}

func newForgeClients(transport http.RoundTripper, version string) *forgeClients {
	agent := "slipway/" + version
	return &forgeClients{
		Clients:   &github.Clients{UserAgent: agent, Transport: transport},
		gitlab:    &gitlab.Clients{UserAgent: agent, Transport: transport},
		bitbucket: &bitbucket.Clients{UserAgent: agent, Transport: transport},
	}
}

// Runners returns the client of a credential for the runners of a scope.
func (f *forgeClients) Runners(scope slipway.ForgeScope, credential string) (forge.Runners, error) {
	switch scope.Forge {
	case slipway.GitLab:
		return f.gitlab.For(scope.BaseURL, credential)
	case slipway.Bitbucket:
		return f.bitbucket.For(scope.BaseURL, credential)
	}
	return f.For(scope.BaseURL, credential)
}

// Budgets returns what each credential may still do, by a key that does not tell it.
func (f *forgeClients) Budgets() map[string]rest.BudgetState {
	all := f.Clients.Budgets()
	maps.Copy(all, f.gitlab.Budgets())
	maps.Copy(all, f.bitbucket.Budgets())
	return all
}

// forgeTransport is the way to forges. It trusts the certificates of a file beside the
// system's: a GitHub Enterprise Server often has one of its company's own.
func forgeTransport(caFile string) (http.RoundTripper, error) {
	if caFile == "" {
		return http.DefaultTransport, nil
	}
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, slipway.Errorf(slipway.Invalid, "runners.ca_file cannot be read: %s", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, slipway.Errorf(slipway.Invalid, "runners.ca_file: %s holds no certificate", caFile).WithHint("give a file with PEM certificates")
	}
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one, unless a program replaces it
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

// apps shows package change the forge's half of making an App.
type apps struct{ clients *github.Clients }

func (a apps) MakeApp(ctx context.Context, baseURL, code string) (change.MadeApp, error) {
	made, err := a.clients.MakeApp(ctx, baseURL, code)
	if err != nil {
		return change.MadeApp{}, err
	}
	return change.MadeApp{ID: made.ID, URL: made.URL, PrivateKey: []byte(made.PrivateKey), WebhookSecret: []byte(made.WebhookSecret)}, nil
}

// countedForge counts what is asked of forges, by what became of it. What has not changed
// since it was asked last costs nothing of a credential's hour.
type countedForge struct {
	next     http.RoundTripper
	requests *prometheus.CounterVec
}

// Outcomes of a request to a forge.
const (
	forgeOK        = "ok"
	forgeUnchanged = "not_modified"
	forgeRefused   = "refused"
	forgeThrottled = "throttled"
	forgeFault     = "fault"
	forgeNoAnswer  = "no_answer"
)

func newForgeRequests() *prometheus.CounterVec {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "slipway_forge_requests_total",
		Help: "Requests to forges by what became of them: ok, not_modified (it costs nothing of GitHub's limit), refused, throttled, fault, no_answer.",
	}, []string{"outcome"})
	// So that a rate can be told from the first one on.
	for _, o := range []string{forgeOK, forgeUnchanged, forgeRefused, forgeThrottled, forgeFault, forgeNoAnswer} {
		requests.WithLabelValues(o)
	}
	return requests
}

// RoundTrip is part of http.RoundTripper.
func (c *countedForge) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.next.RoundTrip(r)
	c.requests.WithLabelValues(forgeOutcome(res, err)).Inc()
	return res, err
}

func forgeOutcome(res *http.Response, err error) string {
	switch {
	case err != nil:
		return forgeNoAnswer
	case res.StatusCode == http.StatusNotModified:
		return forgeUnchanged
	case res.StatusCode == http.StatusTooManyRequests,
		res.StatusCode == http.StatusForbidden && (res.Header.Get("Retry-After") != "" || res.Header.Get("X-Ratelimit-Remaining") == "0"):
		return forgeThrottled
	case res.StatusCode >= http.StatusInternalServerError:
		return forgeFault
	case res.StatusCode >= http.StatusBadRequest:
		return forgeRefused
	}
	return forgeOK
}
