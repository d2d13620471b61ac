package github

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v92/github"

	"slipway.dev/slipway/internal/outside/forge"
)

// assertion is the short-lived proof that we are the App (RFC 7519, RS256). It begins a
// minute ago, because clocks differ, and GitHub takes at most ten minutes.
func (k *appKey) assertion(now time.Time) (string, error) {
	claims, err := json.Marshal(map[string]any{"iat": now.Add(-time.Minute).Unix(), "exp": now.Add(8 * time.Minute).Unix(), "iss": k.issuer})
	if err != nil {
		return "", err
	}
	enc := base64.RawURLEncoding
	signed := enc.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + enc.EncodeToString(claims)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, k.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign as the App: %w", err)
	}
	return signed + "." + enc.EncodeToString(signature), nil
}

// bearer gives the token for requests: a fixed one, the App's own, or that of one of its
// installations.
type bearer func(ctx context.Context) (string, error)

// authorised adds the token to requests for the API's own host. A redirect may lead
// elsewhere, and must not carry it along.
type authorised struct {
	next  http.RoundTripper
	host  string
	token bearer
	// rejected hears that GitHub does not take a token; nil: there is no other.
	rejected func(token string)
}

func (a *authorised) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != a.host {
		return a.next.RoundTrip(r)
	}
	token, err := a.token(r.Context())
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := a.next.RoundTrip(r)
	if err == nil && res.StatusCode == http.StatusUnauthorized && a.rejected != nil {
		a.rejected(token)
	}
	return res, err
}

// installation is one of an App's, with its token while that is good.
type installation struct {
	mu     sync.Mutex
	id     int64
	token  string
	expiry time.Time
}

// forget drops a token that GitHub revoked before its time, so that the next request asks
// for another.
func (c *Client) forget(owner, token string) {
	c.mu.Lock()
	in := c.installations[strings.ToLower(owner)]
	c.mu.Unlock()
	if in == nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.token == token {
		in.token = ""
	}
}

// renewBefore is how long before its end a token is renewed.
const renewBefore = 5 * time.Minute

// installationToken returns the token of the App's installation at an owner, and makes one
// when there is none that lasts.
func (c *Client) installationToken(ctx context.Context, owner string) (string, error) {
	c.mu.Lock()
	in := c.installations[strings.ToLower(owner)]
	if in == nil {
		in = &installation{id: c.credential.app.installation}
		c.installations[strings.ToLower(owner)] = in
	}
	c.mu.Unlock()
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.token != "" && time.Until(in.expiry) > renewBefore {
		return in.token, nil
	}
	what := request{doing: "use the GitHub App at " + owner, absent: forge.Refused, permission: "an installation of the App at " + owner}
	if in.id == 0 {
		found, res, err := c.app.Apps.GetOrganizationInstallation(ctx, owner)
		if said(err, http.StatusNotFound) {
			found, res, err = c.app.Apps.GetUserInstallation(ctx, owner) // a repository of a person
		}
		if err != nil {
			return "", c.explain(what, res, err)
		}
		in.id = found.GetID()
	}
	t, res, err := c.app.Apps.CreateInstallationToken(ctx, in.id, &github.InstallationTokenOptions{})
	if err != nil {
		in.id = c.credential.app.installation // it may have been installed anew
		return "", c.explain(what, res, err)
	}
	in.token, in.expiry = t.GetToken(), t.GetExpiresAt().Time
	return in.token, nil
}
