package auth

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRequestsOfOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.TrustedOrigins = []string{"https://slipway.example.com"} })
	h := w.a.CrossOrigin(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusNoContent) }))
	for _, tc := range []struct {
		name, method string
		header       map[string]string
		want         int
	}{
		{"our own page", "POST", map[string]string{"Sec-Fetch-Site": "same-origin"}, 204},
		{"another site", "POST", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"another host of our domain", "POST", map[string]string{"Sec-Fetch-Site": "same-site"}, 403},
		{"an older browser, another site", "POST", map[string]string{"Origin": "https://evil.example"}, 403},
		{"an older browser, our page", "POST", map[string]string{"Origin": "http://slipway.test"}, 204},
		{"our public address, behind a proxy that changes the host", "POST", map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://slipway.example.com"}, 204},
		{"reading is always allowed", "GET", map[string]string{"Sec-Fetch-Site": "cross-site"}, 204},
		{"a program", "DELETE", nil, 204},
		{"a token is no cookie", "POST", map[string]string{"Sec-Fetch-Site": "cross-site", "Authorization": "Bearer slw_x"}, 204},
		{"another scheme is no token", "POST", map[string]string{"Sec-Fetch-Site": "cross-site", "Authorization": "Basic x"}, 403},
	} {
		r := httptest.NewRequest(tc.method, "http://slipway.test/x", nil)
		for k, v := range tc.header {
			r.Header.Set(k, v)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		if rec.Code != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, rec.Code, tc.want)
		}
	}
}
