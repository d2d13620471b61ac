package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// minted is as long as a token of ours.
const minted = "slw_7Hq2ZbXyPmN4tRvKc1LsWd8FgJ5hUoE3aQiTnB6YxCk0pMz9V"

// corpusValues are secrets as people and machines make them.
var corpusValues = map[string]string{
	"a short word with a digit": "hunter",
	"a passphrase":              "correct horse battery",
	"a machine's":               "Zk7wQ2xLr9TnB4vYc1Hs",
	"awkward":                   password,
	"a token":                   minted,
	"of many alphabets":         "Größe-日本語-пароль",
	"with every bracket":        `a{b}[c](d)<e>"f"'g'`,
	"Base64 itself":             "c2VjcmV0LXZhbHVlLW9mLW1hbnk=",
	"hexadecimal itself":        "9f86d081884c7d659a2feaa0c55ad015",
	"an address":                "postgres://app:s3cr3t-pw@db.example.com:5432/app?sslmode=require",
	"long":                      strings.Repeat("Lq8vN3xR", 700),
	"of several lines":          "first-line-9f3c\nsecond line 4711\nthird:line/8+x",
	"a key":                     pem,
	"a JSON file":               "{\n  \"type\": \"service_account\",\n  \"private_key_id\": \"9f8e7d6c5b4a\"\n}",
}

// corpusForms are how programs write a value.
var corpusForms = map[string]func(string) string{
	"raw":                                func(v string) string { return v },
	"with Windows line ends":             func(v string) string { return strings.ReplaceAll(v, "\n", "\r\n") },
	"query-escaped":                      url.QueryEscape,
	"path-escaped":                       url.PathEscape,
	"path-escaped in lower case":         func(v string) string { return lowerEscapes(url.PathEscape(v)) },
	"every byte escaped":                 percent,
	"every byte escaped in capitals":     func(v string) string { return strings.ToUpper(percent(v)) },
	"JSON":                               func(v string) string { return jsonText(v, true) },
	"JSON without HTML's escapes":        func(v string) string { return jsonText(v, false) },
	"JSON in JSON":                       func(v string) string { return jsonText(jsonText(v, false), false) },
	"Go's and Python's escapes in ASCII": func(v string) string { q := fmt.Sprintf("%+q", v); return q[1 : len(q)-1] },
	"Python's repr":                      pythonRepr,
	"Python's repr of bytes":             bytesRepr,
	"a shell's quotes":                   func(v string) string { return strings.ReplaceAll(v, "'", `'\''`) },
	"hexadecimal":                        func(v string) string { return hex.EncodeToString([]byte(v)) },
	"hexadecimal in capitals":            func(v string) string { return strings.ToUpper(hex.EncodeToString([]byte(v))) },
	"Base64":                             func(v string) string { return base64.StdEncoding.EncodeToString([]byte(v)) },
	"Base64 for URLs":                    func(v string) string { return base64.URLEncoding.EncodeToString([]byte(v)) },
	"Base64 without padding":             func(v string) string { return base64.RawStdEncoding.EncodeToString([]byte(v)) },
	"Base64 in an URL":                   func(v string) string { return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(v))) },
	"Base64 in lines of 64":              func(v string) string { return wrap(base64.StdEncoding.EncodeToString([]byte(v)), 64, "\n") },
	"Base64 in lines of 76, indented":    func(v string) string { return wrap(base64.StdEncoding.EncodeToString([]byte(v)), 76, "\r\n    ") },
	"Base64 in short lines":              func(v string) string { return wrap(base64.StdEncoding.EncodeToString([]byte(v)), 9, "\n") },
	"Base64 in lines within a string":    func(v string) string { return wrap(base64.StdEncoding.EncodeToString([]byte(v)), 20, `\n`) },
}

func lowerEscapes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			b.WriteString(strings.ToLower(s[i : i+3]))
			i += 2
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func jsonText(v string, html bool) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	_ = e.Encode(v) // a text always encodes
	q := strings.TrimSuffix(b.String(), "\n")
	return q[1 : len(q)-1]
}

func pythonRepr(v string) string {
	return strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(v)
}

func bytesRepr(v string) string {
	var b strings.Builder
	for i := range len(v) {
		switch c := v[i]; {
		case c == '\\' || c == '\'':
			b.WriteString(`\` + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c < 0x20 || c >= 0x7f:
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func wrap(s string, width int, with string) string {
	var lines []string
	for len(s) > width {
		lines = append(lines, s[:width])
		s = s[width:]
	}
	return strings.Join(append(lines, s), with)
}

// corpusPlaces are where in a text a value may stand; %s is its place.
var corpusPlaces = map[string]string{
	"alone":                 "%s",
	"at the start":          "%s was refused\n",
	"at the end":            "2026-03-02 10:14:03 ERROR cannot sign in as %s",
	"in the middle":         "before %s after",
	"on a line of its own":  "before\n%s\nafter\n",
	"in double quotes":      `dial "%s": refused`,
	"in single quotes":      "the value '%s' is wrong",
	"in backticks":          "run `%s` again",
	"in brackets":           "[%s] (retry)",
	"behind a colon":        "reason: %s.",
	"between other letters": "日本 %s 日本",
}

// World: pure. Every value in every form in every place: nothing of it is left but what
// Base64 shares with its neighbours, and all around it stays.
func TestNothingOfAValueIsLeft(t *testing.T) {
	t.Parallel()
	for valueName, value := range corpusValues {
		t.Run(valueName, func(t *testing.T) {
			t.Parallel()
			r := New(value)
			n := 0
			for formName, form := range corpusForms {
				text := form(value)
				for placeName, place := range corpusPlaces {
					n++
					before, after, _ := strings.Cut(place, "%s")
					in := before + text + after
					got := r.String(in)
					if left := leftOf(got, before, after); left != "" {
						t.Errorf("%s, %s: %s\nof %.200q there is left %.200q", formName, placeName, left, in, got)
						break // one place of a form says it all
					}
					if again := r.String(got); again != got {
						t.Errorf("%s, %s: redacting twice is not redacting once:\n%.200q\n%.200q", formName, placeName, got, again)
						break
					}
				}
			}
			t.Logf("%d texts", n)
		})
	}
}

// leftOf says what is wrong with a redacted text, of which only before and after may stay.
func leftOf(got, before, after string) string {
	switch {
	case !strings.HasPrefix(got, before) && !strings.HasPrefix(got, strings.TrimRight(before, " ")):
		return "what stands before is gone"
	case !strings.HasSuffix(got, after):
		return "what stands after is gone"
	case len(got) < len(before)+len(after):
		return "the text is too short"
	}
	middle := strings.ReplaceAll(got[min(len(before), len(got)-len(after)):len(got)-len(after)], Mark, "")
	if middle = strings.Trim(middle, " \r\n\t="); middle != "" { // padding on a line of its own tells nothing
		return fmt.Sprintf("%q is left", middle)
	}
	return ""
}

// World: pure. Of a value of several lines each line is a secret, in each form that a line
// of it takes when a program prefixes lines with the time or a name.
func TestEachLineOfAValueIsASecret(t *testing.T) {
	t.Parallel()
	for name, value := range corpusValues {
		if !strings.Contains(value, "\n") {
			continue
		}
		r := New(value)
		for line := range strings.Lines(value) {
			line = strings.TrimSpace(line)
			if !distinct(line) || strings.HasPrefix(line, "-----") {
				continue
			}
			for _, form := range []string{"raw", "JSON", "Python's repr", "path-escaped"} {
				got := r.String("10:14:03 web | " + corpusForms[form](line) + " | end")
				if got != "10:14:03 web | "+Mark+" | end" {
					t.Errorf("%s, %s: the line %q leaves %q", name, form, line, got)
				}
			}
		}
	}
}

// World: pure. A value inside of what is encoded, at each of the three alignments: only the
// characters that it shares with its neighbours are left.
func TestAValueInsideOfAnEncodedTextIsFound(t *testing.T) {
	t.Parallel()
	for name, value := range corpusValues {
		if len(value) < 9 { // shorter, and two of three alignments are no more than a syllable
			continue
		}
		r := New(value)
		for lead := range 6 {
			for form, write := range map[string]func(string) string{
				"Base64":          corpusForms["Base64"],
				"Base64 for URLs": corpusForms["Base64 for URLs"],
				"in lines":        corpusForms["Base64 in lines of 64"],
				"hexadecimal":     corpusForms["hexadecimal"],
			} {
				plain := strings.Repeat("u", lead) + value + "|tail"
				got := r.String(write(plain))
				around := len(write(strings.Repeat("u", lead))) + len(write("|tail")) + 6
				if left := strings.ReplaceAll(got, Mark, ""); !strings.Contains(got, Mark) || len(left) > around {
					t.Errorf("%s, %s, %d before: %d characters are left of %d: %.120q", name, form, lead, len(left), len(write(plain)), got)
				}
			}
		}
	}
}

// World: pure. However a stream is parted, and wherever in it a value stands, it comes out
// as the whole text would: also where a write ends within the value, and where the writer
// itself would part the text, of which no line end tells where.
func TestAValueAtTheEdgeOfAChunk(t *testing.T) {
	t.Parallel()
	for valueName, value := range corpusValues {
		t.Run(valueName, func(t *testing.T) {
			t.Parallel()
			r := New(value)
			back := (&writer{r: r}).back()
			lead := strings.Repeat("applying migration 0007 ", 1+(batch+3*back)/24)[:batch+2*back]
			for _, formName := range []string{"raw", "every byte escaped", "Base64 in lines of 64"} {
				text := corpusForms[formName](value)
				for name, at := range map[string]int{"where a write ends": len(lead), "where the text is parted": len(lead) - back - len(text)/2} {
					in := lead[:at] + " " + text + " " + lead[at:]
					want := r.String(in)
					for _, first := range []int{at + 1 + len(text)/2, len(lead), 977} {
						var out strings.Builder
						w := r.Writer(&out)
						for rest, n := in, first; rest != ""; {
							n = min(n, len(rest))
							if _, err := w.Write([]byte(rest[:n])); err != nil {
								t.Fatal(err)
							}
							rest = rest[n:]
						}
						if err := w.Close(); err != nil {
							t.Fatal(err)
						}
						if got := out.String(); got != want {
							t.Errorf("%s, %s, in writes of %d: %d bytes came out, want %d", formName, name, first, len(got), len(want))
						}
					}
				}
			}
		})
	}
}

// World: pure. C11.3: a token of ours is masked in every form by who does not know its
// value, such as a process that took over from the one that minted it.
func TestATokenOfOursIsKnownByItsShape(t *testing.T) {
	t.Parallel()
	r := New()
	for _, form := range []string{"raw", "JSON", "query-escaped", "hexadecimal", "hexadecimal in capitals", "Base64", "Base64 for URLs", "Base64 in an URL", "Base64 in lines of 64", "Base64 in lines within a string"} {
		for placeName, place := range corpusPlaces {
			before, after, _ := strings.Cut(place, "%s")
			got := r.String(before + corpusForms[form](minted) + after)
			if left := leftOf(got, before, after); left != "" {
				t.Errorf("%s, %s: %s: %q", form, placeName, left, got)
			}
		}
	}
	for lead := range 6 {
		got := r.String("got: " + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("u", lead)+minted)))
		if left := strings.ReplaceAll(strings.TrimPrefix(got, "got: "), Mark, ""); len(left) > lead*4/3+3 {
			t.Errorf("behind %d characters %q is left", lead, got)
		}
	}
}
