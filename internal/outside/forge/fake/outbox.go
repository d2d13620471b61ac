package fake

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// outbox is where the deliveries of a hook wait. They are sent one after the other, so
// that they arrive in the order in which things happened.
type outbox struct {
	url    string
	secret []byte
	client *http.Client
	kind   string // what the hook belongs to

	mu      sync.Mutex
	waiting []*delivery
	busy    bool
}

// deliveryTimeout is how long GitHub waits for an answer.
const deliveryTimeout = 10 * time.Second

// AddWebhook makes a hook that sends signed deliveries to a URL. client is nil but for a
// test's own certificates. An empty owner is a GitHub App's hook, which has all events.
func (g *GitHub) AddWebhook(s slipway.ForgeScope, url, secret string, client *http.Client) int64 {
	c := http.Client{Timeout: deliveryTimeout}
	if client != nil {
		c.Transport = client.Transport
	}
	// GitHub follows no redirect.
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	kind := "organization"
	switch {
	case s.Owner == "":
		kind = "integration"
	case s.Repository != "":
		kind = "repository"
	}
	id := g.AddHook(s, url, nil)
	g.set(func() {
		g.hooks[id].App = s.Owner == ""
		g.hooks[id].outbox = &outbox{url: url, secret: []byte(secret), client: &c, kind: kind}
	})
	return id
}

// TrustHooks sets the transport of hooks that are made over HTTP, which knows the
// certificates of those who receive.
func (g *GitHub) TrustHooks(t http.RoundTripper) { g.set(func() { g.hooksOver = t }) }

// HookClient is a client for AddWebhook that trusts as TrustHooks was told.
func (g *GitHub) HookClient() *http.Client {
	g.mu.Lock()
	defer g.mu.Unlock()
	return &http.Client{Transport: g.hooksOver}
}

// LoseDeliveries makes the next n deliveries of webhooks fail without being sent.
func (g *GitHub) LoseDeliveries(n int) { g.set(func() { g.loseDeliveries = n }) }

// Delivered waits until every delivery has been tried.
func (g *GitHub) Delivered() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.undelivered > 0 {
		g.delivered.Wait()
	}
}

// post puts a delivery in the outbox. It is listed from when it was tried.
func (g *GitHub) post(h *hook, d *delivery) {
	o := h.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	g.undelivered++ // the caller holds the lock
	o.waiting = append(o.waiting, d)
	if !o.busy {
		o.busy = true
		go g.empty(o)
	}
}

func (g *GitHub) empty(o *outbox) {
	for {
		o.mu.Lock()
		if len(o.waiting) == 0 {
			o.busy = false
			o.mu.Unlock()
			return
		}
		d := o.waiting[0]
		o.waiting = o.waiting[1:]
		o.mu.Unlock()
		lose := false
		g.set(func() {
			if lose = g.loseDeliveries > 0; lose {
				g.loseDeliveries--
			}
		})
		code := 0
		if !lose {
			code = o.try(d)
		}
		g.set(func() {
			d.Code, d.At = code, g.now().UTC().Truncate(time.Second)
			g.sent = append(g.sent, d)
			g.undelivered--
			g.delivered.Broadcast()
		})
	}
}

// try makes one attempt, and returns how it was answered.
func (o *outbox) try(d *delivery) int {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, o.url, bytes.NewReader(d.payload))
	if err != nil {
		return 0
	}
	mac := hmac.New(sha256.New, o.secret)
	mac.Write(d.payload)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "GitHub-Hookshot/fake", "X-GitHub-Event": d.Event, "X-GitHub-Delivery": d.GUID,
		"X-GitHub-Hook-ID": strconv.FormatInt(d.hook, 10), "X-GitHub-Hook-Installation-Target-Type": o.kind, "X-GitHub-Hook-Installation-Target-ID": "42",
	} {
		r.Header.Set(name, value)
	}
	if len(o.secret) > 0 {
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	}
	res, err := o.client.Do(r)
	if err != nil {
		return 0
	}
	_ = res.Body.Close() // what it says is not looked at
	return res.StatusCode
}

// Sent lists all attempts at deliveries, oldest first.
func (g *GitHub) Sent() []forge.Delivery {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []forge.Delivery
	for _, d := range g.sent {
		out = append(out, d.Delivery)
	}
	return out
}
