package kube

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// actionContainer is the container of the command in its Job.
	actionContainer = "action"

	// keepRaw is how much of a log's end is kept before it is redacted and cut. It is
	// several times what a step shows, so that a secret which the front of it cuts in half
	// lies well before the part that is kept.
	keepRaw = 256 << 10

	// logGrace is how long a followed log may take to end after its container has.
	logGrace = 10 * time.Second
)

// output reads the log of a Job's pod as it is written: the pod may be gone a moment after
// the command has failed, and its log with it.
type output struct {
	c         *Client
	namespace string
	pattern   *regexp.Regexp

	mu      sync.Mutex
	pod     string // whose log is read; empty: none yet
	cancel  context.CancelFunc
	reading chan struct{} // closed when the reading has ended
	tail    *tail
	matched bool
	whole   bool // the log was read to its end
}

func newOutput(c *Client, namespace string, pattern *regexp.Regexp) *output {
	return &output{c: c, namespace: namespace, pattern: pattern, tail: &tail{}}
}

// see begins to read the log of p once its container has started. A reading that broke
// off begins anew from the log's start.
func (o *output) see(p *corev1.Pod) {
	s := actionStatus(p)
	if s == nil || s.State.Running == nil && s.State.Terminated == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.reading != nil {
		select {
		case <-o.reading:
			if o.whole || o.pod == p.Name && s.State.Terminated != nil {
				return // finish reads what is missing
			}
		default:
			return
		}
	}
	// Not the context of one reading of the Job: this lasts until stop.
	ctx, cancel := context.WithCancel(context.Background())
	if o.cancel != nil {
		o.cancel()
	}
	done := make(chan struct{})
	o.pod, o.cancel, o.reading = p.Name, cancel, done
	go func() {
		defer close(done)
		_ = o.read(ctx, p.Name, true) // a broken reading is begun again; finish decides
	}()
}

// read reads the whole log once; follow reads on until the container ends.
func (o *output) read(ctx context.Context, pod string, follow bool) error {
	stream, err := o.c.logs(ctx, o.namespace, pod, &corev1.PodLogOptions{Container: actionContainer, Follow: follow})
	if err != nil {
		return err
	}
	defer stream.Close()
	t := &tail{}
	o.mu.Lock()
	if o.tail.Len() == 0 || follow {
		o.tail = t
	}
	o.mu.Unlock()

	sinks := []io.Writer{t}
	var m *matcher
	if o.pattern != nil {
		m = newMatcher(o.pattern)
		sinks = append(sinks, m)
	}
	_, err = io.Copy(io.MultiWriter(sinks...), stream)
	matched := m != nil && m.end()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.matched = o.matched || matched
	if err == nil && ctx.Err() == nil {
		o.whole, o.tail = true, t
	}
	return errors.Join(err, ctx.Err())
}

// finish waits for the reading to end, reads the log again if it broke off, and reports
// whether the pattern was found.
func (o *output) finish(ctx context.Context, p *corev1.Pod) (matched bool) {
	o.mu.Lock()
	reading := o.reading
	o.mu.Unlock()
	if reading != nil {
		ctx, cancel := context.WithTimeout(ctx, logGrace)
		select {
		case <-reading:
		case <-ctx.Done():
		}
		cancel()
	}
	o.mu.Lock()
	whole := o.whole
	o.mu.Unlock()
	if !whole && p != nil {
		if err := o.read(ctx, p.Name, false); err != nil {
			o.c.log.Debug("the log of an action's pod was not read to its end", "pod", p.Name, "error", err)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.matched
}

// text returns the end of the log, cleaned, and whether that is all of it.
func (o *output) text() (text string, whole bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	raw, dropped := o.tail.Bytes()
	return CleanOutput(raw), !dropped
}

// stop ends the reading and waits for that.
func (o *output) stop() {
	o.mu.Lock()
	cancel, reading := o.cancel, o.reading
	o.mu.Unlock()
	if cancel != nil {
		cancel()
		<-reading
	}
}

// tail keeps the last keepRaw bytes of what is written to it.
type tail struct {
	mu      sync.Mutex
	buf     []byte
	dropped bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*keepRaw { // move only now and then
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-keepRaw:]...)
		t.dropped = true
	}
	return len(p), nil
}

func (t *tail) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.buf)
}

// Bytes returns the end of what was written, from the start of a line when the front was
// dropped, and whether it was.
func (t *tail) Bytes() (end []byte, dropped bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	end = t.buf
	dropped = t.dropped
	if len(end) > keepRaw {
		end, dropped = end[len(end)-keepRaw:], true
	}
	if dropped {
		if at := bytes.IndexByte(end, '\n'); at >= 0 && at < len(end)-1 {
			end = end[at+1:]
		}
	}
	return bytes.Clone(end), dropped
}

// matcher looks for a pattern in everything that is written to it, in constant memory.
type matcher struct {
	w     *io.PipeWriter
	found chan bool
}

func newMatcher(pattern *regexp.Regexp) *matcher {
	r, w := io.Pipe()
	m := &matcher{w: w, found: make(chan bool, 1)}
	go func() {
		in := bufio.NewReaderSize(r, 32<<10)
		found := pattern.MatchReader(in)
		_, _ = io.Copy(io.Discard, in) // the writer must not block once all is known
		m.found <- found
	}()
	return m
}

func (m *matcher) Write(p []byte) (int, error) { return m.w.Write(p) }

// end tells the matcher that no more comes, and returns whether the pattern was found.
func (m *matcher) end() bool {
	_ = m.w.Close() // of a pipe: never an error
	return <-m.found
}
