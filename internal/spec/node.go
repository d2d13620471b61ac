package spec

import (
	"bytes"
	"encoding/json"
	"math"
	"sort"
	"unicode/utf8"
)

// shape is what a value of a file is, in the words in which errors name it.
type shape string

const (
	tableShape  shape = "a table"
	listShape   shape = "a list"
	textShape   shape = "text"
	wholeShape  shape = "a whole number"
	numberShape shape = "a number"
	boolShape   shape = "true or false"
	nullShape   shape = "nothing"
	dateShape   shape = "a date or time"
)

// node is one value of a file with its place. TOML and YAML both become nodes, so that
// one set of checks speaks about both.
type node struct {
	shape shape
	value any    // string, int64, float64 or bool; of a date its text
	raw   string // a scalar as it was written
	pos   pos
	keys  []entry // of a table, in the order of the file
	list  []*node
}

type entry struct {
	key   string
	pos   pos
	value *node
}

// pos is a place in a file, from 1. The zero pos is nowhere.
type pos struct{ line, column int }

// get returns the value of a key of a table, or nil.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, e := range n.keys {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

// whole is the value of a node that is a whole number.
func (n *node) whole() int64 {
	v, _ := n.value.(int64)
	return v
}

// text is the value of a node that is a text.
func (n *node) text() string {
	if n == nil {
		return ""
	}
	v, _ := n.value.(string)
	return v
}

// table is plain for a node that is a table.
func (n *node) table() map[string]any {
	m := make(map[string]any, len(n.keys))
	for _, e := range n.keys {
		m[e.key] = e.value.plain()
	}
	return m
}

// plain turns the node into what encoding/json would have made of it, but with whole
// numbers as int64. Repeated keys have been refused before.
func (n *node) plain() any {
	switch n.shape {
	case tableShape:
		return n.table()
	case listShape:
		l := make([]any, len(n.list))
		for i, v := range n.list {
			l[i] = v.plain()
		}
		return l
	case nullShape:
		return nil
	}
	return normalNumbers(n.value)
}

// exactWhole bounds the whole numbers that a float64 can hold exactly.
const exactWhole = 1 << 53

// normalNumbers gives every number of v one form: int64 when it is whole, else float64.
// JSON does not tell 2 from 2.0, and a spec goes through JSON before it is compared.
func normalNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = normalNumbers(e)
		}
	case []any:
		for i, e := range v {
			v[i] = normalNumbers(e)
		}
	case int:
		return int64(v)
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
		return float64(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < exactWhole {
			return int64(v)
		}
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, err := v.Float64()
		if err != nil {
			return v.String() // a number beyond float64 stays as it was written
		}
		return normalNumbers(f)
	}
	return v
}

// normalTable is normalNumbers for a table.
func normalTable(m map[string]any) map[string]any {
	for k, v := range m {
		m[k] = normalNumbers(v)
	}
	return m
}

// marshal writes v as JSON with sorted keys and without HTML's escapes.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// lineIndex finds lines and columns from byte offsets.
type lineIndex struct {
	src    []byte
	starts []int
}

func indexLines(src []byte) lineIndex {
	starts := []int{0}
	for i, c := range src {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return lineIndex{src, starts}
}

// at returns the place of an offset; columns count characters, as editors do.
func (x lineIndex) at(offset int) pos {
	offset = min(max(offset, 0), len(x.src))
	line := sort.SearchInts(x.starts, offset+1) - 1
	return pos{line + 1, utf8.RuneCount(x.src[x.starts[line]:offset]) + 1}
}
