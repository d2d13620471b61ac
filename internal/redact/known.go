package redact

import "strings"

type matcher struct{ r *strings.Replacer }

func newMatcher(values []string) matcher {
	var pairs []string
	for _, v := range values {
		if len(v) >= MinValue {
			pairs = append(pairs, v, Mark)
		}
	}
	return matcher{strings.NewReplacer(pairs...)}
}

func (m matcher) replace(s string) string {
	if m.r == nil {
		return s
	}
	return m.r.Replace(s)
}
