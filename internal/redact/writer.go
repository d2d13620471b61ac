package redact

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	holdBack = 8 << 10   // at least so much stays behind, for secrets that go on in what comes
	batch    = 64 << 10  // and so much is collected before anything is written
	maxHeld  = 512 << 10 // a secret without end is cut here
)

// Writer returns a writer that redacts what is written to it and passes it on to w. It
// holds back the end of what it has seen until Close, because a secret may go on in the
// next write. Close does not close w.
func (r *Redactor) Writer(w io.Writer) io.WriteCloser { return &writer{r: r, w: w} }

type writer struct {
	r    *Redactor
	w    io.Writer
	held []byte
	in   bool // inside of a private key that was too long to hold: dropped up to its end
	err  error
}

func (w *writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	w.held = append(w.held, p...)
	if len(w.held) >= batch+w.back() {
		w.flush(false)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// Close writes the rest.
func (w *writer) Close() error {
	if w.err == nil {
		w.flush(true)
	}
	return w.err
}

// back is how much of the end stays: longer than any form of a known value.
func (w *writer) back() int { return max(holdBack, 4*w.r.longest) }

const keyEnd = "-----END "

// flush writes what no later write can change.
func (w *writer) flush(all bool) {
	s := string(w.held)
	if w.in {
		end := strings.Index(s, keyEnd)
		if end < 0 {
			w.held = append(w.held[:0], s[max(0, len(s)-len(keyEnd)):]...)
			return
		}
		w.in = false
		s = s[end:]
	}
	spans := w.r.spans(s)
	cut := len(s)
	if !all {
		cut = w.cut(s, spans)
		if cut == 0 && len(s) > maxHeld {
			// One secret fills all that may be held: only a private key without its end does.
			w.in = true
			s, spans, cut = s[:0], nil, 0
			w.pass(Mark)
		}
	}
	var done []span
	for _, p := range spans {
		if p.to <= cut {
			done = append(done, p)
		}
	}
	w.pass(mask(s[:cut], done))
	w.held = append(w.held[:0], s[cut:]...)
}

// cut finds where to part the text: after a line that lies well before the end, and not
// inside of a secret.
func (w *writer) cut(s string, spans []span) int {
	limit := len(s) - w.back()
	at := limit
	if i := strings.LastIndexByte(s[:limit], '\n'); i > limit-batch/2 && i >= 0 {
		at = i + 1
	}
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	for i := len(spans) - 1; i >= 0; i-- {
		if spans[i].from < at && at < spans[i].to {
			at = spans[i].from
		}
	}
	return at
}

func (w *writer) pass(s string) {
	if s == "" || w.err != nil {
		return
	}
	if _, err := io.WriteString(w.w, s); err != nil {
		w.err = fmt.Errorf("write redacted text: %w", err)
	}
}
