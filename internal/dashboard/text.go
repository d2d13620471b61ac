package dashboard

import (
	"bytes"
	"encoding/json"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"slipway.dev/slipway/internal/plaintext"
	"slipway.dev/slipway/internal/view"
)

// Limits of what one page shows of long text. The whole of it is one link away.
const (
	pageOutput = 64 << 10 // bytes of all outputs on a task's page, as HTML
	maxValue   = 500      // characters of one value of a spec
	maxLines   = 300      // lines of one table of differences
	maxJSON    = 4 << 10  // bytes of one JSON document of the audit or of a result
)

// plain frees text of what only a terminal understands.
func plain(s string) string { return plaintext.Of(s) }

func isControl(r rune) bool { return plaintext.IsControl(r) }

// sentence is plain text with a capital where a page wants one: errors and titles begin
// small, for they also stand inside other sentences. A name in quotes stays as it is.
func sentence(s string) string {
	s = plain(s)
	r, n := utf8.DecodeRuneInString(s)
	next, _ := utf8.DecodeRuneInString(s[n:])
	if !unicode.IsLower(r) || !unicode.IsLower(next) && next != ' ' {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// output is the part of a step's output that its task's page shows.
type output struct {
	Text string
	Cut  bool // the start of what was kept is not on the page
}

// outputs picks what a page shows of its steps' outputs, so that it stays small however
// many there are: the newest steps first, from each the end.
func outputs(steps []view.Step) map[int64]output {
	left := pageOutput
	out := map[int64]output{}
	for i := len(steps) - 1; i >= 0; i-- {
		if steps[i].Output == "" {
			continue
		}
		text := plain(steps[i].Output)
		shown := tail(text, left)
		left -= len(html.EscapeString(shown))
		out[steps[i].ID] = output{Text: shown, Cut: len(shown) < len(text)}
	}
	return out
}

// tail returns the last whole lines of text that take at most budget bytes as HTML.
func tail(text string, budget int) string {
	if len(html.EscapeString(text)) <= budget {
		return text
	}
	rest := strings.TrimSuffix(text, "\n")
	budget -= len(text) - len(rest)
	start := len(rest)
	for start > 0 {
		from := strings.LastIndexByte(rest[:start-1], '\n') + 1
		line := len(html.EscapeString(rest[from:start]))
		if line > budget {
			break
		}
		budget -= line
		start = from
	}
	if start == len(rest) {
		return "" // not one line fits
	}
	return text[start:]
}

// clip shortens one value for a table.
func clip(s string) string {
	s = plain(s)
	if utf8.RuneCountInString(s) <= maxValue {
		return s
	}
	return string([]rune(s)[:maxValue]) + " …"
}

func shownLines(lines []view.DiffLine) []view.DiffLine { return lines[:min(len(lines), maxLines)] }

// pretty indents a JSON document for people; what is none is shown as it is.
func pretty(doc []byte) string {
	var b bytes.Buffer
	s := string(doc)
	if json.Indent(&b, doc, "", "  ") == nil {
		s = b.String()
	}
	s = plain(s)
	if len(s) > maxJSON {
		cut := maxJSON
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		return s[:cut] + "\n…"
	}
	return s
}
