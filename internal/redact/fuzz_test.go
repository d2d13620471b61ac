package redact

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzString holds, for any text and any secret: the secret does not come through, and
// redacting twice is redacting once.
func FuzzString(f *testing.F) {
	for line := range strings.Lines(ordinary(f)["awkward.txt"]) {
		f.Add(line, "hunter2-horse")
	}
	f.Add("x "+pem+" y", "a\nbcdefgh\nijklmnop")
	f.Add(`{"password":"a\"b"}`, `p@ss/w"ord`)
	f.Add("%68%75nter2-horse", "hunter2-horse")
	f.Fuzz(func(t *testing.T, text, secret string) {
		r := New(secret)
		got := r.String(text + secret + text)
		trimmed := strings.TrimSpace(secret)
		for _, part := range strings.Split(got, Mark) {
			if distinct(trimmed) && strings.Contains(part, trimmed) {
				t.Errorf("the secret %q comes through: %q", trimmed, got)
			}
		}
		// A secret that parts words leaves other words behind than it stood between.
		if twice := r.String(got); twice != got && strings.IndexFunc(secret, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) < 0 {
			t.Errorf("twice is not once:\n%q\n%q", got, twice)
		}
		if utf8.ValidString(text) && utf8.ValidString(secret) && !utf8.ValidString(got) {
			t.Errorf("a character was cut: %q", got)
		}
		// Each mark stands for something: a text does not grow without end.
		if limit := 3*len(text+secret+text) + len(Mark); len(got) > limit {
			t.Errorf("%d bytes became %d", len(text+secret+text), len(got))
		}
	})
}

// FuzzForms holds, for any text and any secret in any form of the corpus: the middle of the
// form, which no neighbour can alter, does not come through.
func FuzzForms(f *testing.F) {
	names := slices.Sorted(maps.Keys(corpusForms))
	for i := range names {
		f.Add("a line of a log\n", "hunter2-horse/+", uint8(i))
	}
	f.Fuzz(func(t *testing.T, text, secret string, which uint8) {
		name := names[int(which)%len(names)]
		secret = strings.TrimSpace(secret)
		if !utf8.ValidString(secret) || !distinct(secret) || len(secret) < 9 || strings.ContainsAny(secret, "\x00\u2028\u2029") {
			t.Skip()
		}
		form := corpusForms[name](secret)
		got := New(secret).String(text + " " + form + " " + text)
		if core := form[3 : len(form)-3]; len(core) >= MinValue && !strings.Contains(text, core) && strings.Contains(got, core) {
			t.Errorf("%s of %q comes through: %q", name, secret, got)
		}
	})
}

func BenchmarkString(b *testing.B) {
	lines := ordinary(b)["awkward.txt"]
	text := strings.Repeat(lines, 1+(64<<10)/len(lines))[:64<<10]
	for name, in := range map[string]string{
		"ordinary":   text,
		"keys":       strings.Repeat("password=abc token: def ", 3000)[:64<<10],
		"escapes":    strings.Repeat(`\"a\":\"%41b\" `, 6000)[:64<<10],
		"one letter": strings.Repeat("a", 64<<10),
		"keywords":   strings.Repeat("secret", 11000)[:64<<10],
	} {
		r := New(token, password, pem, "another-secret-value", strings.Repeat("a", 5000))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			for b.Loop() {
				r.String(in)
			}
		})
	}
}

// World: pure. Each of these is a text that takes the square of its length when read
// carelessly: at this size, that would be hours.
func TestLongAwkwardTexts(t *testing.T) {
	t.Parallel()
	r := New(token, password, pem, strings.Repeat("a", 5000))
	for name, unit := range map[string]string{
		"keys": "password=abc token: def ", "escapes": `\"a\":\"%41b\" `, "one letter": "a", "keywords": "secret", "colons": "token:",
		"base64 lines": "QUJD\n", "urls": "http://a:b@", "user names": "http://a:", "private keys": "-----BEGIN PRIVATE KEY-----", "tokens": "eyJ-",
		"headers": "Authorization: ", "digests": "authorization: digest x", "cookies": "cookie:", "quotes": `token="`, "escaped quotes": `token=\"`,
		"percent": "%25", "backslashes": `\`, "newlines": "\n", "written newlines": `a\n`, "fields": `name: token value:`, "flags": "--token ",
	} {
		in := strings.Repeat(unit, 1+(256<<10)/len(unit))
		if got := r.String(in); r.String(got) != got {
			t.Errorf("%s: twice is not once", name)
		}
	}
}
