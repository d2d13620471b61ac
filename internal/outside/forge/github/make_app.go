package github

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-github/v92/github"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// MadeApp is an App that GitHub made from a manifest. Its secrets are in this answer and in
// no other. It prints as nothing.
type MadeApp struct {
	ID            int64
	URL           string // its page
	PrivateKey    string // PEM
	WebhookSecret string // empty: it has none
}

// String keeps the secrets out of whatever it is printed into.
func (MadeApp) String() string { return "(an App)" }

// GoString does for %#v what String does.
func (a MadeApp) GoString() string { return a.String() }

// makeWithin is how long GitHub may take to answer.
const makeWithin = 20 * time.Second

// MakeApp exchanges the code that GitHub gives a browser for the App that it stands for.
// GitHub takes a code once, within the hour, and needs no credential for it. It fails with
// NotFound when GitHub does not know the code (any more), and with Away when nothing was
// learnt: then the code may be used up.
func (s *Clients) MakeApp(ctx context.Context, baseURL, code string) (MadeApp, error) {
	ctx, cancel := context.WithTimeout(ctx, makeWithin)
	defer cancel()
	base, err := apiURL(baseURL)
	if err != nil {
		return MadeApp{}, err
	}
	transport := s.Transport
	if transport == nil {
		transport = http.DefaultTransport
	}
	// A budget of its own: no credential pays for this, and it does not wait behind others.
	c := &Client{budget: newBudget(s.Budget), api: base}
	api := base.String()
	g, err := github.NewClient(
		github.WithHTTPClient(&http.Client{
			Transport: &bounded{c.budget.Over(transport)},
			// The code would go along to wherever a redirect leads.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}),
		github.WithURLs(&api, &api), github.WithUserAgent(cmp.Or(s.UserAgent, "slipway")), github.WithDisableRateLimitCheck(),
	)
	if err != nil {
		return MadeApp{}, &slipway.Error{Kind: slipway.Invalid, Msg: "GitHub's base URL cannot be used", Err: err}
	}
	made, res, err := g.Apps.CompleteAppManifest(ctx, url.PathEscape(code))
	if err != nil {
		return MadeApp{}, without(code, c.explain(request{doing: "make an App from its manifest", absent: forge.NotFound}, res, err))
	}
	if made.GetID() <= 0 || made.GetPEM() == "" {
		return MadeApp{}, forge.Fail(forge.Away, "GitHub's answer has no App in it", "", nil)
	}
	out := MadeApp{ID: made.GetID(), PrivateKey: made.GetPEM(), WebhookSecret: made.GetWebhookSecret()}
	out.URL = appPage(base, made.GetHTMLURL())
	return out, nil
}

// appPage takes over the address of an App's page when it leads to the GitHub that was
// asked, and to no other place.
func appPage(api *url.URL, page string) string {
	u, err := url.Parse(page)
	if err != nil || u.User != nil || u.Scheme != api.Scheme || u.RawQuery != "" || u.Fragment != "" {
		return ""
	}
	if host := strings.ToLower(u.Host); host != api.Host && "api."+host != api.Host {
		return ""
	}
	return strings.TrimSuffix(u.String(), "/")
}

// without keeps a secret that stands in the address of a request out of the error about it.
func without(secret string, err error) error {
	text := strings.ReplaceAll(err.Error(), secret, "…")
	cause := errors.New(text)
	var own *forge.Error
	var person *slipway.Error
	if !errors.As(err, &own) || !errors.As(err, &person) {
		return forge.Fail(forge.Away, "GitHub cannot be asked to make an App from its manifest", "", cause)
	}
	if person.Err != nil {
		cause = errors.New(strings.ReplaceAll(person.Err.Error(), secret, "…"))
	}
	again := forge.Fail(own.Problem, person.Msg, person.Hint, cause)
	if own.RetryAfter > 0 {
		return again.Wait(own.RetryAfter)
	}
	return again
}
