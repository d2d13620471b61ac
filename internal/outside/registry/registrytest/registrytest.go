// Package registrytest runs an OCI registry in the test's own process: the in-memory one of
// go-containerregistry, which is nobody's of ours, and so shows what a registry really
// accepts. It must never be imported outside of tests.
package registrytest

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Registry is a running registry.
type Registry struct {
	Host  string // 127.0.0.1:port
	Close func()

	requests atomic.Int64
	uploads  atomic.Int64
}

// Option changes how a registry answers.
type Option func(http.Handler) http.Handler

// WithPassword makes the registry ask for one.
func WithPassword(user, password string) Option {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
				w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
				http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// New starts a registry. Its owner closes it.
func New(opts ...Option) *Registry {
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	for _, o := range opts {
		handler = o(handler)
	}
	r := &Registry{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		r.requests.Add(1)
		if req.Method == http.MethodPut {
			r.uploads.Add(1)
		}
		handler.ServeHTTP(w, req)
	}))
	r.Host, r.Close = strings.TrimPrefix(server.URL, "http://"), server.Close
	return r
}

// Uploads counts the blobs and manifests that were put.
func (r *Registry) Uploads() int64 { return r.uploads.Load() }

// Requests counts all requests.
func (r *Registry) Requests() int64 { return r.requests.Load() }
