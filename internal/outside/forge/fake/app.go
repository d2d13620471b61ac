package fake

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// app is a GitHub App that was made from a manifest.
type app struct {
	id      int64
	slug    string
	owner   string
	hook    string // where its deliveries go to; empty: it has none
	secret  string
	back    string // where its maker's browser goes back to
	events  []string
	rights  map[string]string
	key     *rsa.PrivateKey
	code    string // that is exchanged for it; empty: it was
	madeAt  time.Time
	expires time.Time
}

// manifest is what an App is made from.
type manifest struct {
	Name     string            `json:"name"`
	URL      string            `json:"url"`
	Redirect string            `json:"redirect_url"`
	Public   bool              `json:"public"`
	Events   []string          `json:"default_events"`
	Rights   map[string]string `json:"default_permissions"`
	Hook     struct {
		URL    string `json:"url"`
		Active bool   `json:"active"`
	} `json:"hook_attributes"`
}

// codeFor is how long GitHub takes a code for.
const codeFor = time.Hour

var notSlug = regexp.MustCompile(`[^a-z0-9]+`)

// readManifest takes a manifest as GitHub's page does.
func readManifest(raw string) (m manifest, err error) {
	d := json.NewDecoder(strings.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("the manifest is no JSON of one: %w", err)
	}
	web := func(s string) bool {
		u, err := url.Parse(s)
		return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	}
	switch {
	case m.Name == "" || len(m.Name) > 34:
		return m, errors.New("the name has to have 1 to 34 characters")
	case !web(m.URL):
		return m, errors.New("url is no address on the web")
	case !web(m.Redirect):
		return m, errors.New("redirect_url is no address on the web")
	case m.Hook.Active && !web(m.Hook.URL):
		return m, errors.New("hook_attributes.url is no address on the web")
	}
	return m, nil
}

// makeApp makes an App of an organization, and the code that it is fetched with.
func (g *GitHub) makeApp(owner string, m manifest) (*app, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("make the App's key: %w", err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	slug := strings.Trim(notSlug.ReplaceAllString(strings.ToLower(m.Name), "-"), "-")
	for _, a := range g.apps {
		if a.slug == slug {
			return nil, errors.New("the name is taken already")
		}
	}
	now := g.now()
	a := &app{
		id: g.id(), slug: slug, owner: owner, secret: rand.Text(), back: m.Redirect, events: m.Events, rights: m.Rights, key: key,
		code: strings.ToLower(rand.Text()), madeAt: now, expires: now.Add(codeFor),
	}
	if m.Hook.Active {
		a.hook = m.Hook.URL
	}
	g.apps = append(g.apps, a)
	g.owners[strings.ToLower(owner)] = true
	return a, nil
}

// Manifest makes an App as GitHub's pages do for a person, and returns the code.
func (g *GitHub) Manifest(owner, raw string) (code string, err error) {
	m, err := readManifest(raw)
	if err != nil {
		return "", err
	}
	a, err := g.makeApp(owner, m)
	if err != nil {
		return "", err
	}
	return a.code, nil
}

// convert gives an App out for its code, once.
func (g *GitHub) convert(ctx context.Context, code string) (out *app, err error) {
	err = g.call(ctx, "ConvertApp", "", "", func() error {
		for _, a := range g.apps {
			if code != "" && a.code == code && g.now().Before(a.expires) {
				a.code, out = "", a
				return nil
			}
		}
		return notFound("App")
	})
	if out != nil && err == nil && out.hook != "" {
		g.AddWebhook(slipway.ForgeScope{}, out.hook, out.secret, g.HookClient())
	}
	return out, err
}

func (a *app) json(server string) map[string]any {
	stamp := a.madeAt.UTC().Format(time.RFC3339)
	return map[string]any{
		"id": a.id, "slug": a.slug, "node_id": "A_" + strconv.FormatInt(a.id, 10), "client_id": fmt.Sprintf("Iv23li%014d", a.id), "name": a.slug, "description": nil,
		"owner":        map[string]any{"login": a.owner, "id": 1, "type": "Organization"},
		"external_url": server, "html_url": server + "/github-apps/" + a.slug, "created_at": stamp, "updated_at": stamp,
		"permissions": a.rights, "events": a.events,
		"client_secret": "client-secret-of-" + a.slug, "webhook_secret": orNull(a.secret),
		"pem": string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(a.key)})),
	}
}

// asApp finds the App whose assertion a request carries.
func (g *GitHub) asApp(r *http.Request) *app {
	parts := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), ".")
	if len(parts) != 3 {
		return nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	signature, serr := base64.RawURLEncoding.DecodeString(parts[2])
	var claims struct {
		Issuer string `json:"iss"`
		Until  int64  `json:"exp"`
	}
	if err != nil || serr != nil || json.Unmarshal(raw, &claims) != nil || claims.Until < time.Now().Unix() {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, a := range g.apps {
		sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		if claims.Issuer == strconv.FormatInt(a.id, 10) && rsa.VerifyPKCS1v15(&a.key.PublicKey, crypto.SHA256, sum[:], signature) == nil {
			return a
		}
	}
	return nil
}

// serveApps adds the two pages on which a person makes an App of a manifest, and what a
// program asks for with it. Every App is installed at its owner from the start.
func (g *GitHub) serveApps(mux *http.ServeMux) {
	mux.HandleFunc("POST /organizations/{owner}/settings/apps/new", g.pageManifest)
	mux.HandleFunc("POST /organizations/{owner}/settings/apps", g.pageMade)
	mux.HandleFunc("GET /github-apps/{slug}/installations/new", func(w http.ResponseWriter, r *http.Request) {
		show(w, http.StatusOK, "Install "+r.PathValue("slug"), nil)
	})
	mux.HandleFunc("POST /api/v3/app-manifests/{code}/conversions", func(w http.ResponseWriter, r *http.Request) {
		a, err := g.convert(r.Context(), r.PathValue("code"))
		if err != nil {
			answer(w, r, err, 0, nil)
			return
		}
		answer(w, r, nil, http.StatusCreated, a.json(scheme(r)+"://"+r.Host))
	})
	mux.HandleFunc("GET /api/v3/orgs/{owner}/installation", func(w http.ResponseWriter, r *http.Request) {
		a := g.asApp(r)
		switch {
		case a == nil:
			answer(w, r, badCredentials(), 0, nil)
		case !strings.EqualFold(a.owner, r.PathValue("owner")):
			answer(w, r, notFound("an installation"), 0, nil)
		default:
			answer(w, r, nil, http.StatusOK, map[string]any{
				"id": a.id, "app_id": a.id, "app_slug": a.slug, "target_type": "Organization", "permissions": a.rights, "events": a.events,
				"account": map[string]any{"login": a.owner, "id": 1, "type": "Organization"},
			})
		}
	})
	mux.HandleFunc("POST /api/v3/app/installations/{id}/access_tokens", func(w http.ResponseWriter, r *http.Request) {
		if a := g.asApp(r); a == nil || a.id != number(r, "id") {
			answer(w, r, badCredentials(), 0, nil)
			return
		}
		answer(w, r, nil, http.StatusCreated, map[string]any{"token": "ghs_" + rand.Text(), "expires_at": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	})
}

func badCredentials() error {
	return forge.Fail(forge.Refused, "the credential is not accepted", "", nil).Lacks("a credential that is accepted")
}
