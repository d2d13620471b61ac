package registry

import (
	"io"
	"net/http"
	"sync/atomic"
)

// meter counts the bytes of a transfer below everything that repeats requests, so that a
// repeated one counts again, and at most to the whole.
type meter struct {
	total, done atomic.Int64
	tell        func(done, total int64)
}

// expect begins to count towards a number of bytes.
func (m *meter) expect(total int64) {
	m.done.Store(0)
	m.total.Store(total)
}

func (m *meter) add(n int64) {
	total := m.total.Load()
	if m.tell == nil || total == 0 {
		return
	}
	m.tell(min(m.done.Add(n), total), total)
}

// metered counts both directions.
type metered struct {
	next  http.RoundTripper
	meter *meter
}

func (t *metered) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r = r.Clone(r.Context())
		r.Body = &counted{r.Body, t.meter}
	}
	res, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = &counted{res.Body, t.meter}
	return res, nil
}

type counted struct {
	io.ReadCloser
	meter *meter
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.meter.add(int64(n))
	return n, err
}
