package helm

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"slipway.dev/slipway/internal/outside/kube"
)

// keepHookBytes bounds what is kept of one container's log. It is several times what a step
// shows, so that what the front of it cuts in half lies before the part that is kept.
const keepHookBytes = 256 << 10

// hookLogs gathers the logs of the chart's hooks that failed.
type hookLogs struct {
	mu   sync.Mutex
	logs []*hookTail
}

// writer is what Helm asks for: where the log of one container goes.
func (h *hookLogs) writer(_, pod, container string) io.Writer {
	t := &hookTail{pod: pod, container: container}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.logs = append(h.logs, t)
	return t
}

// text returns the logs one after the other, cleaned, redacted, then cut as a step's output.
func (h *hookLogs) text(redact Redactor) (text string, cut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b bytes.Buffer
	for _, t := range h.logs {
		if len(h.logs) > 1 {
			fmt.Fprintf(&b, "%s %s:\n", t.pod, t.container)
		}
		b.Write(t.end)
		if n := b.Len(); n > 0 && b.Bytes()[n-1] != '\n' {
			b.WriteByte('\n')
		}
		cut = cut || t.dropped
	}
	text = kube.CleanOutput(b.Bytes())
	if redact == nil {
		// Nobody may read what nobody has redacted.
		return "", false
	}
	text, over := kube.CutOutput(redact(text))
	return text, cut || over
}

// hookTail keeps the end of one container's log.
type hookTail struct {
	pod, container string
	end            []byte
	dropped        bool
}

func (t *hookTail) Write(p []byte) (int, error) {
	t.end = append(t.end, p...)
	if len(t.end) > 2*keepHookBytes {
		t.end = append(t.end[:0], t.end[len(t.end)-keepHookBytes:]...)
		t.dropped = true
	}
	return len(p), nil
}
