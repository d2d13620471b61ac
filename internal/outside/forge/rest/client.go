package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// Options of a Client.
type Options struct {
	Forge     string // as people write it
	API       *url.URL
	Sign      func(*http.Request) // puts the credential on a request
	Budget    *Budget
	Transport http.RoundTripper // nil: the default one
	UserAgent string
}

// Client speaks JSON with the API of one forge. It is safe for use by many goroutines.
type Client struct {
	Options
	http *http.Client
}

const (
	callTimeout = 30 * time.Second
	maxAnswer   = 16 << 20
)

// NewClient returns a client. It asks nobody yet.
func NewClient(o Options) *Client {
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.UserAgent == "" {
		o.UserAgent = "slipway"
	}
	// A redirect would take the credential along, and make a GET of a POST.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{Options: o, http: &http.Client{Transport: o.Budget.Over(o.Transport), CheckRedirect: stay}}
}

// Request is what is asked of the forge, with what an error has to know of it.
type Request struct {
	Doing  string        // "register a runner of acme"
	Needs  string        // the permission that it takes, in the words of the forge's pages
	Absent forge.Problem // what an answer of 404 means; empty: NotFound

	Method string
	Path   string // escaped, below the API
	Query  url.Values
	Body   any // nil: none
	Into   any // nil: the answer is not looked at
}

// Do sends a request, once. The headers are of the answer.
func (c *Client) Do(ctx context.Context, r Request) (http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unanswered(ctx, r, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.unanswered(ctx, r, err)
	case len(body) > maxAnswer:
		return nil, forge.Fail(forge.Away, fmt.Sprintf("%s's answer is too large: %s", c.Forge, r.Doing), "", nil)
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, c.refused(r, res, body)
	}
	if r.Into != nil {
		if err := json.Unmarshal(body, r.Into); err != nil {
			// Without the cause, which may quote a token.
			return nil, forge.Fail(forge.Away, fmt.Sprintf("%s's answer cannot be read: %s", c.Forge, r.Doing), "", nil)
		}
	}
	return res.Header, nil
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	var body io.Reader
	if r.Body != nil {
		raw, err := json.Marshal(r.Body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Doing, err)
		}
		body = bytes.NewReader(raw)
	}
	at := strings.TrimSuffix(c.API.String(), "/") + r.Path
	if len(r.Query) > 0 {
		at += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, at, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Doing, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.UserAgent)
	c.Sign(req)
	return req, nil
}

// unanswered is an error of a request of which nobody knows whether it was carried out.
func (c *Client) unanswered(ctx context.Context, r Request, err error) error {
	var own *forge.Error
	var slow interface{ Timeout() bool }
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", r.Doing, context.Canceled)
	case errors.As(err, &slow) && slow.Timeout():
		return forge.Fail(forge.Away, fmt.Sprintf("%s did not answer in time: %s", c.Forge, r.Doing), "", err)
	}
	return forge.Fail(forge.Away, fmt.Sprintf("%s cannot be asked to %s", c.Forge, r.Doing), "check the network and "+c.Forge+"'s status page", err)
}

// refused sorts an answer that is no success, in one place for all.
func (c *Client) refused(r Request, res *http.Response, body []byte) error {
	code, words := res.StatusCode, Words(body)
	said := ""
	if words != "" {
		said = fmt.Sprintf(" (%s says: %s)", c.Forge, words)
	}
	cause := fmt.Errorf("%s %s: status %d", r.Method, r.Path, code)
	fail := func(p forge.Problem, hint, format string, args ...any) *forge.Error {
		return forge.Fail(p, c.Forge+" "+fmt.Sprintf(format, args...), hint, cause)
	}
	switch {
	case code == http.StatusUnauthorized:
		return fail(forge.Refused, "make a new token and save it in place of the old one", "does not accept the credential: it is wrong, has ended or was revoked").
			Lacks("a credential that " + c.Forge + " accepts")
	case code == http.StatusTooManyRequests:
		return c.Budget.Throttled(c.Budget.Hold())
	case code == http.StatusForbidden, code == http.StatusNotFound && r.Absent == forge.Refused:
		return fail(forge.Refused, "it needs "+r.Needs, "does not let the credential %s%s", r.Doing, said).Lacks(r.Needs)
	case code == http.StatusNotFound, code == http.StatusGone:
		return fail(forge.NotFound, "", "has nothing there: %s", r.Doing)
	case code >= http.StatusInternalServerError:
		return fail(forge.Away, "see "+c.Forge+"'s status page", "has a fault (%d): %s", code, r.Doing)
	case code < http.StatusBadRequest:
		return fail(forge.Refused, "give the address that it leads to as base_url", "sends requests elsewhere (%d): %s", code, r.Doing).
			Lacks("the address of " + c.Forge + "'s API")
	}
	return fail(forge.Invalid, "", "refuses to %s with %d%s", r.Doing, code, said)
}

// Words are what a forge says of a refusal: the texts of message, error and their like, on
// one short line.
func Words(body []byte) string {
	var answer map[string]any
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	var parts []string
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case string:
			parts = append(parts, v)
		case []any:
			for _, x := range v {
				collect(x)
			}
		case map[string]any:
			for _, key := range []string{"message", "detail"} {
				collect(v[key])
			}
			if v["message"] == nil {
				for key, x := range v { // the fields that are wrong, by name
					parts = append(parts, key)
					collect(x)
				}
			}
		}
	}
	for _, key := range []string{"message", "error", "error_description", "scope"} {
		collect(answer[key])
	}
	return Short(strings.Join(parts, ": "))
}

// Short keeps a sentence of a forge short, and on one line.
func Short(s string) string {
	const limit = 200
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Address reads the address of a forge's server: https, or http on the loopback, and nothing
// but a host.
func Address(name, base string) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return nil, slipway.Errorf(slipway.Invalid, "%s's base URL is not of the form https://git.example.com", name)
	case u.Scheme != "https" && !(u.Scheme == "http" && Loopback(u.Hostname())):
		return nil, slipway.Errorf(slipway.Invalid, "%s's base URL %s://%s is without TLS", name, u.Scheme, u.Host).WithHint("use https://")
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}, nil
}

// Loopback reports whether a host is this machine, to which a credential may go without TLS.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
