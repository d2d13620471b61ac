package webhook

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
)

// Prefix is where the webhooks' addresses live; the hook's unguessable end follows.
const Prefix = "/webhooks/github/"

// changes is what is needed of package change.
type changes interface {
	Hook(ctx context.Context, hook string) (change.Hook, error)
	TakeDeliveries(ctx context.Context, ds []change.Delivery) []change.Taken
}

// Config of a Handler. What may be zero has a default.
type Config struct {
	Change changes

	Memory      int64               // of all bodies at once; 0: 128 MiB
	Bodies      int                 // at once; 0: 512
	BodyTimeout time.Duration       // for tests
	Count       func(result string) // hears what became of each request; nil: nobody
	Unseen      func()              // hears of jobs whose earlier deliveries were lost; nil: nobody
	Log         *slog.Logger
	Now         func() time.Time
}

const (
	defaultMemory = 128 << 20
	defaultBodies = 512
	strangers     = 32 // requests for addresses that do not exist are read, and not kept
)

// Handler takes deliveries. It knows neither sessions nor tokens: a signature is all that
// counts. Run must run for it to answer.
type Handler struct {
	Config
	room      room
	strangers chan struct{}
	hooks     hooks
	gather    *gatherer
}

// New returns a handler.
func New(c Config) *Handler {
	c.Memory, c.Bodies = cmp.Or(c.Memory, defaultMemory), cmp.Or(c.Bodies, defaultBodies)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Count == nil {
		c.Count = func(string) {}
	}
	if c.Unseen == nil {
		c.Unseen = func() {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Handler{
		Config: c, room: room{bytes: c.Memory, bodies: c.Bodies}, strangers: make(chan struct{}, strangers),
		hooks: hooks{find: c.Change.Hook, now: c.Now}, gather: newGatherer(c.Change.TakeDeliveries),
	}
}

// Run commits deliveries until ctx ends. Before that, nothing may be asked of the handler
// any more.
func (h *Handler) Run(ctx context.Context) { h.gather.run(ctx) }

// ServeHTTP takes one delivery: it is answered with success only when it is durable.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hook, ok := strings.CutPrefix(r.URL.Path, Prefix)
	switch {
	case !ok || strings.Contains(hook, "/"):
		h.refuse(w, r, "refused", http.StatusNotFound, slipway.Errorf(slipway.NotFound, "there is no webhook of this address"))
		return
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		h.refuse(w, r, "refused", http.StatusMethodNotAllowed, slipway.Errorf(slipway.Invalid, "a webhook only takes deliveries").
			WithHint("enter this address as the webhook's URL at GitHub"))
		return
	}
	known, err := h.hooks.get(r.Context(), hook)
	switch {
	case slipway.Is(err, slipway.NotFound):
		h.stranger(w, r)
	case err != nil:
		h.refuse(w, r, "failed", http.StatusServiceUnavailable, err)
	default:
		h.known(w, r, known)
	}
}

// errUnsigned is the one answer for an address that does not exist, and for a signature
// that does not fit: whoever tries either learns nothing.
var errUnsigned = slipway.Errorf(slipway.Unauthenticated, "the delivery is not signed with the secret of a connection").
	WithHint("set the connection's secret as the webhook's, and check the webhook's URL")

// stranger reads and signs a body as it would be for an address that exists.
func (h *Handler) stranger(w http.ResponseWriter, r *http.Request) {
	select {
	case h.strangers <- struct{}{}:
		defer func() { <-h.strangers }()
	default:
		h.refuse(w, r, "busy", http.StatusServiceUnavailable, errBusy)
		return
	}
	if r.ContentLength > MaxBody {
		h.refuse(w, r, "too_large", http.StatusRequestEntityTooLarge, errTooLarge)
		return
	}
	if err := h.limitTime(w); err != nil {
		h.refuse(w, r, "invalid", http.StatusBadRequest, err)
		return
	}
	n, err := io.Copy(hmac.New(sha256.New, []byte("nobody's")), io.LimitReader(r.Body, MaxBody+1))
	switch {
	case n > MaxBody:
		h.refuse(w, r, "too_large", http.StatusRequestEntityTooLarge, errTooLarge)
	case err != nil:
		h.refuse(w, r, "invalid", http.StatusBadRequest, errBroken)
	default:
		h.refuse(w, r, "unsigned", http.StatusUnauthorized, errUnsigned)
	}
}

// known takes a delivery to an address that exists.
func (h *Handler) known(w http.ResponseWriter, r *http.Request, hook change.Hook) {
	d, err := h.read(w, r, hook)
	if err != nil {
		result, status := sorted(err)
		h.refuse(w, r, result, status, err)
		return
	}
	t := h.gather.add(r.Context(), d)
	switch {
	case t.Err != nil && slipway.Is(t.Err, slipway.NotFound): // the connection was deleted meanwhile
		h.refuse(w, r, "unsigned", http.StatusUnauthorized, errUnsigned)
	case t.Err != nil:
		// GitHub shows it as failed, and so it is found and asked for again.
		h.refuse(w, r, "failed", http.StatusServiceUnavailable, t.Err)
	case t.Again:
		h.answer(w, r, "again", http.StatusOK, "it was taken before", "")
	case t.Outcome == slipway.DeliveryInvalid:
		h.answer(w, r, string(t.Outcome), http.StatusUnprocessableEntity, t.Why, "")
	default:
		if t.Unseen {
			h.Unseen()
		}
		h.answer(w, r, string(t.Outcome), http.StatusOK, cmp.Or(t.Why, "it is kept"), "")
	}
}

// read verifies and reads a delivery. Its bytes are let go of before it waits for anything.
func (h *Handler) read(w http.ResponseWriter, r *http.Request, hook change.Hook) (change.Delivery, error) {
	if !h.room.enter() {
		return change.Delivery{}, errBusy
	}
	raw, held, err := h.body(w, r)
	defer func() { h.room.leave(held) }()
	if err != nil {
		return change.Delivery{}, err
	}
	if _, err := Verify(raw, r.Header.Get(SignatureHeader), hook.Secrets...); err != nil {
		return change.Delivery{}, errUnsigned
	}
	e, err := Open(r.Header)
	if err != nil {
		return change.Delivery{}, err
	}
	d := change.Delivery{Connection: hook.Connection, GUID: e.GUID, Event: e.Event, Size: int64(len(raw))}
	kind := r.Header.Get("Content-Type")
	if form, _, err := mime.ParseMediaType(kind); err == nil && form == "application/x-www-form-urlencoded" {
		more := 3 * int64(len(raw)) // the text, its values, and the one of them as bytes
		if !h.room.take(more) {
			return change.Delivery{}, errBusy
		}
		held += more
	}
	payload, err := Payload(kind, raw)
	if err != nil {
		return change.Delivery{}, &typeError{err}
	}
	event, err := Parse(e.Event, payload, h.Now())
	d.Action = event.Action
	switch {
	case err != nil:
		d.Fault = words(err)
	case event.Job != nil:
		j := event.Job.Job
		j.Host = slipway.ForgeHost(hook.BaseURL)
		d.Job = &j
	case event.Ping != nil:
		d.Why = pinged(*event.Ping)
	default:
		d.Why = "it concerns nobody here"
	}
	return d, nil
}

func pinged(p Ping) string {
	for _, e := range p.Events {
		if e == "workflow_job" || e == "*" {
			return "the webhook reaches this connection"
		}
	}
	if len(p.Events) == 0 {
		return "the webhook reaches this connection"
	}
	return "the webhook does not send workflow_job, so it wakes nobody: add the event at GitHub"
}

// typeError marks what is wrong with the form of a delivery, and not with what it says.
type typeError struct{ error }

func (e *typeError) Unwrap() error { return e.error }

// sorted finds how a refusal is counted, and its status.
func sorted(err error) (result string, status int) {
	var form *typeError
	switch {
	case errors.As(err, &form):
		return "invalid", http.StatusUnsupportedMediaType
	case slipway.Is(err, slipway.Unauthenticated):
		return "unsigned", http.StatusUnauthorized
	case slipway.Is(err, slipway.TooLarge):
		return "too_large", http.StatusRequestEntityTooLarge
	case slipway.Is(err, slipway.Throttled):
		return "busy", http.StatusServiceUnavailable
	case errors.Is(err, errSlow):
		return "slow", http.StatusRequestTimeout
	}
	return "invalid", http.StatusBadRequest
}

func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, result string, status int, err error) {
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	// What is left of a body is not read: the connection goes with it.
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close")
	}
	// Anybody can send what is refused, so it must not fill the log; it is counted.
	level := slog.LevelDebug
	if result == "failed" {
		level = slog.LevelError
	}
	h.Log.Log(r.Context(), level, "a delivery was not taken", "result", result, "status", status, "guid", guid(r), "error", err)
	var e *slipway.Error
	hint := ""
	if errors.As(err, &e) {
		hint = e.Hint
	}
	h.answer(w, r, result, status, words(err), hint)
}

// answer writes the one line that people read among the webhook's recent deliveries.
func (h *Handler) answer(w http.ResponseWriter, _ *http.Request, result string, status int, why, hint string) {
	h.Count(result)
	text := result + ": " + why
	if hint != "" {
		text += "; " + hint
	}
	text += "\n"
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // a sender who has gone needs no answer
}

// words is what may be shown of an error.
func words(err error) string {
	var e *slipway.Error
	if errors.As(err, &e) {
		return e.Msg
	}
	return "the delivery could not be kept"
}

// guid is for the log: the header, if it looks as one.
func guid(r *http.Request) string {
	if e, err := Open(r.Header); err == nil {
		return e.GUID
	}
	return ""
}
