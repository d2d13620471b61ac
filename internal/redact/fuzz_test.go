package redact

import (
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzString holds, for any text and any secret: the secret does not come through, and
// redacting twice is redacting once.
func FuzzString(f *testing.F) {
	b, err := os.ReadFile("testdata/ordinary.txt")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
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
	})
}

func BenchmarkString(b *testing.B) {
	ordinary, err := os.ReadFile("testdata/ordinary.txt")
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat(string(ordinary), 1+(64<<10)/len(ordinary))[:64<<10]
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
