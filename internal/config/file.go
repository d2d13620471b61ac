package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxFile bounds the configuration file, which is a few hundred lines at most.
const maxFile = 1 << 20

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(src) > maxFile {
		err = fmt.Errorf("it is larger than %s", Bytes(maxFile))
	}
	return src, err
}

// applyFile sets what the file says. It walks the syntax tree rather than decoding into
// the struct, because a decoder stops at the first wrong type and loses where the others
// stand, and the checks that come later need each key's place too.
func (l *loader) applyFile(path string, src []byte) {
	var whole map[string]any
	if err := toml.Unmarshal(src, &whole); err != nil {
		var d *toml.DecodeError
		at := Origin{Name: path}
		msg := err.Error()
		if errors.As(err, &d) {
			at.Line, at.Column = d.Position()
			msg = strings.TrimPrefix(d.Error(), "toml: ")
		}
		l.fault(Fault{Origin: at, Msg: "this is not TOML: " + msg})
		return
	}
	p := unstable.Parser{}
	p.Reset(src)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			name, at := l.dotted(path, src, &p, e.Key())
			table = name + "."
			if e.Kind == unstable.ArrayTable {
				l.fault(Fault{Key: name, Origin: at, Msg: "it is a table, not a list of tables", Hint: "write [" + name + "]"})
			} else if !l.isTable(name) {
				l.unknownTable(name, at)
			}
		case unstable.KeyValue:
			name, at := l.dotted(path, src, &p, e.Key())
			l.applyNode(path, src, &p, table+name, at, e.Value(), table != "")
		}
	}
}

// dotted joins the parts of a key and finds its place.
func (l *loader) dotted(path string, src []byte, p *unstable.Parser, it unstable.Iterator) (string, Origin) {
	var parts []string
	at := Origin{Name: path}
	for it.Next() {
		n := it.Node()
		if len(parts) == 0 {
			at.Line, at.Column = place(src, p, n)
		}
		parts = append(parts, string(n.Data))
	}
	return strings.Join(parts, "."), at
}

func place(src []byte, p *unstable.Parser, n *unstable.Node) (line, column int) {
	offset := int(n.Raw.Offset)
	if n.Raw.Length == 0 {
		offset = int(p.Range(n.Data).Offset)
	}
	before := src[:offset]
	return bytes.Count(before, []byte("\n")) + 1, offset - bytes.LastIndexByte(before, '\n')
}

func (l *loader) applyNode(path string, src []byte, p *unstable.Parser, name string, at Origin, v *unstable.Node, inTable bool) {
	if v.Kind == unstable.InlineTable {
		if !l.isTable(name) {
			l.unknownTable(name, at)
			return
		}
		for it := v.Children(); it.Next(); {
			sub, subAt := l.dotted(path, src, p, it.Node().Key())
			l.applyNode(path, src, p, name+"."+sub, subAt, it.Node().Value(), true)
		}
		return
	}
	k, ok := l.byName[name]
	if !ok {
		if i := strings.LastIndexByte(name, '.'); i > 0 && !l.isTable(name[:i]) && inTable {
			return // its table was refused already
		}
		l.unknownKey(name, at)
		return
	}
	text, want, ok := nodeText(k, v)
	if !ok {
		l.fault(Fault{Key: name, Origin: at, Msg: "this is " + inWords[v.Kind] + "; it must be " + want})
		return
	}
	l.set(k, text, at)
}

var inWords = map[unstable.Kind]string{
	unstable.String: "a text", unstable.Bool: "true or false", unstable.Float: "a number with a fraction",
	unstable.Integer: "a whole number", unstable.Array: "a list", unstable.InlineTable: "a table",
	unstable.LocalDate: "a date", unstable.LocalTime: "a time", unstable.LocalDateTime: "a date", unstable.DateTime: "a date",
}

// nodeText writes a value as the environment would have it, when it has the key's type.
func nodeText(k Key, v *unstable.Node) (text, want string, ok bool) {
	var c Config
	switch k.field(&c).Interface().(type) {
	case bool:
		return string(v.Data), "true or false", v.Kind == unstable.Bool
	case int64:
		return strings.ReplaceAll(string(v.Data), "_", ""), "a whole number", v.Kind == unstable.Integer
	case Bytes:
		return strings.ReplaceAll(string(v.Data), "_", ""), `a size, such as 1048576 or "10MiB"`, v.Kind == unstable.Integer || v.Kind == unstable.String
	case []string:
		want = `a list of texts, such as ["10.0.0.0/8"]`
		if v.Kind != unstable.Array {
			return "", want, false
		}
		var parts []string
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			if it.Node().Kind != unstable.String || bytes.ContainsRune(it.Node().Data, ',') {
				return "", want, false
			}
			parts = append(parts, string(it.Node().Data))
		}
		return strings.Join(parts, ","), want, true
	case Duration:
		return string(v.Data), `a length of time in quotes, such as "30s"`, v.Kind == unstable.String
	default:
		return string(v.Data), "a text in quotes", v.Kind == unstable.String
	}
}
