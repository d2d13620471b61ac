package fake

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// tagged answers as GitHub does to who shows what it has already: 304, without a body. The
// tag depends on the token, so that one token's tag confirms nothing to another.
func (g *GitHub) tagged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, "/api/") {
			next.ServeHTTP(w, r)
			return
		}
		held := &heldBack{header: http.Header{}, code: http.StatusOK}
		next.ServeHTTP(held, r)
		for name, v := range held.header {
			w.Header()[name] = v
		}
		if held.code != http.StatusOK {
			w.WriteHeader(held.code)
			_, _ = w.Write(held.body.Bytes()) // a client that has gone needs no answer
			return
		}
		sum := sha256.Sum256(append(held.body.Bytes(), r.Header.Get("Authorization")+held.header.Get("Link")...))
		tag := `W/"` + hex.EncodeToString(sum[:]) + `"`
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			g.set(func() { g.calls["NotModified"]++ })
			w.Header().Del("Content-Type")
			w.Header().Del("Link") // what has not changed is not said again
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(held.body.Bytes()) // a client that has gone needs no answer
	})
}

// heldBack is an answer before its tag is known.
type heldBack struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (h *heldBack) Header() http.Header         { return h.header }
func (h *heldBack) Write(b []byte) (int, error) { return h.body.Write(b) }
func (h *heldBack) WriteHeader(code int)        { h.code = code }
