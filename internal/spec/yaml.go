package spec

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"slipway.dev/slipway/internal/slipway"
)

const (
	maxYAMLDepth = 100
	maxYAMLNodes = 200_000 // with what aliases repeat: a few lines can mean billions
)

// parseYAML reads a YAML file into nodes: one document, with anchors and merge keys, and
// without tags. An empty file gives nil.
func parseYAML(src []byte, file string) (root *node, faults []slipway.FieldError) {
	r := &reader{file: file}
	src = bytes.TrimPrefix(src, byteOrderMark)
	if at, deep := tooDeep(src); deep {
		r.fault(at, "", "", "is nested more than %d levels deep", maxYAMLDepth)
		return nil, r.faults
	}
	defer func() {
		// The parser's own tests are good but it is not built for hostile input. What it
		// stumbles over is no YAML that anybody meant.
		if recover() != nil {
			r.fault(pos{}, "", "", "is no YAML that can be read")
			root, faults = nil, r.faults
		}
	}()
	doc, err := parser.ParseBytes(src, 0, parser.AllowDuplicateMapKey()) // they are found below, all of them
	if err != nil {
		return nil, []slipway.FieldError{yamlFault(err, file)}
	}
	y := &yamlReader{r: r, anchors: map[string]ast.Node{}, left: maxYAMLNodes}
	for _, d := range doc.Docs {
		if d.Body == nil {
			continue
		}
		if root != nil {
			r.fault(place(d.Body.GetToken()), "", "remove the line --- and what follows", "has more than one document")
			break
		}
		root = y.node(d.Body, "", 0)
	}
	return root, r.faults
}

func yamlFault(err error, file string) slipway.FieldError {
	f := slipway.FieldError{File: file, Msg: "is no YAML that can be read"}
	var e yaml.Error
	if errors.As(err, &e) {
		f.Msg = e.GetMessage()
		if p := place(e.GetToken()); p.line > 0 {
			f.Line, f.Column = p.line, p.column
		}
	}
	if strings.Contains(f.Msg, "mapping value is not allowed") {
		f.Hint = `put text that holds ": " in quotes`
	}
	return f
}

func place(t *token.Token) pos {
	if t == nil || t.Position == nil {
		return pos{}
	}
	return pos{t.Position.Line, t.Position.Column}
}

// tooDeep counts brackets and leading dashes. The parser recurses once for each and has
// no bound of its own.
func tooDeep(src []byte) (pos, bool) {
	depth := 0
	for i, line := range strings.Split(string(src), "\n") {
		for j, c := range line {
			switch c {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(depth-1, 0)
			}
			if depth > maxYAMLDepth {
				return pos{i + 1, j + 1}, true
			}
		}
		if fields := strings.Fields(line); len(fields) > maxYAMLDepth {
			n := 0
			for n < len(fields) && strings.ContainsAny(fields[n][:1], "-?!&") {
				n++
			}
			if n > maxYAMLDepth {
				return pos{i + 1, 1}, true
			}
		}
	}
	return pos{}, false
}

type yamlReader struct {
	r       *reader
	anchors map[string]ast.Node
	left    int
	full    bool
}

// node turns one node of the parser into ours. It returns a null node for what it had to
// refuse, so that reading goes on.
func (y *yamlReader) node(n ast.Node, path string, depth int) *node {
	out := &node{shape: nullShape, pos: place(n.GetToken())}
	if y.left--; y.left < 0 || depth > maxYAMLDepth {
		if !y.full {
			y.full = true
			y.r.fault(out.pos, path, "", "is too large once its aliases are filled in")
		}
		return out
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		name := n.Name.GetToken().Value
		out = y.node(n.Value, path, depth+1) // first, so that an anchor inside of itself is not found
		y.anchors[name] = n.Value
	case *ast.AliasNode:
		target, ok := y.anchors[n.Value.GetToken().Value]
		if !ok {
			y.r.fault(out.pos, path, "define it above with &"+n.Value.GetToken().Value, "refers to nothing: *%s", n.Value.GetToken().Value)
			return out
		}
		at := out.pos
		out = y.node(target, path, depth+1)
		out.pos = at
	case *ast.TagNode:
		y.r.fault(out.pos, path, "remove the tag", "has a tag: %s", n.GetToken().Value)
	case *ast.MappingNode:
		y.table(out, n.Values, path, depth)
	case *ast.MappingValueNode:
		y.table(out, []*ast.MappingValueNode{n}, path, depth)
	case *ast.SequenceNode:
		out.shape = listShape
		for i, v := range n.Values {
			out.list = append(out.list, y.node(v, item(path, i), depth+1))
		}
	default:
		y.scalar(out, n)
	}
	return out
}

func (y *yamlReader) scalar(out *node, n ast.Node) {
	out.raw = n.GetToken().Value
	switch n := n.(type) {
	case *ast.StringNode:
		out.shape, out.value = textShape, n.Value
		if n.Token.Type != token.StringType {
			out.raw = "" // quoted: it cannot be meant as anything else
		}
	case *ast.LiteralNode:
		out.shape, out.value, out.raw = textShape, n.Value.Value, ""
	case *ast.BoolNode:
		out.shape, out.value = boolShape, n.Value
	case *ast.IntegerNode:
		switch v := normalNumbers(n.Value).(type) {
		case int64:
			out.shape, out.value = wholeShape, v
		default:
			out.shape, out.value = numberShape, v
		}
	case *ast.FloatNode:
		out.shape, out.value = numberShape, n.Value
	case *ast.InfinityNode:
		out.shape, out.value = numberShape, n.Value
	case *ast.NanNode:
		out.shape, out.value = numberShape, math.NaN()
	}
}

// table reads a mapping with its merge keys; a key of its own wins over a merged one.
func (y *yamlReader) table(out *node, values []*ast.MappingValueNode, path string, depth int) {
	out.shape = tableShape
	if len(values) > 0 {
		out.pos = place(values[0].Key.GetToken())
	}
	seen := make(map[string]pos, len(values))
	var merged []entry
	for _, v := range values {
		at := place(v.Key.GetToken())
		if v.Key.IsMergeKey() {
			merged = append(merged, y.merge(y.node(v.Value, path, depth+1), path)...)
			continue
		}
		key, ok := keyText(v.Key)
		if !ok {
			y.r.fault(at, path, "write the key as plain text", "has a key that is no text")
			continue
		}
		if first, twice := seen[key]; twice {
			y.r.fault(at, join(path, key), fmt.Sprintf("the first is in line %d; keep one", first.line), "is there twice")
			continue
		}
		seen[key] = at
		out.keys = append(out.keys, entry{key, at, y.node(v.Value, join(path, key), depth+1)})
	}
	for _, e := range merged {
		if _, own := seen[e.key]; !own {
			seen[e.key] = e.pos
			out.keys = append(out.keys, e)
		}
	}
}

// merge returns the entries that a merge key brings in.
func (y *yamlReader) merge(n *node, path string) []entry {
	if n.shape == tableShape {
		return n.keys
	}
	var out []entry
	for _, part := range n.list {
		if part.shape == tableShape {
			out = append(out, part.keys...)
			continue
		}
		y.r.fault(part.pos, path, "", "merges %s; only tables can be merged", part.shape)
	}
	if n.shape != listShape {
		y.r.fault(n.pos, path, "", "merges %s; only tables can be merged", n.shape)
	}
	return out
}

// keyText returns the text of a plain key.
func keyText(k ast.MapKeyNode) (string, bool) {
	switch k := k.(type) {
	case *ast.StringNode:
		return k.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode:
		return k.GetToken().Value, true
	}
	return "", false
}
