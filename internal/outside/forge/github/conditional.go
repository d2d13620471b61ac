package github

import (
	"bytes"
	"container/list"
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// Pools ask for the same lists again and again, and mostly nothing has changed. GitHub then
// answers 304 to who shows what it has, without a body, and does not count it against the
// hour's requests.
//
// Every answer that is used was confirmed by GitHub in this very request: nothing is served
// by its age, and each page of a list is asked for by itself, so that what is read is what
// GitHub would have sent. The libraries for this cache by age as well, or keep no bounds,
// and none that is kept up can be told what may not be stored.

// What is kept of answers, for each credential.
const (
	maxConfirmed      = 256       // answers
	maxConfirmedBytes = 4 << 20   // of them all
	maxConfirmedBody  = 512 << 10 // of one: a page of 100 jobs with their steps has less
)

// repeated are the requests that are made again and again, and whose answers hold nothing
// secret. A log, a token or the address of a download must never get in here.
var repeated = regexp.MustCompile(`/(actions/(runners|runner-groups|runs|runners/\d+|runs/\d+|runs/\d+(/attempts/\d+)?/jobs|jobs/\d+)|hooks)$`)

// confirmed is one answer that GitHub can confirm.
type confirmed struct {
	key    answerKey
	etag   string
	header http.Header
	body   []byte
}

// answerKey names an answer. GitHub's tags differ between tokens, and so may what they see:
// one token's answer is never another's.
type answerKey struct {
	url, accept string
	token       [sha256.Size]byte
}

// conditional is a transport that asks whether something has changed. It stands behind the
// one that adds the token, and belongs to one credential.
type conditional struct {
	next http.RoundTripper
	host string

	mu    sync.Mutex
	known map[answerKey]*list.Element // of *confirmed
	order *list.List                  // the last used in front
	bytes int
}

func newConditional(next http.RoundTripper, host string) *conditional {
	return &conditional{next: next, host: host, known: map[answerKey]*list.Element{}, order: list.New()}
}

// RoundTrip is part of http.RoundTripper.
func (c *conditional) RoundTrip(r *http.Request) (*http.Response, error) {
	if !c.covers(r) {
		return c.next.RoundTrip(r)
	}
	key := answerKey{r.URL.String(), r.Header.Get("Accept"), sha256.Sum256([]byte(r.Header.Get("Authorization")))}
	known := c.get(key)
	if known != nil {
		r = r.Clone(r.Context())
		r.Header.Set("If-None-Match", known.etag)
	}
	res, err := c.next.RoundTrip(r)
	switch {
	case err != nil:
		return nil, err
	case res.StatusCode == http.StatusNotModified && known != nil:
		return known.again(res)
	case res.StatusCode == http.StatusOK:
		return c.keep(key, res)
	case res.StatusCode < http.StatusInternalServerError:
		c.drop(key) // it is gone, or not to be seen any more
	}
	return res, nil
}

// covers reports whether a request is one of those that are repeated.
func (c *conditional) covers(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Host == c.host && r.Header.Get("Authorization") != "" && r.Header.Get("Range") == "" && r.Header.Get("If-None-Match") == "" &&
		repeated.MatchString(r.URL.Path) && !r.URL.Query().Has("name") // a name is asked for once
}

// again is the answer that GitHub has confirmed. What it said of the limits just now, the
// budget has read.
func (k *confirmed) again(now *http.Response) (*http.Response, error) {
	_, err := io.Copy(io.Discard, io.LimitReader(now.Body, maxConfirmedBody)) // there should be none
	if err = errors.Join(err, now.Body.Close()); err != nil {
		return nil, err
	}
	out := *now
	out.Status, out.StatusCode = "200 OK", http.StatusOK
	out.Header, out.Body, out.ContentLength = k.header.Clone(), io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
	return &out, nil
}

// keep reads an answer and keeps it, when it is whole and small enough.
func (c *conditional) keep(key answerKey, res *http.Response) (*http.Response, error) {
	etag := res.Header.Get("ETag")
	if etag == "" || strings.Contains(strings.ToLower(res.Header.Get("Cache-Control")), "no-store") {
		c.drop(key)
		return res, nil
	}
	var read bytes.Buffer
	_, err := io.Copy(&read, io.LimitReader(res.Body, maxConfirmedBody+1))
	if err != nil || read.Len() > maxConfirmedBody {
		c.drop(key)
		rest := io.Reader(res.Body)
		if err != nil {
			rest = broken{err}
		}
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(&read, rest), res.Body}
		return res, nil
	}
	if err := res.Body.Close(); err != nil {
		return nil, err
	}
	k := &confirmed{key: key, etag: etag, body: read.Bytes(), header: http.Header{}}
	for _, name := range []string{"Content-Type", "Link", "Etag"} {
		if v := res.Header.Values(name); len(v) > 0 {
			k.header[name] = v
		}
	}
	c.put(k)
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
	return res, nil
}

// broken is the rest of an answer that broke off.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

func (c *conditional) get(key answerKey) *confirmed {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.known[key]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*confirmed) //nolint:forcetypeassert // the list holds nothing else
}

func (c *conditional) put(k *confirmed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.known[k.key])
	c.known[k.key] = c.order.PushFront(k)
	c.bytes += k.size()
	for c.order.Len() > maxConfirmed || c.bytes > maxConfirmedBytes {
		c.remove(c.order.Back())
	}
}

func (c *conditional) drop(key answerKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.known[key])
}

func (c *conditional) remove(e *list.Element) {
	if e == nil {
		return
	}
	k := c.order.Remove(e).(*confirmed) //nolint:forcetypeassert // the list holds nothing else
	delete(c.known, k.key)
	c.bytes -= k.size()
}

// size is what an answer takes, about: its body, and the addresses in it and before it.
func (k *confirmed) size() int {
	n := len(k.body) + len(k.key.url) + 512
	for _, v := range k.header["Link"] {
		n += len(v)
	}
	return n
}
