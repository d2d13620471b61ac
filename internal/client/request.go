package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/wire"
)

// request is one call of the API, before it is sent.
type request struct {
	method  string
	path    string   // as the description has it: /projects/{project}
	args    []string // for the braces of path, in order
	query   url.Values
	body    any    // sent as JSON, unless it is a []byte
	key     string // the idempotency key; makes a repeat harmless
	step    int64  // the hook step of an action's call
	timeout time.Duration
}

// do sends r and decodes the answer into into, which may be nil.
func (c *Client) do(ctx context.Context, r request, into any) error {
	if r.timeout == 0 {
		r.timeout = ordinaryTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		answer, err := c.send(ctx, r)
		if err != nil && attempt < 3 && r.repeatable() && lost(err) && ctx.Err() == nil {
			continue // the answer was lost, and asking again cannot do it twice
		}
		if err != nil {
			return err
		}
		return decode(answer, into)
	}
}

// repeatable reports whether sending r twice does no more than sending it once.
func (r request) repeatable() bool {
	return r.method == http.MethodGet || r.method == http.MethodPut || r.key != ""
}

// lost reports whether the request may have arrived, although no answer came. A refused
// connection is not lost: nobody is there, and asking again at once does not help.
func lost(err error) bool {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return false
	}
	var u *Unreachable
	return errors.As(err, &u)
}

// send makes one HTTP request and reads its answer.
func (c *Client) send(ctx context.Context, r request) (answer []byte, err error) {
	resp, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, &Unreachable{URL: c.server(), Err: err}
	case len(answer) > maxAnswer:
		return nil, fmt.Errorf("read the answer of %s: it is larger than %d MiB", c.server(), maxAnswer>>20)
	case resp.StatusCode >= 300:
		return nil, refusal(resp, answer)
	}
	return answer, nil
}

// open sends r and returns the answer unread.
func (c *Client) open(ctx context.Context, r request) (*http.Response, error) {
	if c.observe != nil {
		c.observe(r.method, r.path)
	}
	body, contentType, err := encode(r.body)
	if err != nil {
		return nil, err
	}
	address := c.base + fill(r.path, r.args)
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept", "application/json")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	if r.step != 0 {
		req.Header.Set("X-Slipway-Step", id(r.step))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var u *url.Error // repeats the address; the server's name is enough
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, &Unreachable{URL: c.server(), Err: err}
	}
	return resp, nil
}

func (c *Client) server() string { return strings.TrimSuffix(c.base, "/api/v1") }

func encode(body any) (io.Reader, string, error) {
	switch b := body.(type) {
	case nil:
		return nil, "", nil
	case []byte:
		return bytes.NewReader(b), "application/gzip", nil
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, "", fmt.Errorf("write the request's body: %w", err)
	}
	return bytes.NewReader(raw), "application/json", nil
}

func decode(answer []byte, into any) error {
	if into == nil || len(answer) == 0 {
		return nil // nothing was asked for, or the answer is 204 No Content
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read the server's answer: %w (is the URL that of a Slipway, and the CLI of its version?)", err)
	}
	return nil
}

// fill replaces the braces of path by args, escaped.
func fill(path string, args []string) string {
	var b strings.Builder
	for _, a := range args {
		before, rest, _ := strings.Cut(path, "{")
		_, after, _ := strings.Cut(rest, "}")
		b.WriteString(before + url.PathEscape(a))
		path = after
	}
	return b.String() + path
}

// query builds a query of the pairs whose value is not empty.
func query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

func (p Page) in(q url.Values) url.Values {
	if p.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.Cursor != "" {
		q.Set("cursor", p.Cursor)
	}
	return q
}

func id(n int64) string { return strconv.FormatInt(n, 10) }

// get and list are the two shapes of most reads.
func get[T any](ctx context.Context, c *Client, path string, args ...string) (T, error) {
	var out T
	err := c.do(ctx, request{method: http.MethodGet, path: path, args: args}, &out)
	return out, err
}

func list[T any](ctx context.Context, c *Client, path string, args []string, q url.Values) ([]T, string, error) {
	var out wire.List[T]
	err := c.do(ctx, request{method: http.MethodGet, path: path, args: args, query: q}, &out)
	return out.Items, out.NextCursor, err
}

// post sends a request that makes something, under key or, without one, under a new key,
// so that a lost answer can be asked for again.
func post[T any](ctx context.Context, c *Client, key string, body any, path string, args ...string) (T, error) {
	if key == "" {
		key = NewKey()
	}
	var out T
	err := c.do(ctx, request{method: http.MethodPost, path: path, args: args, body: body, key: key}, &out)
	return out, err
}

// ask sends a POST that makes nothing.
func ask[T any](ctx context.Context, c *Client, body any, path string, args ...string) (T, error) {
	var out T
	err := c.do(ctx, request{method: http.MethodPost, path: path, args: args, body: body}, &out)
	return out, err
}

func (c *Client) remove(ctx context.Context, path string, args ...string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: path, args: args}, nil)
}
