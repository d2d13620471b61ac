// Package joblog reads the log of a forge's job as people do: as plain text, in numbered
// lines, searched, a part at a time.
//
// A log is fetched from the forge each time that it is asked for, and is never stored: it
// is the forge's, who masks secrets in it and decides who may read it. The package reads a
// bounded number of bytes, keeps a bounded number of them, and never lets a control
// sequence through. It must not be given a log of a job that no pool of the reader serves.
package joblog

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"slipway.dev/slipway/internal/plaintext"
	"slipway.dev/slipway/internal/slipway"
)

// Source reads jobs at their forge, with the jobs' credential of a pool.
type Source interface {
	// Steps returns the steps of a job as the forge tells them now.
	Steps(ctx context.Context, p slipway.RunnerPool, j slipway.Job) ([]Step, error)
	// Log returns the log of a job that has ended, and NotFound while it runs and when the
	// forge has removed it. Reading fails with TooLarge after limit bytes.
	Log(ctx context.Context, p slipway.RunnerPool, j slipway.Job, limit int64) (io.ReadCloser, error)
}

// Step is one step of a job.
type Step struct {
	Number     int64
	Name       string
	Status     string
	Conclusion string
	StartedAt  time.Time
	EndedAt    time.Time
}

const (
	// MaxBytes is how much of a log is read.
	MaxBytes = 64 << 20
	// DefaultLines and MaxLines bound one answer in lines, maxText in bytes of text.
	DefaultLines, MaxLines = 1000, 5000
	maxText                = 2 << 20
	// maxLine is how much of one line is kept.
	maxLine = 8 << 10
)

// Query says which lines of a log are wanted.
type Query struct {
	Search string // only lines with this in them, without regard to case; empty: all
	After  int    // only lines after this one
	Limit  int    // at most so many; 0: DefaultLines
}

// Log is a part of a log.
type Log struct {
	Lines []Line
	Read  int  // how many lines were looked at, from the start of the log
	Next  int  // give it as After to go on; 0: nothing more is there
	Cut   bool // the log is longer than MaxBytes, and its end was not read
}

// Line is one line of a log.
type Line struct {
	Number int // from 1
	At     time.Time
	Text   string
}

// Fetch reads a part of the log of a job at its forge.
func Fetch(ctx context.Context, s Source, p slipway.RunnerPool, j slipway.Job, q Query) (Log, error) {
	r, err := s.Log(ctx, p, j, MaxBytes)
	if err != nil {
		return Log{}, fmt.Errorf("fetch the log of job %d: %w", j.ID, err)
	}
	defer func() { _ = r.Close() }() // everything that was wanted has been read
	l, err := Read(r, q)
	if err != nil {
		return Log{}, fmt.Errorf("read the log of job %d: %w", j.ID, err)
	}
	return l, nil
}

// Read reads a part of a log. It reads on to the first line beyond the part, and no
// further.
func Read(r io.Reader, q Query) (l Log, err error) {
	limit := q.Limit
	if limit <= 0 {
		limit = DefaultLines
	}
	limit = min(limit, MaxLines)
	search, size := strings.ToLower(q.Search), 0
	in := bufio.NewReaderSize(r, 64<<10)
	for number := 1; ; number++ {
		raw, err := line(in)
		if errors.Is(err, io.EOF) {
			return l, nil
		}
		if slipway.Is(err, slipway.TooLarge) {
			l.Cut = true
			return l, nil
		}
		if err != nil {
			return Log{}, err
		}
		l.Read = number
		if number <= q.After {
			continue
		}
		at, text := stamp(raw)
		text = strings.ReplaceAll(plaintext.Of(text), "\n", " ") // what wrote over itself stays one line
		if search != "" && !strings.Contains(strings.ToLower(text), search) {
			continue
		}
		if len(l.Lines) == limit || size+len(text) > maxText {
			l.Next = number - 1
			return l, nil
		}
		size += len(text)
		l.Lines = append(l.Lines, Line{Number: number, At: at, Text: text})
	}
}

// line reads one line without its end, of which no more than maxLine is kept. The end of
// the log is io.EOF.
func line(in *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		part, more, err := in.ReadLine()
		if err != nil && (b.Len() == 0 || !errors.Is(err, io.EOF)) {
			return "", err
		}
		if room := maxLine - b.Len(); room > 0 {
			b.Write(part[:min(len(part), room)])
			if len(part) > room {
				b.WriteString(" …")
			}
		}
		if !more {
			return b.String(), nil
		}
	}
}

// stamp takes off the time that a forge writes before each line.
func stamp(raw string) (time.Time, string) {
	raw = strings.TrimPrefix(raw, "\ufeff")
	first, rest, _ := strings.Cut(raw, " ")
	if len(first) < len("2006-01-02T15:04:05Z") || !utf8.ValidString(first) {
		return time.Time{}, raw
	}
	at, err := time.Parse(time.RFC3339Nano, first)
	if err != nil {
		return time.Time{}, raw
	}
	return at.UTC(), rest
}
