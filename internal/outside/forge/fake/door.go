package fake

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// door is the HTTP side that GitLab and Bitbucket share: one credential, what was asked, and
// everything that may go wrong with a request. Its mutex guards the whole fake.
type door struct {
	mu       sync.Mutex
	base     string // of the paths, and left out of Sent
	sign     string // the Authorization that is taken
	refusal  func(status int) any
	faults   map[string]int // by method; empty: of any
	lose     string
	sent     []string
	throttle time.Duration
	before   func(*http.Request)
}

// paged is a list with what its headers tell.
type paged struct {
	list []any
	head http.Header
}

// Refuse answers every request with a status; 0: no more.
func (d *door) Refuse(status int) { d.RefuseOf("", status) }

// RefuseOf answers requests of a method, or of any, with a status; 0: no more.
func (d *door) RefuseOf(method string, status int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults[method] = status
}

// Throttle asks every request to wait.
func (d *door) Throttle(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.throttle = by
}

// Lose carries out the next request of a method and cuts its answer off.
func (d *door) Lose(method string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lose = method
}

// Before is called for each request, before it is looked at.
func (d *door) Before(f func(*http.Request)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = f
}

// Sent lists the requests, as POST /user/runners.
func (d *door) Sent() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.sent)
}

// serve answers a request by f, which runs alone, unless something is in its way.
func (d *door) serve(w http.ResponseWriter, r *http.Request, f func(*http.Request) (int, any)) {
	d.mu.Lock()
	before := d.before
	d.mu.Unlock()
	if before != nil {
		before(r)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent = append(d.sent, r.Method+" "+strings.TrimPrefix(r.URL.EscapedPath(), d.base))
	status := cmp.Or(d.faults[""], d.faults[r.Method])
	switch {
	case d.throttle > 0:
		w.Header().Set("Retry-After", strconv.Itoa(int(d.throttle/time.Second)))
		status = http.StatusTooManyRequests
	case status == 0 && r.Header.Get("Authorization") != d.sign:
		status = http.StatusUnauthorized
	}
	answer := func(*http.Request) (int, any) { return status, d.refusal(status) }
	if status == 0 {
		answer = f
	}
	code, body := answer(r)
	if d.lose == r.Method {
		d.lose = ""
		panic(http.ErrAbortHandler)
	}
	if page, ok := body.(paged); ok {
		maps.Copy(w.Header(), page.head)
		body = page.list
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if body != nil {
		_ = json.NewEncoder(w).Encode(body)
	}
}
