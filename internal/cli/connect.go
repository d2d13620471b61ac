package cli

import (
	"cmp"
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
			t = target{name: name, url: server, token: saved.Token, environment: saved.Environment}
		} else if n := contextName(server); c.Contexts[n].URL == server {
			t = target{name: n, url: server, token: c.Contexts[n].Token, environment: c.Contexts[n].Environment}
		}
	case server != "" && saved.URL != server:
		return target{}, usagef("--server (or SLIPWAY_URL) and the context %s name different servers", named).hint("leave one of them out")
	case known:
		t = target{name: name, url: saved.URL, token: saved.Token, environment: saved.Environment}
	default:
		t.url = defaultServer
	}
	t.token = cmp.Or(s.getenv("SLIPWAY_TOKEN"), t.token)
	return t, nil
}

// connect returns a client of the server that the command line speaks to.
func (s *session) connect() (*client.Client, error) {
	t, err := s.target()
	if err != nil {
		return nil, err
	}
	return s.client(t.url, t.token)
}

func (s *session) client(url, token string) (*client.Client, error) {
	return client.New(client.Options{URL: url, Token: token, UserAgent: "slipway/" + cmp.Or(s.Version, "dev")})
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
