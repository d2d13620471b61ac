package spec

import (
	"bytes"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Aside is what an application.toml says beside its spec. Whoever writes the file anew from
// the spec loses it.
type Aside struct {
	Comments bool
	Keys     []string // the paths of those that begin with x- and belong to nobody
}

// AsideOf reads it of a file that ParseApplication takes.
func AsideOf(src []byte, file string) (Aside, error) {
	root, err := applicationNodes(src, file)
	if err != nil {
		return Aside{}, err
	}
	r := &reader{file: file}
	r.application(root)
	return Aside{Comments: hasComments(src), Keys: r.skipped}, r.err(named(file))
}

// hasComments looks through a file that is known to be TOML.
func hasComments(src []byte) bool {
	p := unstable.Parser{KeepComments: true}
	p.Reset(bytes.TrimPrefix(src, byteOrderMark))
	for p.NextExpression() {
		if commented(p.Expression()) {
			return true
		}
	}
	return false
}

// commented looks at a node, what is in it and what follows it: the parser puts comments
// behind expressions, and among the values of lists and of inline tables.
func commented(n *unstable.Node) bool {
	for ; n.Valid(); n = n.Next() {
		if n.Kind == unstable.Comment || commented(n.Child()) {
			return true
		}
	}
	return false
}
