package kube

import (
	"context"
	"io"
	"net/http"
	"time"
)

// bounded gives every request an end. rest.Config.Timeout would do so too, but it also
// ends watches and followed logs, which last as long as what they watch.
type bounded struct {
	next  http.RoundTripper
	limit time.Duration
}

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	q := r.URL.Query()
	if q.Get("watch") == "true" || q.Get("watch") == "1" || q.Get("follow") == "true" {
		return b.next.RoundTrip(r)
	}
	ctx, cancel := context.WithTimeout(r.Context(), b.limit)
	res, err := b.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &cancelling{res.Body, cancel}
	return res, nil
}

// cancelling frees the time-out of a request when its body has been read.
type cancelling struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c *cancelling) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}
