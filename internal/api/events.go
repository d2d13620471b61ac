package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

const (
	// heartbeat is how often a silent stream says that it lives, so that proxies keep it
	// and a lost connection is noticed.
	heartbeat = 15 * time.Second
	// eventWrite is how long one write to a stream may take.
	eventWrite = 10 * time.Second
	// streamLife ends a stream after a while. Its reader comes back with a token that is
	// judged anew, so that a revoked one does not listen for ever.
	streamLife = 10 * time.Minute
)

var eventType = reflect.TypeFor[wire.Event]()

func (s *service) registerEvents() {
	register(s, "watch-events", s.watchEvents, func(op *huma.Operation) {
		op.Description += " Each message has the event's ID as id, its kind as event and an Event as data. " +
			"Without after and Last-Event-ID the stream begins with what happens from now on. It ends after some minutes; go on with the last ID."
		op.Responses = map[string]*huma.Response{"200": {
			Description: "A stream of events.",
			Content: map[string]*huma.MediaType{"text/event-stream": {
				Schema: s.api.OpenAPI().Components.Schemas.Schema(eventType, true, "Event"),
			}},
		}}
	})
}

func (s *service) watchEvents(ctx context.Context, c slipway.Caller, in *struct {
	After  int64 `query:"after" minimum:"0" doc:"Begin after the event of this ID."`
	LastID int64 `header:"Last-Event-ID" minimum:"0" doc:"As after; browsers send it when they come back."`
},
) (*huma.StreamResponse, error) {
	past, next, stop, err := s.Events.Subscribe(ctx, max(in.After, in.LastID))
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(huma.Context) {
		defer stop()
		w := exchangeOf(ctx).w
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Accel-Buffering", "no") // or some proxies hold messages back
		w.WriteHeader(http.StatusOK)
		if err := s.stream(ctx, stream{w, http.NewResponseController(w)}, c, past, next); err != nil && ctx.Err() == nil {
			s.Log.InfoContext(ctx, "an event stream broke", "request_id", c.RequestID, "error", err)
		}
	}}, nil
}

// stream writes messages to one reader.
type stream struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func (out stream) write(text string) error {
	if err := out.rc.SetWriteDeadline(time.Now().Add(eventWrite)); err != nil {
		return fmt.Errorf("bound a write: %w", err)
	}
	if _, err := out.w.Write([]byte(text)); err != nil {
		return err
	}
	return out.rc.Flush()
}

// stream sends events until the reader goes, the server stops, or its life is over.
func (s *service) stream(ctx context.Context, out stream, c slipway.Caller, past []slipway.Event, next <-chan slipway.Event) error {
	ctx, cancel := context.WithTimeout(ctx, streamLife)
	defer cancel()
	alive := time.NewTicker(heartbeat)
	defer alive.Stop()
	if err := out.write(": welcome\n\n"); err != nil { // so that the headers are on their way
		return err
	}
	for _, e := range past {
		if err := out.send(c, e); err != nil {
			return err
		}
	}
	for {
		select {
		case e, open := <-next:
			if !open {
				return nil
			}
			if err := out.send(c, e); err != nil {
				return err
			}
		case <-alive.C:
			if err := out.write(": still here\n\n"); err != nil {
				return err
			}
		case <-s.Stopping:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// send writes an event, if its reader may hear of it.
func (out stream) send(c slipway.Caller, e slipway.Event) error {
	if !sees(c, e) {
		return nil
	}
	text, err := message(e)
	if err != nil {
		return err
	}
	return out.write(text)
}

// sees reports whether a caller may hear of an event. One that concerns the installation
// is not for a token that is confined to a part of it.
func sees(c slipway.Caller, e slipway.Event) bool {
	if e.ID == 0 {
		return true // it tells nothing but that some are missing
	}
	if e.Project == "" {
		return c.Project == ""
	}
	return c.Sees(e.Project, e.Environment)
}

func message(e slipway.Event) (string, error) {
	data, err := json.Marshal(wire.Event{ID: e.ID, At: e.At, Kind: e.Kind, Noun: e.Noun, NounID: e.NounID, Project: e.Project, Environment: e.Environment})
	if err != nil {
		return "", fmt.Errorf("write event %d: %w", e.ID, err)
	}
	id := ""
	if e.ID != 0 {
		id = "id: " + strconv.FormatInt(e.ID, 10) + "\n"
	}
	return id + "event: " + e.Kind + "\ndata: " + string(data) + "\n\n", nil
}
