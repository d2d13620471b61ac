package plaintext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The tests here stand in the pure world.

func TestOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"text stays", "ä line\n\ttabbed\n", "ä line\n\ttabbed\n"},
		{"colours go", "\x1b[1;31mred\x1b[0m", "red"},
		{"a title of the window goes", "\x1b]0;evil\x07after", "after"},
		{"a link goes, its text stays", "\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\", "here"},
		{"a character set goes", "\x1b(Bplain", "plain"},
		{"a stray escape takes one more", "\x1bMup", "up"},
		{"an escape at the end", "end\x1b", "end"},
		{"an open sequence does not swallow the rest", "\x1b]0;" + strings.Repeat("x", 300), "0;" + strings.Repeat("x", 300)},
		{"a sequence that a new line breaks", "\x1b[31\nnext", "\nnext"},
		{"ends of lines of another system", "a\r\nb\r\n", "a\nb\n"},
		{"a line that writes over itself", "10%\r20%\r30%\n", "10%\n20%\n30%\n"},
		{"bells and backspaces", "a\a\b\x00\x7f", "a"},
		{"turned text", "abc\u202edef\u2066", "abcdef"},
		{"what is no text", "a\xffb", "a\ufffdb"},
	} {
		if got := Of(tc.in); got != tc.want {
			t.Errorf("%s: Of(%q) = %q, want %q", tc.name, tc.in, got, tc.want)
		}
	}
}

func FuzzOf(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m\r\n\x1b]0;x\x07")
	f.Fuzz(func(t *testing.T, s string) {
		got := Of(s)
		if strings.ContainsFunc(got, IsControl) || !utf8.ValidString(got) {
			t.Errorf("Of(%q) = %q", s, got)
		}
		if again := Of(got); again != got {
			t.Errorf("Of is not settled: %q, then %q", got, again)
		}
	})
}
