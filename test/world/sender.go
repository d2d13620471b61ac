package world

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Sender signs and sends deliveries of queued jobs, of 8 KB, as GitHub does. It takes as
// little of the processor as it can, because it shares the machine with what is measured:
// the request is written as bytes, and what all bodies begin with is hashed once.
type Sender struct {
	address, path, host string
	before, after       []byte // of the job's ID in the body
	begun               hash.Cloner
}

// NewSender makes a sender to a webhook's URL, of jobs that an owner has.
func NewSender(t testing.TB, webhook, secret, owner string) *Sender {
	t.Helper()
	at, err := url.Parse(webhook)
	if err != nil || at.Scheme != "http" {
		t.Fatalf("the webhook's URL is %q; this sender speaks plain HTTP: %v", webhook, err)
	}
	body := ReadFile(t, filepath.Join(Root, "internal", "webhook", "testdata", "queued.json"))
	body = strings.Replace(body, `"login":"octo-org"`, fmt.Sprintf(`"login":%q`, owner), 1)
	body = strings.Replace(body, "2026-01-01T00:00:00Z", time.Now().UTC().Format(time.RFC3339), 1)
	before, after, ok := strings.Cut(body, "424242424242")
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = io.WriteString(mac, before) // a hash takes everything
	begun, clones := mac.(hash.Cloner)
	if !ok || !clones {
		t.Fatal("the example of a delivery has no place for a job, or Go's HMAC cannot be cloned")
	}
	return &Sender{address: at.Host, host: at.Host, path: at.Path, before: []byte(before), after: []byte(after), begun: begun}
}

// GUID is that of the delivery of a job. It spreads as GitHub's do, for that is what an
// index pays for.
func GUID(job int64) string {
	n := uint64(job)
	x := fmt.Sprintf("%016x%016x", n*0x9E3779B97F4A7C15, n)
	return strings.Join([]string{x[:8], x[8:12], x[12:16], x[16:20], x[20:]}, "-")
}

// Line is one connection of a sender, and belongs to one goroutine.
type Line struct {
	sender *Sender
	conn   net.Conn
	answer *bufio.Reader
	out    bytes.Buffer
}

// Dial opens a line.
func (s *Sender) Dial() (*Line, error) {
	conn, err := net.DialTimeout("tcp", s.address, 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("reach the webhook: %w", err)
	}
	return &Line{sender: s, conn: conn, answer: bufio.NewReaderSize(conn, 1<<10)}, nil
}

// Close closes the line.
func (l *Line) Close() error { return l.conn.Close() }

// Send delivers that a job is queued, and returns the status and text of the answer. After
// an error the line is of no more use, and what became of the delivery is not known.
func (l *Line) Send(job int64) (status int, text string, err error) {
	s, id := l.sender, strconv.AppendInt(nil, job, 10)
	clone, err := s.begun.Clone()
	if err != nil {
		return 0, "", fmt.Errorf("sign a delivery: %w", err)
	}
	_, _ = clone.Write(id) // a hash takes everything
	_, _ = clone.Write(s.after)
	l.out.Reset()
	fmt.Fprintf(&l.out, "POST %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: GitHub-Hookshot/0000000\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"+
		"X-GitHub-Event: workflow_job\r\nX-GitHub-Hook-ID: 1\r\nX-GitHub-Delivery: %s\r\nX-Hub-Signature-256: sha256=%x\r\n\r\n",
		s.path, s.host, len(s.before)+len(id)+len(s.after), GUID(job), clone.Sum(nil))
	l.out.Write(s.before)
	l.out.Write(id)
	l.out.Write(s.after)
	if err := l.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		return 0, "", fmt.Errorf("bound a delivery: %w", err)
	}
	if _, err := l.conn.Write(l.out.Bytes()); err != nil {
		return 0, "", fmt.Errorf("send a delivery: %w", err)
	}
	return l.read()
}

// read reads one answer, which always says how long it is.
func (l *Line) read() (status int, text string, err error) {
	length := -1
	for first := true; ; first = false {
		line, err := l.answer.ReadSlice('\n')
		if err != nil {
			return 0, "", fmt.Errorf("read the answer to a delivery: %w", err)
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case first:
			if len(line) < 12 {
				return 0, "", fmt.Errorf("a delivery was answered %q", line)
			}
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, "", fmt.Errorf("a delivery was answered %q: %w", line, err)
			}
		case len(line) == 0:
			if length < 0 || length > 1<<10 {
				return 0, "", fmt.Errorf("the answer to a delivery has a length of %d", length)
			}
			body := make([]byte, length)
			if _, err := io.ReadFull(l.answer, body); err != nil {
				return 0, "", fmt.Errorf("read the answer to a delivery: %w", err)
			}
			return status, string(body), nil
		default:
			if name, value, ok := bytes.Cut(line, []byte(": ")); ok && bytes.EqualFold(name, []byte("Content-Length")) {
				if length, err = strconv.Atoi(string(value)); err != nil {
					return 0, "", fmt.Errorf("the answer to a delivery has a length of %q: %w", value, err)
				}
			}
		}
	}
}
