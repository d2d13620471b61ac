package dashboard

import (
	"fmt"
	"net/http"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const (
	// liveBeat is how often a silent stream says that it lives, so that proxies keep it and
	// a lost connection is noticed.
	liveBeat = 15 * time.Second
	// livePause is how often at most a page is woken: a burst of events is one change to
	// its reader.
	livePause = 250 * time.Millisecond
	// liveWrite is how long one write may take.
	liveWrite = 10 * time.Second
	// liveSpan ends a stream after a while. The page comes back, and its session is judged
	// anew.
	liveSpan = 10 * time.Minute
)

// live is a stream that says "wake" when something in a scope has changed, and nothing
// about what. The page then asks for itself again, by the same way and under the same
// rules as any reader.
func (s *site) live(r *request) error {
	if s.Subscribe == nil {
		return slipway.Errorf(slipway.NotFound, "this server's pages are not live").WithHint("reload the page")
	}
	project, environment := splitScope(r.URL.Query().Get("in"))
	events, stop := s.Subscribe()
	defer stop()

	h := r.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // a proxy that gathers the answer would hold it back
	r.w.WriteHeader(http.StatusOK)
	stream := stream{w: r.w, control: http.NewResponseController(r.w)}
	// Something may have happened between the page and this stream.
	if !stream.say("event: wake\ndata:\n\n") {
		return nil
	}
	end := time.NewTimer(liveSpan)
	defer end.Stop()
	beat := time.NewTicker(liveBeat)
	defer beat.Stop()
	var pause <-chan time.Time // set while the page was woken just now
	var pending bool
	for ok := true; ok; {
		select {
		case e, open := <-events:
			if !open {
				return nil
			}
			if !concerns(e, r.caller, project, environment) {
				continue
			}
			if pause != nil {
				pending = true
				continue
			}
			ok, pause = stream.say("event: wake\ndata:\n\n"), time.After(livePause)
		case <-pause:
			if pause = nil; pending {
				pending = false
				ok, pause = stream.say("event: wake\ndata:\n\n"), time.After(livePause)
			}
		case <-beat.C:
			ok = stream.say(": still here\n\n")
		case <-end.C:
			return nil
		case <-s.Stopping:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
	return nil
}

// concerns reports whether an event may change a page of that scope. One of the whole
// installation may change any.
func concerns(e slipway.Event, c slipway.Caller, project, environment string) bool {
	if (e.Kind == slipway.EventChecked || e.Kind == slipway.EventPoolChecked) && environment == "" {
		return false // it comes at intervals for every application and pool, and only its own page tells of it
	}
	if e.Project == "" {
		return true
	}
	return c.Sees(e.Project, e.Environment) &&
		(project == "" || project == e.Project) && (environment == "" || environment == e.Environment)
}

// stream writes to a reader who may be slow or gone.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// say reports false when nobody listens any more.
func (s stream) say(text string) bool {
	_ = s.control.SetWriteDeadline(time.Now().Add(liveWrite)) // a recorder in a test has none
	if _, err := fmt.Fprint(s.w, text); err != nil {
		return false
	}
	return s.control.Flush() == nil
}
