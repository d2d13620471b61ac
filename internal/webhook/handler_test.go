package webhook

// World: HTTP on loopback; package change is a stand-in in memory.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
)

// desk is a stand-in for package change.
type desk struct {
	mu     sync.Mutex
	hooks  map[string]change.Hook
	taken  []change.Delivery
	sizes  []int // of the transactions
	fail   error // of all
	refuse map[string]error
	gate   chan struct{} // when set, each transaction waits for it
	came   atomic.Int64  // transactions that have begun
	looked int
}

func (d *desk) Hook(_ context.Context, hook string) (change.Hook, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.looked++
	h, ok := d.hooks[hook]
	if !ok {
		return h, slipway.Errorf(slipway.NotFound, "there is no such connection")
	}
	return h, nil
}

func (d *desk) TakeDeliveries(_ context.Context, ds []change.Delivery) []change.Taken {
	if d.came.Add(1); d.gate != nil {
		<-d.gate
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sizes = append(d.sizes, len(ds))
	out := make([]change.Taken, len(ds))
	for i, x := range ds {
		out[i].Outcome, out[i].Why = slipway.DeliveryTaken, x.Why
		if x.Fault != "" {
			out[i].Outcome, out[i].Why = slipway.DeliveryInvalid, x.Fault
		}
		switch {
		case d.fail != nil:
			out[i].Err = d.fail
		case d.refuse[x.GUID] != nil:
			out[i].Err = d.refuse[x.GUID]
		default:
			d.taken = append(d.taken, x)
		}
	}
	return out
}

const (
	oneSecret, otherSecret = "the-secret-of-one-connection", "the-secret-of-the-other"
	payloadOf              = `{"action":"queued","repository":{"id":7,"name":"app","owner":{"login":"acme"}},"workflow_job":{"id":%d,"run_id":2,"name":"test 🚀 ä","labels":["slipway"]}}`
)

type office struct {
	*testing.T
	*desk
	h   *Handler
	url string
	log *bytes.Buffer

	mu      sync.Mutex
	results map[string]int
}

func newOffice(t *testing.T, with ...func(*Config)) *office {
	t.Helper()
	o := &office{T: t, log: &bytes.Buffer{}, results: map[string]int{}, desk: &desk{hooks: map[string]change.Hook{
		"one":   {Connection: slipway.Connection{ID: 1, Name: "one", Hook: "one"}, Secrets: [][]byte{[]byte(oneSecret), []byte("the-secret-before")}},
		"other": {Connection: slipway.Connection{ID: 2, Name: "other", Hook: "other", BaseURL: "https://github.example.com"}, Secrets: [][]byte{[]byte(otherSecret)}},
	}}}
	c := Config{Change: o.desk, Log: slog.New(slog.NewTextHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Count: func(r string) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.results[r]++
	}}
	for _, f := range with {
		f(&c)
	}
	o.h = New(c)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { o.h.Run(ctx) })
	server := httptest.NewServer(o.h)
	o.url = server.URL
	t.Cleanup(func() { server.Close(); stop(); running.Wait() })
	return o
}

// request is a delivery as GitHub would send it.
func (o *office) request(hook, guid, secret string, body []byte, change ...func(*http.Request)) *http.Request {
	o.Helper()
	r, err := http.NewRequestWithContext(o.Context(), http.MethodPost, o.url+Prefix+hook, bytes.NewReader(body))
	if err != nil {
		o.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Delivery", guid)
	r.Header.Set("X-GitHub-Event", "workflow_job")
	r.Header.Set(SignatureHeader, Sign(body, []byte(secret)))
	for _, f := range change {
		f(r)
	}
	return r
}

func (o *office) do(r *http.Request) (int, string, http.Header) {
	o.Helper()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		o.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		o.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

func set(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
}

func job(id int) []byte { return fmt.Appendf(nil, payloadOf, id) }

func TestDeliveriesAreTakenOrRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	padded := func(size int) []byte {
		b := bytes.Repeat([]byte{' '}, size)
		copy(b, job(1))
		return b
	}
	rewritten := bytes.ReplaceAll(job(1), []byte("🚀"), []byte(`\ud83d\ude80`))
	form := []byte("payload=" + url.QueryEscape(string(job(9))))
	for _, tc := range []struct {
		name   string
		r      *http.Request
		status int
		says   string
	}{
		{"github/docs#3567 (a): a body with an emoji, signed over its bytes", o.request("one", "g-1", oneSecret, job(1)), 200, "taken"},
		{"github/docs#3567, octokit/webhooks.js#1155 (b): a signature over the same JSON written otherwise", o.request("one", "g-2", oneSecret, job(1), set(SignatureHeader, Sign(rewritten, []byte(oneSecret)))), 401, "not signed"},
		{"github/docs#3567 (c): only the old signature of SHA-1", o.request("one", "g-3", oneSecret, job(1), set(SignatureHeader, ""), set("X-Hub-Signature", "sha1=01dc10d0c83e72ed246219cdd91669667fe2ca59")), 401, "not signed"},
		{"frain-dev/convoy#2392 (d): a form", o.request("one", "g-4", oneSecret, form, set("Content-Type", "application/x-www-form-urlencoded")), 200, "taken"},
		{"(e) 25 MB", o.request("one", "g-5", oneSecret, padded(MaxBody)), 200, "taken"},
		{"(e) a byte more than 25 MB", o.request("one", "g-6", oneSecret, padded(MaxBody+1)), 413, "25 MB"},
		{"(f) no signature at all", o.request("one", "g-7", oneSecret, job(1), set(SignatureHeader, "")), 401, "not signed"},
		{"the secret of another connection", o.request("one", "g-8", otherSecret, job(1)), 401, "not signed"},
		{"the secret before, while it is being changed", o.request("one", "g-9", "the-secret-before", job(1)), 200, "taken"},
		{"an address that does not exist", o.request("none", "g-10", oneSecret, job(1)), 401, "not signed"},
		{"an address below one", o.request("one/more", "g-11", oneSecret, job(1)), 404, "no webhook"},
		{"no address", o.request("", "g-12", oneSecret, job(1)), 401, "not signed"},
		{"no GUID", o.request("one", "", oneSecret, job(1), set("X-GitHub-Delivery", "")), 400, "X-GitHub-Delivery"},
		{"a GUID that is none", o.request("one", "'; drop", oneSecret, job(1)), 400, "X-GitHub-Delivery"},
		{"no event", o.request("one", "g-13", oneSecret, job(1), set("X-GitHub-Event", "")), 400, "X-GitHub-Event"},
		{"a type that is not read", o.request("one", "g-14", oneSecret, job(1), set("Content-Type", "text/xml")), 415, "type"},
		{"signed, and no JSON", o.request("one", "g-15", oneSecret, []byte("{")), 422, "cannot be read"},
		{"signed, and empty", o.request("one", "g-16", oneSecret, nil), 422, "cannot be read"},
		{"a ping of a hook that sends everything", o.request("one", "g-17", oneSecret, []byte(`{"hook":{"events":["*"]}}`), set("X-GitHub-Event", "ping")), 200, "reaches"},
		{"a ping of a hook that does not send jobs", o.request("one", "g-18", oneSecret, []byte(`{"hook":{"events":["push"]}}`), set("X-GitHub-Event", "ping")), 200, "add the event"},
		{"an event of tomorrow", o.request("one", "g-19", oneSecret, []byte(`{}`), set("X-GitHub-Event", "workflow_dream")), 200, "nobody"},
		{"somebody looks at the address", o.request("one", "g-20", oneSecret, nil, func(r *http.Request) { r.Method = http.MethodGet }), 405, "deliveries"},
	} {
		status, text, _ := o.do(tc.r)
		if status != tc.status || !strings.Contains(text, tc.says) {
			t.Errorf("%s: %d %q, want %d with %q", tc.name, status, text, tc.status, tc.says)
		}
	}
	for _, d := range o.taken {
		if d.GUID == "g-5" && d.Size != MaxBody || d.Job != nil && (d.Job.Host != slipway.GitHubHost || d.Job.Owner != "acme") {
			t.Errorf("%+v", d)
		}
	}
	for _, secret := range []string{oneSecret, otherSecret, "the-secret-before", "acme"} {
		if strings.Contains(o.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	if o.h.room.bytes != defaultMemory || o.h.room.bodies != defaultBodies {
		t.Errorf("memory was not given back: %d bytes and %d bodies are free", o.h.room.bytes, o.h.room.bodies)
	}
}

func TestNothingTellsAnAddressThatExists(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	var answers []string
	for _, hook := range []string{"one", "none"} {
		status, text, header := o.do(o.request(hook, "g", "a-secret-that-is-nobody's", job(1)))
		header.Del("Date")
		answers = append(answers, fmt.Sprint(status, text, header))
	}
	if answers[0] != answers[1] {
		t.Errorf("a wrong signature and a wrong address are told apart:\n%s\n%s", answers[0], answers[1])
	}
}

func TestTheHostOfAJobIsTheConnections(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if status, text, _ := o.do(o.request("other", "g", otherSecret, job(1))); status != 200 {
		t.Fatal(status, text)
	}
	if got := o.taken[0].Job.Host; got != "github.example.com" {
		t.Errorf("host = %q", got)
	}
}

func TestADatabaseThatFailsIsNotAnsweredWithSuccess(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.fail = slipway.Errorf(slipway.Unavailable, "the database does not answer")
	status, text, header := o.do(o.request("one", "g", oneSecret, job(1)))
	if status != 503 || header.Get("Retry-After") == "" || !strings.Contains(text, "does not answer") {
		t.Errorf("%d %q %v", status, text, header)
	}
	o.fail = slipway.Errorf(slipway.NotFound, "a connection is gone")
	if status, text, _ := o.do(o.request("one", "g", oneSecret, job(1))); status != 401 || strings.Contains(text, "gone") {
		t.Errorf("a connection that was deleted meanwhile: %d %q", status, text)
	}
	o.fail = errors.New("constraint of table forge_jobs")
	if status, text, _ := o.do(o.request("one", "g", oneSecret, job(1))); status != 503 || strings.Contains(text, "forge_jobs") {
		t.Errorf("a fault of ours: %d %q", status, text)
	}
}

// Those that come while a transaction is under way share the next one, and one that is at
// fault does not fail the others.
func TestDeliveriesThatComeAtOnceShareATransaction(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.gate, o.refuse = make(chan struct{}), map[string]error{"g-7": errors.New("a value that no database takes")}
	const many = 50
	status := make([]int, many)
	var all sync.WaitGroup
	send := func(i int) {
		all.Go(func() { status[i], _, _ = o.do(o.request("one", fmt.Sprint("g-", i), oneSecret, job(i+1))) })
	}
	send(0)
	waitFor(t, func() bool { return o.came.Load() == 1 })
	for i := 1; i < many; i++ {
		send(i)
	}
	waitFor(t, func() bool { return len(o.h.gather.waiting) >= many-2 })
	close(o.gate)
	all.Wait()
	for i, s := range status {
		want := 200
		if i == 7 {
			want = 503
		}
		if s != want {
			t.Errorf("delivery %d: %d, want %d", i, s, want)
		}
	}
	if len(o.sizes) > 4 {
		t.Errorf("%d deliveries took %d transactions: %v", many, len(o.sizes), o.sizes)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come to that")
		}
	}
}

// Whoever knows an address can take places, and cannot take memory by announcing much, nor
// keep a place by sending nothing.
func TestASlowSenderTakesNeitherMemoryNorAPlaceForLong(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(c *Config) { c.Memory, c.Bodies, c.BodyTimeout = 2<<20, 4, 500*time.Millisecond })
	var conns []net.Conn
	for range 3 {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(o.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST %sone HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n{", Prefix, MaxBody)
		conns = append(conns, conn)
	}
	waitFor(t, func() bool {
		o.h.room.mu.Lock()
		defer o.h.room.mu.Unlock()
		return o.h.room.bodies == 1
	})
	if status, text, _ := o.do(o.request("one", "g-1", oneSecret, job(1))); status != 200 {
		t.Errorf("beside three slow senders: %d %q", status, text)
	}
	for _, c := range conns {
		answer, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408") {
			t.Errorf("a slow sender hears %q, %v", answer, err)
		}
	}
	o.h.room.mu.Lock()
	defer o.h.room.mu.Unlock()
	if o.h.room.bodies != 4 || o.h.room.bytes != 2<<20 {
		t.Errorf("%d places and %d bytes are free", o.h.room.bodies, o.h.room.bytes)
	}
}

func TestBodiesNeverTakeMoreThanTheLimit(t *testing.T) {
	t.Parallel()
	o := newOffice(t, func(c *Config) { c.Memory = 1 << 20 })
	big := bytes.Repeat([]byte{' '}, 900<<10)
	copy(big, job(1))
	unsized := func(r *http.Request) { r.ContentLength, r.Body = -1, io.NopCloser(bytes.NewReader(big)) }
	status, text, header := o.do(o.request("one", "g-1", oneSecret, big))
	if status != 503 || header.Get("Retry-After") == "" {
		t.Errorf("a body that fits only without what it is copied from: %d %q", status, text)
	}
	if status, text, _ = o.do(o.request("one", "g-2", oneSecret, big, unsized)); status != 503 {
		t.Errorf("the same without its size: %d %q", status, text)
	}
	if status, text, _ = o.do(o.request("one", "g-3", oneSecret, big[:300<<10])); status != 200 {
		t.Errorf("a smaller one after it: %d %q", status, text)
	}
	if o.h.room.bytes != 1<<20 {
		t.Errorf("%d bytes are free of %d", o.h.room.bytes, 1<<20)
	}
}

func TestAConnectionIsReadOnceInAMoment(t *testing.T) {
	t.Parallel()
	now := time.Now()
	o := newOffice(t, func(c *Config) { c.Now = func() time.Time { return now } })
	for i := range 5 {
		o.do(o.request("one", fmt.Sprint("g-", i), oneSecret, job(i)))
	}
	if o.looked != 1 {
		t.Errorf("it was read %d times", o.looked)
	}
	delete(o.hooks, "one")
	now = now.Add(hookFresh)
	if status, _, _ := o.do(o.request("one", "g-9", oneSecret, job(9))); status != 401 {
		t.Errorf("after it was deleted: %d", status)
	}
}

func FuzzDelivery(f *testing.F) {
	f.Add([]byte(`{"action":"queued"}`), "application/json", "workflow_job", "g-1", true)
	f.Add([]byte("payload=%7B%7D"), "application/x-www-form-urlencoded", "ping", "g-2", true)
	f.Add([]byte("{"), "text/plain", "", "", false)
	for _, event := range []string{"workflow_job", "workflow_run", "ping", "check_run"} {
		for _, raw := range examples(f, event) {
			f.Add([]byte(raw), "application/json", event, "72d3162e-cc78-11e3-81ab-4c9367dc0958", true)
			f.Add([]byte("payload="+url.QueryEscape(string(raw))), "application/x-www-form-urlencoded", event, "g-3", true)
		}
	}
	d := &desk{hooks: map[string]change.Hook{"one": {Secrets: [][]byte{[]byte(oneSecret)}}}}
	h := New(Config{Change: d})
	go h.Run(context.Background())
	f.Fuzz(func(t *testing.T, body []byte, kind, event, guid string, signed bool) {
		r := httptest.NewRequest(http.MethodPost, Prefix+"one", bytes.NewReader(body))
		r.Header.Set("Content-Type", kind)
		r.Header.Set("X-GitHub-Event", event)
		r.Header.Set("X-GitHub-Delivery", guid)
		if signed {
			r.Header.Set(SignatureHeader, Sign(body, []byte(oneSecret)))
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		switch {
		case !signed && w.Code != 401:
			t.Errorf("not signed, and answered with %d", w.Code)
		case w.Code >= 500:
			t.Errorf("answered with %d: %s", w.Code, w.Body)
		}
		if h.room.bytes != defaultMemory || h.room.bodies != defaultBodies {
			t.Error("memory was not given back")
		}
	})
}
