package kube

// World: pure.

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/slipway"
)

func lines(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestCutOutput(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 70<<10)
	for _, tc := range []struct {
		name, in, want string
		cut            bool
	}{
		{"nothing", "", "", false},
		{"199 lines are kept whole", lines(199), lines(199), false},
		{"200 lines are kept whole", lines(200), lines(200), false},
		{"of 201 lines the first is dropped", lines(201), strings.TrimPrefix(lines(201), "line 1\n"), true},
		{"a last line without an end counts as the 200th", lines(199) + "end", lines(199) + "end", false},
		{"a last line without an end counts as the 201st", lines(200) + "end", strings.TrimPrefix(lines(200), "line 1\n") + "end", true},
		{"empty lines count", strings.Repeat("\n", 201), strings.Repeat("\n", 200), true},
		{"65535 bytes are kept whole", "a\n" + strings.Repeat("b", 65533), "a\n" + strings.Repeat("b", 65533), false},
		{"65536 bytes are kept whole", "a\n" + strings.Repeat("b", 65534), "a\n" + strings.Repeat("b", 65534), false},
		{"65536 bytes with their newline are kept whole", strings.Repeat("b", 65535) + "\n", strings.Repeat("b", 65535) + "\n", false},
		{"of 65537 bytes the first line is dropped", "a\n" + strings.Repeat("b", 65535), strings.Repeat("b", 65535), true},
		{"whole lines are dropped, however long", long + "\nlast\n", "last\n", true},
		{"one line of 70 KiB keeps its end", "first\n" + long, long[:65536], true},
		{"one line of 70 KiB keeps its end, newline included", long + "\n", long[:65535] + "\n", true},
		{"the cut falls on a character", "é" + strings.Repeat("b", 65535), strings.Repeat("b", 65535), true},
		{"a character of four bytes at the edge goes whole", "🚢" + strings.Repeat("b", 65533), strings.Repeat("b", 65533), true},
		{"a character that just fits stays", "aé" + strings.Repeat("b", 65534), "é" + strings.Repeat("b", 65534), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, cut := CutOutput(tc.in)
			if got != tc.want || cut != tc.cut {
				t.Errorf("CutOutput() = %d bytes, %d lines, cut %v; want %d bytes, cut %v\ngot  %.60q\nwant %.60q",
					len(got), strings.Count(got, "\n"), cut, len(tc.want), tc.cut, got, tc.want)
			}
		})
	}
}

func TestCutOutputAlwaysKeepsAnEndWithinItsLimits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([]string{"a", "é", "🚢", "\n", strings.Repeat("y", 999), strings.Repeat("z\n", 60), strings.Repeat("ü", 40000)})
		in := strings.Join(rapid.SliceOfN(piece, 0, 40).Draw(t, "pieces"), "")
		got, cut := CutOutput(in)
		switch {
		case !strings.HasSuffix(in, got):
			t.Fatalf("the output is not an end of what was written")
		case cut != (len(got) < len(in)):
			t.Fatalf("cut = %v, though %d of %d bytes were kept", cut, len(got), len(in))
		case len(got) > slipway.MaxOutputBytes || !utf8.ValidString(got):
			t.Fatalf("%d bytes, valid %v", len(got), utf8.ValidString(got))
		case in != "" && got == "":
			t.Fatalf("nothing was kept of %d bytes", len(in))
		}
		count := strings.Count(got, "\n")
		if !strings.HasSuffix(got, "\n") && got != "" {
			count++
		}
		if count > slipway.MaxOutputLines {
			t.Fatalf("%d lines were kept", count)
		}
	})
}

func TestCleanOutput(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"plain text stays", "héllo\tworld\n", "héllo\tworld\n"},
		{"colours go", "\x1b[1;31mred\x1b[0m", "red"},
		{"a secret with a colour in its middle comes together", "hun\x1b[4mter2", "hunter2"},
		{"a window's title goes", "\x1b]0;title\x07text", "text"},
		{"Windows line ends become line ends", "a\r\nb\r\n", "a\nb\n"},
		{"a progress bar becomes lines", "10%\r20%\r", "10%\n20%\n"},
		{"invalid bytes are marked", "a\xff\xfeb", "a\uFFFDb"},
		{"NUL and bell are marked", "a\x00b\x07", "a\uFFFDb\uFFFD"},
		{"C1 controls are marked", "a\u0085b", "a\uFFFDb"},
		{"an escape that leads nowhere is marked", "a\x1b", "a\uFFFD"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := CleanOutput([]byte(tc.in)); got != tc.want {
				t.Errorf("CleanOutput(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	var got tail
	var all strings.Builder
	for i := range 60000 {
		line := fmt.Sprintf("line %d\n", i)
		all.WriteString(line)
		if _, err := got.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	end, dropped := got.Bytes()
	if !dropped || !strings.HasSuffix(all.String(), string(end)) || !strings.HasPrefix(string(end), "line ") {
		t.Errorf("the tail is %.20q…, dropped %v", end, dropped)
	}
	if len(end) > keepRaw || len(end) < keepRaw-100 {
		t.Errorf("the tail has %d bytes, want nearly %d", len(end), keepRaw)
	}
}
