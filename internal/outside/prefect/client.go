package prefect

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// apiVersion is the REST version whose behaviour was read and tested. A lower one
	// changes what the server does with retries and pauses.
	apiVersion = "0.8.4"

	// maxResponse bounds what is read of one answer. A page of flow runs carries their
	// parameters, each up to 512 KiB on the server's side.
	maxResponse = 32 << 20

	// attemptTimeout ends one attempt. The server gives up on its database after 10 s.
	attemptTimeout = 30 * time.Second
)

// Client speaks Prefect's REST protocol. Its methods may be called at the same time.
//
// Every method waits out a server that is down or overloaded (no connection, 429, 502, 503,
// 504), until ctx ends or ClientOptions.RetryFor has passed, and then returns an error that
// is [ErrUnreachable]. Every call may therefore reach the server twice, and each is made so
// that this is harmless. Other refusals are an [*APIError]. No error holds the auth string.
type Client struct {
	source   Source
	http     *http.Client
	retryFor time.Duration
}

// ClientOptions change how a Client calls. The zero value is right for production.
type ClientOptions struct {
	// RetryFor is how long one call goes on trying; 10 minutes when zero, which is how
	// long a hook that is due waits for Prefect.
	RetryFor time.Duration
	// HTTP replaces the HTTP client, in tests.
	HTTP *http.Client
}

// NewClient returns a client of the server that source names.
func NewClient(source Source, o ClientOptions) *Client {
	c := &Client{source: source, http: o.HTTP, retryFor: cmp.Or(o.RetryFor, 10*time.Minute)}
	if c.http == nil {
		c.http = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 16}}
	}
	// A redirect would carry the auth string to wherever it points, and none of these
	// addresses redirects when written with the slash that it has in the protocol.
	withoutRedirects := *c.http
	withoutRedirects.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &withoutRedirects
	return c
}

// call sends one request, again and again while the server cannot answer, and decodes the
// answer into out unless that is nil.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fmt.Errorf("prefect %s %s: encode: %w", method, path, err)
		}
	}
	giveUp := time.Now().Add(c.retryFor)
	for attempt := 0; ; attempt++ {
		pause, err := c.attempt(ctx, method, path, body, out)
		if err == nil || !mayPass(err, attempt+1) {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		}
		if pause == 0 {
			pause = backOff(attempt)
		}
		if time.Now().Add(pause).After(giveUp) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// attempt sends one request once. The duration is the pause that the server asked for.
func (c *Client) attempt(ctx context.Context, method, path string, body []byte, out any) (time.Duration, error) {
	ep := c.source.Endpoint()
	attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(attempt, method, strings.TrimSuffix(ep.API, "/")+path, bytes.NewReader(body))
	if err != nil {
		return 0, fmt.Errorf("prefect %s %s: %w", method, path, err)
	}
	// FastAPI refuses a body without this header; the server fills it in only for old clients.
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-PREFECT-API-VERSION", apiVersion)
	req.Header.Set("User-Agent", "slipway")
	if ep.Auth != "" {
		req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(ep.Auth)))
	}

	res, err := c.http.Do(req)
	if err != nil {
		return 0, &APIError{Method: method, Path: path, Server: ep.API, Detail: err.Error(), kind: ErrUnreachable}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxResponse+1))
	if err != nil {
		// The answer broke off: it may be a server that was killed while it spoke.
		return 0, &APIError{Method: method, Path: path, Server: ep.API, Detail: err.Error(), kind: ErrUnreachable}
	}
	if len(data) > maxResponse {
		return 0, fmt.Errorf("prefect %s %s: the answer is larger than %d MiB", method, path, maxResponse>>20)
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return retryAfter(res.Header), newAPIError(method, path, ep, res.StatusCode, data)
	}
	if out == nil {
		return 0, nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return 0, fmt.Errorf("prefect %s %s: decode the answer: %w", method, path, err)
	}
	return 0, nil
}

// backOff returns 0.2 s, 0.4 s, 0.8 s … up to 5 s, each up to a quarter shorter so that
// many waiting actions do not return at once.
func backOff(attempt int) time.Duration {
	d := min(200*time.Millisecond<<min(attempt, 10), 5*time.Second)
	return d - rand.N(d/4+1) //nolint:gosec // a pause, not a secret
}

// retryAfter reads the pause that a 429 or 503 asks for, in seconds, at most one minute.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds <= 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, time.Minute)
}

// Health says whether the server process answers. It needs no auth string.
func (c *Client) Health(ctx context.Context) error {
	_, err := c.attempt(ctx, http.MethodGet, "/health", nil, nil)
	return err
}

// Version returns Prefect's version, "3.9.1". It asks with the auth string and once only,
// so it also says whether the string is right ([ErrUnauthorized] when it is not).
func (c *Client) Version(ctx context.Context) (string, error) {
	var v string
	_, err := c.attempt(ctx, http.MethodGet, "/admin/version", nil, &v)
	return v, err
}

// FlowRunUIURL returns the page of a flow run in Prefect's own user interface.
func (c *Client) FlowRunUIURL(flowRunID string) string {
	return c.source.Endpoint().FlowRunURL(flowRunID)
}
