package dashboard

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// The tests here stand in the world of a real SQLite database with the real auth, change,
// view and events, over HTTP and without a browser.

// TestStepOutput: what a command printed is text, whatever it is.
func TestStepOutput(t *testing.T) {
	t.Parallel()
	w := settled(t)
	a, _ := w.application("shop", "dev", "other")
	task, step := w.running(a)
	const printed = "\x1b[31m<script>alert(1)</script>\x1b[0m\nrow 1\rrow 2\n"
	w.write(func(tx *store.Tx) error { return tx.SetStepOutput(context.Background(), step.ID, printed, true) })
	b := w.as("kurt")
	page := b.page(taskAddress(task.ID))
	item := page.one(t, "#step-"+id(step.ID))
	if got, want := item.one(t, "pre").text(), "<script>alert(1)</script> row 1 row 2"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if item.one(t, "details summary").text() != "Show output" || !strings.Contains(item.text(), "Earlier output was cut") {
		t.Errorf("the step says %q", item.text())
	}
	raw := b.get(taskAddress(task.ID) + "/steps/" + id(step.ID) + "/output")
	if got, want := raw.body, "[earlier output was cut]\n<script>alert(1)</script>\nrow 1\nrow 2\n"; got != want {
		t.Errorf("plain output %q, want %q", got, want)
	}
	if !strings.HasPrefix(raw.header.Get("Content-Type"), "text/plain") || !strings.Contains(raw.header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("headers %v", raw.header)
	}
}

// TestLive: a page is woken by what happens in its scope, at once the first time and then
// seldom, and by nothing else.
func TestLive(t *testing.T) {
	t.Parallel()
	w := settled(t)
	dev, _ := w.application("shop", "dev", "other")
	task, step := w.running(dev)
	b := w.as("kurt")

	main := b.page(taskAddress(task.ID)).one(t, "main")
	if main.get("hx-get") != taskAddress(task.ID) || main.get("hx-select") != "#content" {
		t.Errorf("the page asks for %q", main.get("hx-get"))
	}
	connect := b.page(taskAddress(task.ID)).one(t, "#wake").get("hx-sse:connect")
	wakes, end := b.listen(connect)
	defer end()
	elsewhere, stop := b.listen("/live?in=shop%2Fproduction")
	defer stop()
	expect(t, wakes, "the first wake", true)
	expect(t, elsewhere, "the first wake", true)

	w.write(func(tx *store.Tx) error {
		if err := tx.CloseStep(context.Background(), step.ID, task.Epoch, slipway.StepSucceeded, ""); err != nil {
			return err
		}
		return w.changed(dev, task)(tx)
	})
	expect(t, wakes, "a wake after a change", true)
	if !strings.Contains(b.page(taskAddress(task.ID)).one(t, "#step-"+id(step.ID)).text(), "Succeeded") {
		t.Error("the page does not show the end of the step")
	}
	expect(t, elsewhere, "a wake by another environment's change", false)

	for range 50 {
		w.write(w.changed(dev, task))
	}
	n := 0
	for timeout := time.After(2 * livePause); ; {
		select {
		case <-wakes:
			n++
			continue
		case <-timeout:
		}
		break
	}
	if n < 1 || n > 10 {
		t.Errorf("50 changes at once wake %d times, want few", n)
	}

	stranger := w.browser()
	if got := stranger.get("/live").status; got != http.StatusUnauthorized {
		t.Errorf("a stranger's stream: %d, want 401", got)
	}
	r, err := http.NewRequest(http.MethodGet, w.server.URL+"/tasks", nil)
	w.must(err)
	r.Header.Set("HX-Request", "true")
	if got := stranger.do(r); got.status != http.StatusUnauthorized || got.header.Get("HX-Redirect") == "" {
		t.Errorf("a live page whose session has ended: %d, HX-Redirect %q", got.status, got.header.Get("HX-Redirect"))
	}
}

// listen opens a stream and returns its wakes.
func (b *browser) listen(path string) (<-chan struct{}, func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, b.server.URL+path, nil)
	b.must(err)
	client := *b.client
	client.Timeout = 0
	res, err := client.Do(r)
	b.must(err)
	if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
		b.Fatalf("GET %s: %d %s", path, res.StatusCode, got)
	}
	wakes := make(chan struct{}, 100)
	go func() {
		defer res.Body.Close()
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			if in.Text() == "event: wake" {
				wakes <- struct{}{}
			}
		}
	}()
	return wakes, cancel
}

func expect(t *testing.T, wakes <-chan struct{}, what string, want bool) {
	t.Helper()
	wait := 10 * time.Second
	if !want {
		wait = 3 * livePause
	}
	select {
	case <-wakes:
		if !want {
			t.Errorf("%s came", what)
		}
	case <-time.After(wait):
		if want {
			t.Errorf("%s did not come", what)
		}
	}
}
