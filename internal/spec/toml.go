package spec

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"slipway.dev/slipway/internal/slipway"
)

var byteOrderMark = []byte("\ufeff")

// parseTOML reads a TOML file into nodes. A file that is no TOML gives one fault, at the
// place where reading it stopped.
func parseTOML(src []byte, file string) (*node, []slipway.FieldError) {
	// Some editors begin a file with a byte order mark. It says nothing in UTF-8, and no
	// editor counts it as a column.
	src = bytes.TrimPrefix(src, byteOrderMark)
	var whole map[string]any
	if err := toml.Unmarshal(src, &whole); err != nil { // finds what the parser alone does not: tables and keys defined twice
		return nil, []slipway.FieldError{tomlFault(err, file)}
	}
	t := &tomlReader{lines: indexLines(src), root: &node{shape: tableShape, pos: pos{1, 1}}}
	t.parser.Reset(src)
	at := t.root
	for t.parser.NextExpression() {
		switch e := t.parser.Expression(); e.Kind {
		case unstable.Table:
			at = t.open(t.root, e.Key(), false)
		case unstable.ArrayTable:
			at = t.open(t.root, e.Key(), true)
		case unstable.KeyValue:
			t.set(at, e)
		}
	}
	if err := t.parser.Error(); err != nil {
		return nil, []slipway.FieldError{tomlFault(err, file)}
	}
	return t.root, nil
}

func tomlFault(err error, file string) slipway.FieldError {
	f := slipway.FieldError{File: file, Msg: strings.TrimPrefix(err.Error(), "toml: ")}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		f.Line, f.Column = decode.Position()
		f.Path = strings.Join(decode.Key(), ".")
	}
	if strings.Contains(f.Msg, "start of value") {
		f.Hint = `put text in quotes: "…"`
	}
	return f
}

type tomlReader struct {
	parser unstable.Parser
	lines  lineIndex
	root   *node
}

func (t *tomlReader) place(n *unstable.Node) pos { return t.lines.at(int(n.Raw.Offset)) }

// open walks to the table that a header or a dotted key names, and makes what is missing.
func (t *tomlReader) open(at *node, keys unstable.Iterator, array bool) *node {
	for keys.Next() {
		k := keys.Node()
		next := at.get(string(k.Data))
		switch {
		case keys.IsLast() && array:
			if next == nil {
				next = t.add(at, k, listShape)
			}
			next.list = append(next.list, &node{shape: tableShape, pos: t.place(k)})
		case next == nil:
			next = t.add(at, k, tableShape)
		}
		if next.shape == listShape && len(next.list) > 0 {
			next = next.list[len(next.list)-1] // a header below [[x]] means the newest x
		}
		at = next
	}
	return at
}

func (t *tomlReader) add(at *node, k *unstable.Node, s shape) *node {
	n := &node{shape: s, pos: t.place(k)}
	at.keys = append(at.keys, entry{string(k.Data), t.place(k), n})
	return n
}

// set puts a key and its value into a table; a dotted key makes tables on its way.
func (t *tomlReader) set(at *node, e *unstable.Node) {
	keys := e.Key()
	for keys.Next() {
		k := keys.Node()
		if keys.IsLast() {
			at.keys = append(at.keys, entry{string(k.Data), t.place(k), t.value(e.Value(), t.place(k))})
			return
		}
		next := at.get(string(k.Data))
		if next == nil {
			next = t.add(at, k, tableShape)
		}
		at = next
	}
}

// value reads one value. The parser keeps no place for a list, which then has its key's.
func (t *tomlReader) value(v *unstable.Node, fallback pos) *node {
	n := &node{pos: fallback, raw: string(v.Data)}
	if v.Raw.Length > 0 {
		n.pos = t.place(v)
	}
	switch v.Kind {
	case unstable.Array:
		n.shape = listShape
		for c := v.Children(); c.Next(); {
			n.list = append(n.list, t.value(c.Node(), n.pos))
		}
	case unstable.InlineTable:
		n.shape = tableShape
		for c := v.Children(); c.Next(); {
			t.set(n, c.Node())
		}
	case unstable.String:
		n.shape, n.value = textShape, string(v.Data)
	case unstable.Bool:
		n.shape, n.value = boolShape, string(v.Data) == "true"
	case unstable.Integer:
		n.shape = wholeShape
		// Unmarshal has read every number already, so this one is good.
		n.value, _ = strconv.ParseInt(tomlInteger(n.raw), 0, 64)
	case unstable.Float:
		n.shape = numberShape
		n.value, _ = strconv.ParseFloat(strings.ReplaceAll(n.raw, "_", ""), 64)
	default:
		n.shape, n.value = dateShape, n.raw
	}
	return n
}

// tomlInteger makes a TOML integer one that strconv reads: no sign of plus, and no
// leading zero that would mean octal (TOML allows none but in 0 itself).
func tomlInteger(raw string) string {
	return strings.TrimPrefix(strings.ReplaceAll(raw, "_", ""), "+")
}
