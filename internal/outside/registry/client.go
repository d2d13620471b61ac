package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"
	"oras.land/oras-go/v2/registry/remote/retry"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// Options say how registries are reached.
type Options struct {
	Username, Password string // for the registry of the reference; empty: DockerConfig's
	DockerConfig       string // a config.json as docker login writes it; a missing one is empty
	PlainHTTP          bool   // speak without TLS to a registry that is not this machine
	UserAgent          string
	Limits             spec.Limits   // zero: spec.DefaultLimits
	Timeout            time.Duration // of a whole push or pull; zero: 5 minutes

	// Progress hears how many bytes of a transfer are done. It may be nil.
	Progress func(done, total int64)
}

// Client pushes and pulls drivers, one at a time.
type Client struct {
	opts        Options
	credentials auth.CredentialFunc
	transport   http.RoundTripper
	meter       *meter
}

const (
	defaultTimeout = 5 * time.Minute
	// answerTimeout bounds the wait for the first byte of an answer.
	answerTimeout = 30 * time.Second
	maxRedirects  = 5
	helloTimeout  = 2 * time.Second
)

// New returns a client. It asks nobody yet.
func New(opts Options) (*Client, error) {
	if opts.Limits == (spec.Limits{}) {
		opts.Limits = spec.DefaultLimits()
	}
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	if opts.UserAgent == "" {
		opts.UserAgent = "slipway"
	}
	if opts.Username == "" && opts.Password != "" {
		return nil, slipway.Errorf(slipway.Invalid, "a password was given without a user's name").WithHint("add --username")
	}
	c := &Client{opts: opts, meter: &meter{tell: opts.Progress}}
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is, unless this program replaced it
	t.ResponseHeaderTimeout = answerTimeout
	c.transport = &metered{t, c.meter}
	if opts.Username == "" && opts.DockerConfig != "" {
		store, err := credentials.NewStore(opts.DockerConfig, credentials.StoreOptions{})
		if err != nil {
			return nil, &slipway.Error{Kind: slipway.Invalid, Err: err, Msg: "docker's configuration " + opts.DockerConfig + " cannot be read",
				Hint: "mend it, or give --username and --password-stdin"}
		}
		c.credentials = credentials.Credential(store)
	}
	return c, nil
}

// repository returns the repository that a reference stands in.
func (c *Client) repository(ctx context.Context, r Reference) (*remote.Repository, error) {
	repo, err := remote.NewRepository(r.Registry + "/" + r.Repository)
	if err != nil {
		return nil, &slipway.Error{Kind: slipway.Invalid, Msg: r.String() + " names no repository of a registry", Err: err}
	}
	host := repo.Reference.Host()
	repo.PlainHTTP = c.opts.PlainHTTP || loopback(hostname(host)) && !speaksTLS(ctx, host)
	// One page of signatures is enough, and a registry must not keep us reading.
	repo.ReferrerListMaxPages, repo.MaxMetadataBytes = 4, maxManifestBytes
	creds := c.credentials
	if c.opts.Username != "" {
		creds = auth.StaticCredential(r.Registry, auth.Credential{Username: c.opts.Username, Password: c.opts.Password})
	}
	repo.Client = &auth.Client{
		Client: &http.Client{
			Transport:     &guarded{next: retry.NewTransport(c.transport), plain: plainHost(repo.PlainHTTP, host)},
			CheckRedirect: checkRedirect,
		},
		Cache:      auth.NewCache(),
		Credential: creds,
		Header:     http.Header{"User-Agent": {c.opts.UserAgent}},
	}
	return repo, nil
}

// guarded refuses every request without TLS that does not go to the one registry for which
// that was allowed: a realm or a redirect must not carry credentials into the open.
type guarded struct {
	next  http.RoundTripper
	plain string // host[:port]; empty: none
}

func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && (g.plain == "" || r.URL.Host != g.plain) {
		return nil, errPlain
	}
	return g.next.RoundTrip(r)
}

var (
	errPlain    = errors.New("the registry leads to an address without TLS")
	errRedirect = errors.New("the registry redirects too often")
)

func checkRedirect(_ *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return errRedirect
	}
	return nil
}

func plainHost(plain bool, host string) string {
	if plain {
		return host
	}
	return ""
}

func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.Trim(host, "[]")
}

// loopback reports whether host is this machine, which needs no TLS to be spoken to.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// speaksTLS finds out whether a registry of this machine has TLS: most have none. Nothing
// is said to it, so whose certificate it shows does not matter yet.
func speaksTLS(ctx context.Context, host string) bool {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	if _, _, err := net.SplitHostPort(host); err != nil {
		host = net.JoinHostPort(hostname(host), "443")
	}
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // see above
	conn, err := d.DialContext(ctx, "tcp", host)
	if err != nil {
		return false
	}
	_ = conn.Close() // nothing was said
	return true
}

// bounded gives one whole push or pull its time.
func (c *Client) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, c.opts.Timeout)
}
