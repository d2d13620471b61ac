package redact

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"slices"
	"strings"
)

// forms lists what to look for: values as programs print them. Escapes (URL, JSON,
// Python) are not among them: known undoes those in the text instead, which finds every
// mixture of them.
func forms(values []string) (plain, encoded []string) {
	seen := map[string]bool{}
	for _, v := range values {
		v = strings.TrimSpace(v)
		if seen[v] || !distinct(v) {
			continue
		}
		seen[v] = true
		plain = append(plain, variants(v)...)
		encoded = append(encoded, encodings(v)...)
		if !strings.ContainsAny(v, "\r\n") {
			continue
		}
		for line := range strings.Lines(v) {
			line = strings.TrimSpace(line)
			if seen[line] || !distinct(line) || strings.HasPrefix(line, "-----") {
				continue
			}
			seen[line] = true
			plain = append(plain, variants(line)...)
			// A line of a JSON file is often followed by its comma.
			if bare := strings.TrimRight(line, ",;"); bare != line && distinct(bare) {
				plain = append(plain, bare)
			}
		}
	}
	return compact(plain), compact(encoded)
}

func compact(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// variants are a value, and how quoting changes it beyond escapes.
func variants(v string) []string {
	out := []string{v}
	add := func(other string) {
		if other != v && len(other) >= MinValue {
			out = append(out, other)
		}
	}
	add(strings.ReplaceAll(v, "\r\n", "\n"))
	add(strings.ReplaceAll(v, "\n", "\r\n"))
	add(strings.ReplaceAll(v, " ", "+"))     // a form's blank, in an URL
	add(strings.ReplaceAll(v, "'", `'\''`))  // a shell's
	add(strings.ReplaceAll(v, "'", `'"'"'`)) // and the other way in a shell
	add(strings.ReplaceAll(v, "'", "''"))    // YAML's, SQL's
	add(html.EscapeString(v))
	add(strings.ReplaceAll(html.EscapeString(v), "&#34;", "&quot;"))
	return out
}

// minEncoded is the shortest part of an encoded value that is looked for, so that what
// remains of a short value cannot be a syllable of something else.
const minEncoded = 6

// encodings are a value in Base64 and hexadecimal. In Base64 a value looks different by
// where in a group of three bytes it starts; and the characters at its edges depend on
// its neighbours, so they are left out.
func encodings(v string) []string {
	var out []string
	add := func(s string) {
		if len(s) >= minEncoded {
			out = append(out, s)
		}
	}
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		add(enc.EncodeToString([]byte(v))) // as the whole of an encoded text, to its last character
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := enc.EncodeToString(append(make([]byte, before), v...))
			from := (before*8 + 5) / 6
			to := (before + len(v)) * 8 / 6
			add(text[from:to])
		}
	}
	lower := hex.EncodeToString([]byte(v))
	add(lower)
	add(strings.ToUpper(lower))
	return out
}
