package joblog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/plaintext"
	"slipway.dev/slipway/internal/slipway"
)

// The tests here stand in the pure world; a forge is a text.

const sample = "\ufeff2026-12-01T12:00:00.1234567Z ##[group]Run tests\r\n" +
	"2026-12-01T12:00:01Z \x1b[36;1mgo test ./...\x1b[0m\n" +
	"no stamp here\n" +
	"2026-12-01T12:00:02Z ERROR: \x1b]0;title\aboom\n" +
	"2026-12-01T12:00:03Z\n" +
	"last without an end: Error"

func TestRead(t *testing.T) {
	t.Parallel()
	at := func(s int) time.Time { return time.Date(2026, 12, 1, 12, 0, s, 0, time.UTC) }
	all := []Line{
		{1, at(0).Add(123456700), "##[group]Run tests"},
		{2, at(1), "go test ./..."},
		{3, time.Time{}, "no stamp here"},
		{4, at(2), "ERROR: boom"},
		{5, at(3), ""},
		{6, time.Time{}, "last without an end: Error"},
	}
	for _, c := range []struct {
		name string
		q    Query
		want Log
	}{
		{"everything, without control sequences", Query{}, Log{Lines: all, Read: 6}},
		{"what is searched for, without regard to case and with the log's own numbers", Query{Search: "eRRor"}, Log{Lines: []Line{all[3], all[5]}, Read: 6}},
		{"a part, and where to go on", Query{Limit: 2}, Log{Lines: all[:2], Read: 3, Next: 2}},
		{"the next part", Query{Limit: 2, After: 2}, Log{Lines: all[2:4], Read: 5, Next: 4}},
		{"the last part has no next one", Query{Limit: 2, After: 4}, Log{Lines: all[4:], Read: 6}},
		{"a search in parts goes on behind the lines that it has looked at", Query{Search: "error", Limit: 1}, Log{Lines: []Line{all[3]}, Read: 6, Next: 5}},
		{"nothing is found", Query{Search: "nowhere"}, Log{Read: 6}},
		{"an escape sequence is not searched", Query{Search: "title"}, Log{Read: 6}},
		{"after the end", Query{After: 99}, Log{Read: 6}},
	} {
		got, err := Read(iotest.OneByteReader(strings.NewReader(sample)), c.q)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestReadIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20) + "\nnext\n"
	got, err := Read(strings.NewReader(long), Query{})
	if err != nil || len(got.Lines) != 2 || len(got.Lines[0].Text) > maxLine+10 || !strings.HasSuffix(got.Lines[0].Text, "…") || got.Lines[1].Text != "next" {
		t.Errorf("a line of a MiB: %d lines, %v", len(got.Lines), err)
	}
	many := strings.Repeat(strings.Repeat("y", 4000)+"\n", 4000)
	got, err = Read(strings.NewReader(many), Query{Limit: 1 << 30})
	if err != nil || len(got.Lines)*4000 > maxText || got.Next != len(got.Lines) {
		t.Errorf("16 MiB of lines: %d lines, next %d, %v", len(got.Lines), got.Next, err)
	}
	short := strings.Repeat("z\n", 20_000)
	if got, err = Read(strings.NewReader(short), Query{Limit: 1 << 30}); err != nil || len(got.Lines) != MaxLines {
		t.Errorf("20,000 lines at once: %d, %v", len(got.Lines), err)
	}
	// What lies behind the part is not fetched.
	rest := &counting{r: strings.NewReader(strings.Repeat("z\n", 1<<20))}
	if _, err = Read(rest, Query{Limit: 10}); err != nil || rest.n > 256<<10 {
		t.Errorf("for 10 lines %d bytes were read, %v", rest.n, err)
	}
}

type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += n
	return n, err
}

// forge is a source with one log.
type forge struct {
	log io.Reader
	err error
}

func (f forge) Steps(context.Context, slipway.RunnerPool, slipway.Job) ([]Step, error) {
	return nil, f.err
}

func (f forge) Log(context.Context, slipway.RunnerPool, slipway.Job, int64) (io.ReadCloser, error) {
	return io.NopCloser(f.log), f.err
}

func TestFetch(t *testing.T) {
	t.Parallel()
	tooLarge := fmt.Errorf("body: %w", slipway.Errorf(slipway.TooLarge, "the log is larger than 64 MiB"))
	for _, c := range []struct {
		name  string
		f     forge
		lines int
		cut   bool
		err   string
	}{
		{"all is well", forge{log: strings.NewReader("a\nb\n")}, 2, false, ""},
		{"a log that is too large is cut, and says so", forge{log: io.MultiReader(strings.NewReader("a\nb\n"), iotest.ErrReader(tooLarge))}, 2, true, ""},
		{"the connection breaks", forge{log: io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(errors.New("reset")))}, 0, false, "read the log of job 7: reset"},
		{"the forge has none", forge{err: slipway.Errorf(slipway.NotFound, "there is no log yet")}, 0, false, "fetch the log of job 7: there is no log yet"},
	} {
		got, err := Fetch(t.Context(), c.f, slipway.RunnerPool{}, slipway.Job{ID: 7}, Query{})
		if len(got.Lines) != c.lines || got.Cut != c.cut {
			t.Errorf("%s: %+v", c.name, got)
		}
		if c.err == "" && err != nil || c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
	}
}

func TestALineThatWritesOverItselfStaysOne(t *testing.T) {
	t.Parallel()
	got, err := Read(strings.NewReader("10%\r20%\r\x1b[Kdone\r\nnext\n"), Query{})
	if want := []Line{{Number: 1, Text: "10% 20% done"}, {Number: 2, Text: "next"}}; err != nil || !cmp.Equal(got.Lines, want) {
		t.Errorf("%+v, %v, want %+v", got.Lines, err, want)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sample, "error", 2)
	f.Fuzz(func(t *testing.T, text, search string, limit int) {
		l, err := Read(strings.NewReader(text), Query{Search: search, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range l.Lines {
			if strings.ContainsFunc(line.Text, plaintext.IsControl) || strings.Contains(line.Text, "\n") || i > 0 && line.Number <= l.Lines[i-1].Number {
				t.Errorf("line %+v", line)
			}
		}
	})
}
