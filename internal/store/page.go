package store

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"slipway.dev/slipway/internal/slipway"
)

const (
	// DefaultLimit is the length of a page for which no limit is given.
	DefaultLimit = 50
	// MaxLimit is the longest page; a longer one asked for is cut to it.
	MaxLimit = 500
)

// Page says which part of a list to read. The zero Page is the first one.
type Page struct {
	Limit int
	After string // Next of the page before; it means nothing to the reader
}

// List is one page of a list. Next is empty on the last page.
type List[T any] struct {
	Items []T
	Next  string
}

// Length is how many rows the page may have.
func (p Page) Length() int {
	switch {
	case p.Limit <= 0:
		return DefaultLimit
	case p.Limit > MaxLimit:
		return MaxLimit
	}
	return p.Limit
}

// more is the limit to query with: one row beyond the page tells whether another follows.
func (p Page) more() int { return p.Length() + 1 }

// list cuts the rows of a query with limit p.more() to the page. key is the sort key of an
// item, from which the next page starts: a key and not an offset, so that rows that come
// or go meanwhile neither repeat nor hide others.
func list[T any](p Page, rows []T, key func(T) []string) List[T] {
	if len(rows) <= p.Length() {
		return List[T]{Items: rows}
	}
	rows = rows[:p.Length()]
	b, _ := json.Marshal(key(rows[len(rows)-1])) // strings always encode
	return List[T]{Items: rows, Next: base64.RawURLEncoding.EncodeToString(b)}
}

// after decodes the cursor into n parts; ok is false for the first page.
func (p Page) after(n int) (parts []string, ok bool, err error) {
	if p.After == "" {
		return make([]string, n), false, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(p.After)
	if err == nil {
		err = json.Unmarshal(b, &parts)
	}
	if err != nil || len(parts) != n {
		return nil, false, badCursor()
	}
	return parts, true, nil
}

// afterID decodes a cursor of one ID. 0 is the first page.
func (p Page) afterID() (int64, error) {
	parts, ok, err := p.after(1)
	if err != nil || !ok {
		return 0, err
	}
	return parseID(parts[0])
}

func parseID(s string) (int64, error) {
	id, err := strconv.ParseInt(s, 10, 64)
	if err != nil || id <= 0 {
		return 0, badCursor()
	}
	return id, nil
}

func badCursor() error {
	return slipway.Errorf(slipway.Invalid, "the cursor is not one that a list returned").
		WithHint("start again without a cursor")
}

func formatID(id int64) string { return strconv.FormatInt(id, 10) }

func idKey(id int64) []string { return []string{formatID(id)} }
