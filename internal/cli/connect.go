package cli

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/client"
)

const defaultServer = "http://127.0.0.1:8080"

// target is the server that a command line speaks to, and as whom.
type target struct {
	name        string // of the context; empty when none is used
	url         string
	token       string
	caFile      string
	environment string
}

// target finds the server; the root's help has the order. A context's token goes to that
// context's own URL only: --server beside a context must not carry it elsewhere.
func (s *session) target() (target, error) {
	c, err := s.loadContexts()
	if err != nil {
		return target{}, err
	}
	var t target
	named := cmp.Or(s.context, s.getenv("SLIPWAY_CONTEXT"))
	server := strings.TrimRight(cmp.Or(s.server, s.getenv("SLIPWAY_URL")), "/")
	name := cmp.Or(named, c.Current)
	saved, known := c.Contexts[name]
	switch {
	case named != "" && !known:
		return target{}, usagef("there is no context %q", named).hint("see slipway context list, or make it with slipway login --name %s", named)
	case server != "" && named == "":
		// Only the URL is said. Of the contexts, those of this very URL may speak to it.
		t.url = server
		if known && saved.URL == server {
			t = saved.target(name)
		} else if n := contextName(server); c.Contexts[n].URL == server {
			t = c.Contexts[n].target(n)
		}
	case server != "" && saved.URL != server:
		return target{}, usagef("--server (or SLIPWAY_URL) and the context %s name different servers", named).hint("leave one of them out")
	case known:
		t = saved.target(name)
	default:
		t.url = defaultServer
	}
	t.token = cmp.Or(s.getenv("SLIPWAY_TOKEN"), t.token)
	t.caFile = cmp.Or(s.caFile, s.getenv("SLIPWAY_CA_FILE"), t.caFile)
	return t, nil
}

func (x savedServer) target(name string) target {
	return target{name: name, url: x.URL, token: x.Token, caFile: x.CAFile, environment: x.Environment}
}

// connect returns a client of the server that the command line speaks to.
func (s *session) connect() (*client.Client, error) {
	t, err := s.target()
	if err != nil {
		return nil, err
	}
	return s.client(t, t.token)
}

// client returns a client of a target, with another token than the target's where one asks.
func (s *session) client(t target, token string) (*client.Client, error) {
	o := client.Options{URL: t.url, Token: token, UserAgent: "slipway/" + cmp.Or(s.Version, "dev")}
	if t.caFile != "" {
		pool, err := trusted(t.caFile)
		if err != nil {
			return nil, err
		}
		transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // nobody replaces it
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		o.Transport = transport
	}
	return client.New(o)
}

// trusted is the system's certificates and those of a file.
func trusted(path string) (*x509.CertPool, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // a system without any
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("read the certificates to trust: %s", err).hint("--ca-file and SLIPWAY_CA_FILE name a file of PEM certificates")
	}
	if !pool.AppendCertsFromPEM(raw) {
		return nil, usagef("%s holds no PEM certificate", path).hint("--ca-file and SLIPWAY_CA_FILE name a file of PEM certificates")
	}
	return pool, nil
}

// environment reads "project/environment" from the flag -e, or else from the context.
func (s *session) environment(flag string) (project, environment string, err error) {
	ref := flag
	if ref == "" {
		t, err := s.target()
		if err != nil {
			return "", "", err
		}
		ref = t.environment
	}
	if ref == "" {
		return "", "", usagef("no environment is named").
			hint("add -e project/environment, or set one for the context: slipway context use NAME -e project/environment")
	}
	return splitEnvironment(ref)
}

func splitEnvironment(ref string) (project, environment string, err error) {
	parts := strings.Split(ref, "/")
	if len(parts) != 2 || slices.Contains(parts, "") {
		return "", "", usagef("%q does not name an environment", ref).hint("write project/environment: shop/production")
	}
	return parts[0], parts[1], nil
}
