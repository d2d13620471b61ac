package kube

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"slipway.dev/slipway/internal/slipway"
)

// CutOutput keeps the end of an output as a step shows it: the last 200 lines, at most
// 64 KiB. Lines are counted by their ends; a last one without an end counts. cut is true
// when anything was dropped. The text must have been cleaned and redacted before: a
// secret cut in half is no longer known.
func CutOutput(text string) (kept string, cut bool) {
	kept = text
	if at := lastLines(kept, slipway.MaxOutputLines); at > 0 {
		kept = kept[at:]
	}
	for len(kept) > slipway.MaxOutputBytes {
		// Drop whole lines from the front, but never the last one.
		at := strings.IndexByte(kept, '\n')
		if at < 0 || at == len(kept)-1 {
			break
		}
		kept = kept[at+1:]
	}
	if over := len(kept) - slipway.MaxOutputBytes; over > 0 {
		for over < len(kept) && !utf8.RuneStart(kept[over]) {
			over++
		}
		kept = kept[over:]
	}
	return kept, len(kept) < len(text)
}

// lastLines returns where the last n lines of text begin.
func lastLines(text string, n int) int {
	end := strings.TrimSuffix(text, "\n") // the end of the last line begins no further one
	for at := len(end); ; n-- {
		at = strings.LastIndexByte(end[:at], '\n')
		if at < 0 {
			return 0
		}
		if n == 1 {
			return at + 1
		}
	}
}

// escapes are terminal control sequences: colours and the like (CSI), and titles (OSC).
var escapes = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|\x1b[@-Z\\\\^_]")

// CleanOutput makes the raw bytes of a log fit for a page: valid UTF-8, no terminal
// control sequences, no control characters but tab and newline. It must run before the
// redactor, which would miss a secret with a colour in its middle.
func CleanOutput(raw []byte) string {
	text := string(bytes.ToValidUTF8(raw, []byte("\uFFFD")))
	if strings.IndexByte(text, 0x1b) >= 0 {
		text = escapes.ReplaceAllString(text, "")
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r': // a progress bar begins its line again; nothing it wrote is lost
			return '\n'
		case r < 0x20 || r >= 0x7f && r < 0xa0:
			return utf8.RuneError
		}
		return r
	}, text)
}
