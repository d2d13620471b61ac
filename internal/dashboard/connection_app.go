package dashboard

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
)

// appForm is what is asked before an App is made.
type appForm struct {
	Organization string
	In           string // the environment of the credential
	Secret       string
}

type appModel struct {
	slipway.Connection
	Form         appForm
	Environments []slipway.Environment
}

// newApp asks whose App it is to be, and where its credential is saved. The command line
// leads here with the answers it has.
func (s *site) newApp(r *request) error {
	q := r.URL.Query()
	return s.showApp(r, appForm{Organization: q.Get("organization"), In: q.Get("in"), Secret: q.Get("secret")}, http.StatusOK, nil)
}

func (s *site) showApp(r *request, form appForm, status int, f *fault) error {
	name := r.PathValue("name")
	n, err := s.View.Connection(r.Context(), r.caller, name)
	if err != nil {
		return err
	}
	if n.AppID != 0 && f == nil {
		r.redirect(address("connections", name))
		return nil
	}
	m := appModel{Connection: n, Form: form}
	if m.Environments, err = s.environments(r.Context(), r.caller); err != nil {
		return err
	}
	if m.Form.In == "" && n.EnvironmentID != 0 {
		m.Form.In = slipway.EnvironmentRef(n.Project, n.Environment)
	}
	if m.Form.Secret == "" {
		m.Form.Secret = strings.TrimSuffix(name[:min(len(name), slipway.MaxName-len("-app"))], "-") + "-app"
	}
	page := r.frame("GitHub App of "+name, address("connections", name, "app"))
	page.Path = address("connections", name, "app")
	page.Nav, page.Crumbs = "/runners", connectionCrumbs(name)
	return r.render(status, appPage(page, m, f))
}

func connectionCrumbs(name string) []crumb {
	return []crumb{{"Runners", "/runners"}, {"Connections", "/connections"}, {name, address("connections", name)}}
}

// plainOrigin is what may stand in a policy: a scheme and a host, and nothing that ends
// one rule and begins another.
var plainOrigin = regexp.MustCompile(`^https?://[A-Za-z0-9.\-\[\]:]+$`)

type continueModel struct {
	change.BegunApp
	To       string // GitHub's page, with the state
	Manifest string
}

// doBeginApp begins to make an App, and answers with the form that takes the manifest to
// GitHub: it is on this answer and nowhere else.
func (s *site) doBeginApp(r *request) error {
	name := r.PathValue("name")
	form := appForm{Organization: r.form("organization"), In: r.form("in"), Secret: r.form("secret")}
	m, err := s.beginApp(r, name, form)
	if err != nil {
		f := r.fault(err)
		return s.showApp(r, form, f.Status, &f)
	}
	page := r.frame("GitHub App of "+name, "/runners")
	page.Crumbs = connectionCrumbs(name)
	to, err := url.Parse(m.To)
	origin := ""
	if err == nil {
		origin = to.Scheme + "://" + to.Host
	}
	if !plainOrigin.MatchString(origin) {
		return slipway.Errorf(slipway.Invalid, "the connection's base URL cannot be led to from a page").WithHint("make the connection anew")
	}
	// This one form goes to this one place; all other pages keep theirs to themselves.
	r.w.Header().Set("Content-Security-Policy", strings.Replace(policy, "form-action 'self'", "form-action 'self' "+origin, 1))
	return r.render(http.StatusOK, continuePage(page, m))
}

func (s *site) beginApp(r *request, name string, form appForm) (m continueModel, err error) {
	own := ""
	if s.URL != nil {
		own = strings.TrimSuffix(s.URL(), "/")
	}
	if u, err := url.Parse(own); err != nil || u.Host != r.Host {
		return m, slipway.Errorf(slipway.Invalid, "GitHub leads back to %s, where this session is not known", own).
			WithHint("open %s%s and sign in there", own, address("connections", name, "app"))
	}
	project, environment := splitScope(form.In)
	m.BegunApp, err = s.Change.BeginApp(r.Context(), r.caller, change.BeginAppInput{
		Connection: name, Organization: form.Organization, AppPlace: change.AppPlace{Project: project, Environment: environment, Secret: form.Secret},
	})
	if err != nil {
		return m, err
	}
	manifest, err := change.ManifestOf(m.Connection, own, form.Organization)
	if err != nil {
		return m, err
	}
	m.To, m.Manifest = withQuery(manifest.RegisterURL, url.Values{"state": {m.State}}), string(manifest.Manifest)
	return m, nil
}

// madeApp serves appMade. Who is not signed in any more is not led away to sign in: the code
// would go along in addresses, and what the new session is not let in with is good yet on
// the command line.
func (s *site) madeApp(w http.ResponseWriter, r *http.Request) {
	if _, err := s.Auth.Authenticate(r.Context(), r); !slipway.Is(err, slipway.Unauthenticated) {
		s.signedIn(s.appMade)(w, r)
		return
	}
	r.URL.RawQuery = "" // what a page says of its own address is without the code
	name := r.PathValue("name")
	if slipway.CheckName("a connection", name) != nil {
		name = "NAME"
	}
	s.answer(&request{Request: r, w: w, site: s}, func(*request) error {
		return slipway.Errorf(slipway.Unauthenticated, "the session in which the App was begun has ended").WithHint("%s", change.ByCode(name))
	})
}

// appMade is where GitHub leads back to, with a code. A page that fails may be loaded
// again: what was used up is refused.
func (s *site) appMade(r *request) error {
	name, q := r.PathValue("name"), r.URL.Query()
	r.URL.RawQuery = "" // what a page says of its own address is without the code
	taken, err := s.Change.FinishApp(r.Context(), r.caller, change.FinishAppInput{Connection: name, State: q.Get("state"), Code: q.Get("code")})
	if err == nil {
		to := address("connections", name) // without the code in its address
		if taken.InsteadOf != "" {
			to += "?renamed"
		}
		r.redirect(to)
		return nil
	}
	f := r.fault(err)
	form := appForm{}
	if begun, err := s.View.AppCreation(r.Context(), r.caller, name); err == nil {
		form = appForm{Organization: begun.Organization, In: slipway.EnvironmentRef(begun.Project, begun.Environment), Secret: begun.Secret}
	}
	return s.showApp(r, form, f.Status, &f)
}
