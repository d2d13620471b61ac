package fake

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Listen says where a served fake listens. An address with port 0 gets a free one.
type Listen struct {
	REST    string      // of the API
	Runners string      // where runners find it; empty: with the API
	Admin   string      // of /admin, which asks for no credential; empty: nowhere
	TLS     *tls.Config // of the API; nil: plain HTTP
	// RunnerURL is what configurations name, where runners reach it under another address
	// than it listens on.
	RunnerURL string
}

// Served is a fake that listens.
type Served struct {
	URL, RunnerURL, AdminURL string // AdminURL is empty where there is none
	servers                  []*http.Server
	stop                     chan struct{}
}

// Serve makes the fake listen, until it is closed.
func (g *GitHub) Serve(l Listen) (*Served, error) {
	s := &Served{stop: make(chan struct{})}
	api := http.NewServeMux()
	api.Handle("/", g.Handler())
	var err error
	if l.Runners == "" {
		api.Handle("/runner/", g.RunnerHandler())
	} else if s.RunnerURL, err = s.listen(l.Runners, g.RunnerHandler(), nil); err != nil {
		return nil, err
	}
	if s.URL, err = s.listen(l.REST, api, l.TLS); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if l.Admin != "" {
		if s.AdminURL, err = s.listen(l.Admin, g.AdminHandler(), nil); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.AdminURL += "/admin"
	}
	switch {
	case l.RunnerURL != "":
		s.RunnerURL = l.RunnerURL
	case s.RunnerURL == "":
		s.RunnerURL = s.URL
	}
	g.SetRunnerURL(s.RunnerURL)
	go func() {
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-every.C:
				g.Tick()
			}
		}
	}()
	return s, nil
}

func (s *Served) listen(address string, h http.Handler, secure *tls.Config) (string, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return "", fmt.Errorf("listen on %s: %w", address, err)
	}
	scheme := "http"
	if secure != nil {
		l, scheme = tls.NewListener(l, secure), "https"
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	s.servers = append(s.servers, server)
	go func() {
		// It ends by Close; another end shows itself to every caller.
		_ = server.Serve(l)
	}()
	return scheme + "://" + l.Addr().String(), nil
}

// Close ends it at once, also for those who wait for an answer.
func (s *Served) Close() error {
	close(s.stop)
	var all []error
	for _, server := range s.servers {
		all = append(all, server.Close())
	}
	return errors.Join(all...)
}
