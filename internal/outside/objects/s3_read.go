package objects

import (
	"context"
	"io"
	"time"

	"github.com/minio/minio-go/v7"

	"slipway.dev/slipway/internal/slipway"
)

// resumes is how often in a row a broken reading is taken up without a byte in between.
const resumes = 6

// resuming reads one object, of one version, and takes the reading up where a connection
// broke.
type resuming struct {
	ctx  context.Context
	s    *S3
	name string
	tag  string
	size int64

	at     int64
	broken int
	body   io.ReadCloser
}

func (r *resuming) Read(p []byte) (int, error) {
	for {
		if r.at == r.size {
			return 0, io.EOF
		}
		if r.body == nil {
			if err := r.open(); err != nil {
				return 0, err
			}
			continue
		}
		n, err := r.body.Read(p)
		r.at += int64(n)
		if n > 0 {
			r.broken = 0
			return n, nil
		}
		if err == nil {
			continue
		}
		if r.at == r.size {
			return 0, io.EOF
		}
		// Also an end that came too early.
		if err := r.again(err); err != nil {
			return 0, err
		}
	}
}

func (r *resuming) open() error {
	o := minio.GetObjectOptions{}
	if r.at > 0 {
		if err := o.SetRange(r.at, 0); err != nil {
			return r.s.explain(err, "read %s", r.name)
		}
	}
	if err := o.SetMatchETag(r.tag); err != nil {
		return r.s.explain(err, "read %s", r.name)
	}
	core := minio.Core{Client: r.s.client}
	body, _, _, err := core.GetObject(r.ctx, r.s.bucket, r.name, o)
	if err != nil {
		told := r.s.explain(err, "read %s", r.name)
		if slipway.Is(told, slipway.Unavailable) && r.at > 0 {
			return r.again(told)
		}
		return told
	}
	r.body = body
	return nil
}

// again waits a little and forgets the connection.
func (r *resuming) again(cause error) error {
	if r.body != nil {
		_ = r.body.Close() // it is broken
		r.body = nil
	}
	r.broken++
	if r.broken > resumes {
		return r.s.explain(cause, "read %s", r.name)
	}
	select {
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	case <-time.After(time.Duration(r.broken) * time.Second):
		return nil
	}
}

func (r *resuming) Close() error {
	if r.body == nil {
		return nil
	}
	return r.body.Close()
}
