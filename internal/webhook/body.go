package webhook

import (
	"cmp"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

const (
	// MaxBody is the largest payload that GitHub sends.
	MaxBody = 25 << 20
	// firstBytes is what a body is given before any of it has come. It fits nearly every
	// delivery, so that few are copied.
	firstBytes = 64 << 10
	// bodyTimeout is how long a body may take. GitHub waits ten seconds for an answer, and
	// an Enterprise Server thirty.
	bodyTimeout = 30 * time.Second
)

var (
	errTooLarge = slipway.Errorf(slipway.TooLarge, "the delivery is larger than 25 MB, the most that GitHub sends")
	errBusy     = &slipway.Error{Kind: slipway.Throttled, Msg: "too many deliveries are being read at once", Hint: "it is asked for again later", RetryAfter: 5 * time.Second}
	errSlow     = slipway.Errorf(slipway.Invalid, "the delivery did not arrive within %s", bodyTimeout)
	errBroken   = slipway.Errorf(slipway.Invalid, "the delivery broke off")
)

// body reads the bytes of a request as they came. What is held grows with what has really
// come, so that nobody takes memory by announcing a size. The caller gives held back.
func (h *Handler) body(w http.ResponseWriter, r *http.Request) (raw []byte, held int64, err error) {
	if r.ContentLength > MaxBody {
		return nil, 0, errTooLarge
	}
	if err := h.limitTime(w); err != nil {
		return nil, 0, err
	}
	// One byte more than is announced, for the end to be seen without growing.
	size := int64(firstBytes)
	if r.ContentLength >= 0 {
		size = min(size, r.ContentLength+1)
	}
	if !h.room.take(size) {
		return nil, 0, errBusy
	}
	raw, held = make([]byte, 0, size), size
	for {
		n, err := r.Body.Read(raw[len(raw):cap(raw)])
		raw = raw[:len(raw)+n]
		switch {
		case errors.Is(err, io.EOF):
			return raw, held, h.lift(w)
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, held, errSlow
		case err != nil:
			return nil, held, errBroken
		case len(raw) > MaxBody:
			return nil, held, errTooLarge
		case len(raw) < cap(raw):
			continue
		}
		size := min(2*int64(cap(raw)), MaxBody+1)
		if r.ContentLength >= 0 {
			size = min(size, r.ContentLength+1)
		}
		size = max(size, int64(cap(raw))+1)
		if !h.room.take(size) {
			return nil, held, errBusy
		}
		grown := make([]byte, len(raw), size)
		copy(grown, raw)
		h.room.give(held)
		raw, held = grown, size
	}
}

// limitTime bounds the reading of the body. A response without a connection, as tests have,
// has no deadline.
func (h *Handler) limitTime(w http.ResponseWriter) error {
	err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(cmp.Or(h.BodyTimeout, bodyTimeout)))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return errBroken
	}
	return nil
}

func (h *Handler) lift(w http.ResponseWriter) error {
	if err := http.NewResponseController(w).SetReadDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return errBroken
	}
	return nil
}
