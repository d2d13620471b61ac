//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"slipway.dev/slipway/test/world"
)

// TestTLSByFiles opens a server to the network under a certificate that only --ca-file
// knows, and carries an application and its actions through it. World: real server, real
// cluster, real Prefect.
func TestTLSByFiles(t *testing.T) {
	w := prepared(t)
	cert, key := world.Certificate(t)
	w.Write("cert.pem", cert)
	w.Write("key.pem", key)
	port := world.FreePort(t)
	everywhere := fmt.Sprintf("0.0.0.0:%d", port)

	if out, errs, code := w.Run("", "server", "--data-dir", filepath.Join(w.Dir, "open"), "--listen", everywhere); code != 2 || !strings.Contains(errs, "tls") {
		t.Errorf("a server open to the network in the clear: exit code %d, want 2 and the word tls\n%s%s", code, out, errs)
	}

	p := w.Launch("data", "--listen", everywhere,
		"--tls-cert-file", filepath.Join(w.Dir, "cert.pem"), "--tls-key-file", filepath.Join(w.Dir, "key.pem"))
	p.URL = fmt.Sprintf("https://127.0.0.1:%d", port)
	w.URL = p.URL
	w.CAFile = filepath.Join(w.Dir, "cert.pem")
	w.Ready(p)

	w.CAFile = ""
	_, errs, code := w.Run("", "whoami", "--server", w.URL)
	if code != 6 || !strings.Contains(errs, "--ca-file") {
		t.Errorf("without the certificate: exit code %d, want 6 and a word of --ca-file\n%s", code, errs)
	}
	w.CAFile = filepath.Join(w.Dir, "cert.pem")
	w.SetUp("data")
	w.loadDriver("guestbook")
	w.wantState(w.Deploy(guestbook(t, "1.0.0")), "succeeded")
}

// TestBehindAProxy has a proxy end TLS: cookies are for TLS alone, and the audit has the
// address of the person, not the proxy's, when the proxy is one to be believed. World: real
// server, a reverse proxy of the standard library.
func TestBehindAProxy(t *testing.T) {
	for _, c := range []struct {
		name, trusted, from string
	}{
		{"a proxy that is named is believed", "127.0.0.1/32", "203.0.113.7"},
		{"a proxy that is not named is the one who asks", "10.0.0.0/8", "127.0.0.1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := prepared(t)
			p := w.Launch("data", "--behind-proxy", "--trusted-proxies", c.trusted)
			w.Up(p)
			w.SetUp("data")
			inner, err := url.Parse(p.URL)
			if err != nil {
				t.Fatal(err)
			}
			proxy := httptest.NewTLSServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(inner)
				r.Out.Host = r.In.Host
				r.Out.Header.Set("X-Forwarded-For", "203.0.113.7")
				r.Out.Header.Set("X-Forwarded-Proto", "https")
			}})
			defer proxy.Close()
			browser := proxy.Client()
			browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, proxy.URL+"/sign-in",
				strings.NewReader(url.Values{"name": {"admin"}, "password": {"correct horse battery staple"}}.Encode()))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			req.Header.Set("Origin", proxy.URL)
			resp, err := browser.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != http.StatusSeeOther || len(resp.Cookies()) == 0 {
				t.Fatalf("signing in answered %s with %d cookies", resp.Status, len(resp.Cookies()))
			}
			for _, cookie := range resp.Cookies() {
				if !cookie.Secure || !cookie.HttpOnly {
					t.Errorf("the cookie %s: Secure %t, HttpOnly %t; want both", cookie.Name, cookie.Secure, cookie.HttpOnly)
				}
			}
			if audit := w.Must("audit", "-o", "json"); !strings.Contains(audit, c.from) {
				t.Errorf("the audit does not have %s:\n%s", c.from, audit)
			}
		})
	}
}
