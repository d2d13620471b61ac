package objects

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"slipway.dev/slipway/internal/slipway"
)

const (
	// partSize bounds a stream of unknown length to 10,000 parts, which is 640 GB, and the
	// mover's memory to one part.
	partSize = 64 << 20
	// tries is how often one request is sent; the library waits longer and longer between.
	tries = 10
	// answerWithin bounds the wait for the head of an answer.
	answerWithin = 2 * time.Minute
)

// S3 is a bucket.
type S3 struct {
	client *minio.Client
	bucket string
	at     string // for errors: endpoint and bucket
}

// NewS3 returns the store of a bucket. It makes no request.
func NewS3(l slipway.S3Location, accessKey, secretKey string) (*S3, error) {
	u, err := url.Parse(l.Endpoint)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, slipway.Errorf(slipway.Invalid, "the endpoint %q is no address", l.Endpoint).WithHint("write it as https://s3.example.com")
	}
	transport, err := minio.DefaultTransport(u.Scheme == "https")
	if err != nil {
		return nil, fmt.Errorf("make the connection to %s: %w", l.Endpoint, err)
	}
	transport.ResponseHeaderTimeout = answerWithin
	if l.CA != "" {
		if err := trust(transport, l.CA); err != nil {
			return nil, err
		}
	}
	c, err := minio.New(u.Host, &minio.Options{
		Creds: credentials.NewStaticV4(accessKey, secretKey, ""), Secure: u.Scheme == "https",
		Region: l.Region, Transport: transport, MaxRetries: tries,
	})
	if err != nil {
		return nil, fmt.Errorf("make the client of %s: %w", l.Endpoint, err)
	}
	return &S3{client: c, bucket: l.Bucket, at: l.Endpoint + "/" + l.Bucket}, nil
}

// trust adds authorities to those that the machine has.
func trust(t *http.Transport, pem string) error {
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM([]byte(pem)) {
		return slipway.Errorf(slipway.Invalid, "the location's certificate authority is no PEM certificate")
	}
	if t.TLSClientConfig == nil {
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	t.TLSClientConfig.RootCAs = pool
	return nil
}

// Put uploads in parts. A part that fails is sent again; an upload that fails is ended, so
// that nothing of it stays and costs.
func (s *S3) Put(ctx context.Context, name string, r io.Reader, size int64) (int64, error) {
	o := minio.PutObjectOptions{ContentType: "application/octet-stream", SendContentMd5: true, DisableContentSha256: false, NumThreads: 1}
	if size < 0 {
		o.PartSize = partSize
	}
	info, err := s.client.PutObject(ctx, s.bucket, name, r, size, o)
	if err != nil {
		return 0, s.explain(err, "write %s", name)
	}
	return info.Size, nil
}

// Open reads an object. A connection that breaks is taken up where it broke.
func (s *S3) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	info, err := s.client.StatObject(ctx, s.bucket, name, minio.StatObjectOptions{})
	if err != nil {
		return nil, s.explain(err, "read %s", name)
	}
	return &resuming{ctx: ctx, s: s, name: name, tag: info.ETag, size: info.Size}, nil
}

// Remove lists and deletes, then ends the uploads that were begun there.
func (s *S3) Remove(ctx context.Context, folder string) (Removed, error) {
	var out Removed
	if strings.Trim(folder, "/") == "" {
		return out, slipway.Errorf(slipway.Internal, "a whole bucket is never removed")
	}
	folder = strings.TrimSuffix(folder, "/") + "/"
	for o := range s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: folder, Recursive: true}) {
		if o.Err != nil {
			return out, s.explain(o.Err, "list %s", folder)
		}
		if err := s.client.RemoveObject(ctx, s.bucket, o.Key, minio.RemoveObjectOptions{}); err != nil {
			return out, s.explain(err, "remove %s", o.Key)
		}
		out.Files++
	}
	for u := range s.client.ListIncompleteUploads(ctx, s.bucket, folder, true) {
		if u.Err != nil {
			return out, s.explain(u.Err, "list the unfinished uploads of %s", folder)
		}
		if err := s.client.RemoveIncompleteUpload(ctx, s.bucket, u.Key); err != nil {
			return out, s.explain(err, "end the upload of %s", u.Key)
		}
		out.Unfinished++
	}
	return out, nil
}

// explain turns what the store says into words. The store's own message is left out: some
// quote the request.
func (s *S3) explain(err error, format string, args ...any) error {
	doing := fmt.Sprintf(format, args...)
	fail := func(k slipway.Kind, msg, hint string) error {
		return &slipway.Error{Kind: k, Msg: fmt.Sprintf("%s in %s: %s", doing, s.at, msg), Hint: hint, Err: err}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s in %s: %w", doing, s.at, err)
	}
	r := minio.ToErrorResponse(err)
	switch r.Code {
	case minio.NoSuchKey:
		return fail(slipway.NotFound, "it is not there", "")
	case minio.NoSuchBucket:
		return fail(slipway.NotFound, "there is no such bucket", "make the bucket, or correct the backup location")
	case minio.AccessDenied:
		return fail(slipway.Forbidden, "the store refuses it", "let the key list, read, write and delete in the bucket")
	case "InvalidAccessKeyId", minio.SignatureDoesNotMatch:
		return fail(slipway.Forbidden, "the store does not know the key, or its secret is another one", "set the secrets that the backup location names anew")
	case "SlowDown", "ServiceUnavailable", "InternalError", "RequestTimeout":
		return fail(slipway.Unavailable, "the store is overloaded or broken ("+r.Code+")", "try again later")
	case "":
	default:
		if r.StatusCode != 0 {
			return fail(slipway.Unavailable, fmt.Sprintf("the store answers %d %s", r.StatusCode, r.Code), "")
		}
	}
	return fail(slipway.Unavailable, "the store does not answer: "+plain(err), "check the location's endpoint, and that pods may reach it")
}

// plain is the innermost cause, which names neither a URL nor a header.
func plain(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}
