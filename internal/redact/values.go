package redact

import "strings"

// values reads the values of pairs. It remembers where the last one ended: in a text like
// token:token:token: each value is the rest of the one before, and reading all of them
// anew would take the square of the length.
type values struct {
	s        string
	from, to int // of the last value without quotes
}

// at returns the value that starts at i: to its quote, or to what ends a word.
func (v *values) at(i int) span {
	if i > 0 && (v.s[i-1] == '"' || v.s[i-1] == '\'') {
		return v.quoted(i, v.s[i-1])
	}
	if strings.HasPrefix(v.s[i:], Mark) {
		return span{i, i + len(Mark)}
	}
	if i < v.from || i >= v.to {
		to := i
		for to < len(v.s) && strings.IndexByte(" \t\r\n\"'&<>`", v.s[to]) < 0 {
			to++
		}
		v.from, v.to = i, to
	}
	to := v.to
	for to > i && strings.IndexByte(",;:)]}\\", v.s[to-1]) >= 0 {
		to-- // they close what the pair stands in
	}
	return span{i, to}
}

// quoted reads to the closing quote, or to the end of the line.
func (v *values) quoted(i int, quote byte) span {
	s := v.s
	escaped := i > 1 && s[i-2] == '\\' // JSON in JSON: the quotes are escaped, and so is the last
	to := i
	for ; to < len(s) && s[to] != '\n'; to++ {
		switch {
		case s[to] == '\\' && !escaped:
			to++
		case s[to] == quote && quote == '\'' && to > i && strings.HasPrefix(s[to:], "''") && !strings.HasPrefix(s[to+2:], "'"):
			to++ // YAML's way to write the quote itself
		case s[to] == quote:
			for escaped && to > i && s[to-1] == '\\' {
				to--
			}
			return span{i, to}
		}
	}
	return span{i, min(to, len(s))}
}

// endsLine says whether what ends at i is the last of its line, but for what closes a pair.
func endsLine(s string, i int) bool {
	for at := i; at < len(s) && at < i+maxKey; at++ {
		switch s[at] {
		case ' ', '\t', ',', ';', ')', '}', ']', '\r':
		case '\n':
			return true
		default:
			return s[at-1] == ',' || s[at-1] == ';'
		}
	}
	return true
}
