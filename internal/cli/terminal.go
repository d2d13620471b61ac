package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// terminal returns the file of v when it is a terminal.
func terminal(v any) (*os.File, bool) {
	f, ok := v.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// coloured reports whether w is to get colours. See no-color.org.
func (s *session) coloured(w io.Writer) bool {
	_, tty := terminal(w)
	return tty && s.getenv("NO_COLOR") == "" && s.getenv("TERM") != "dumb"
}

// Four colours of every terminal's own palette, so that they fit any background.
func (s *session) red(w io.Writer, text string) string    { return s.paint(w, "31", text) }
func (s *session) green(w io.Writer, text string) string  { return s.paint(w, "32", text) }
func (s *session) yellow(w io.Writer, text string) string { return s.paint(w, "33", text) }
func (s *session) faint(w io.Writer, text string) string  { return s.paint(w, "2", text) }

func (s *session) paint(w io.Writer, code, text string) string {
	if text == "" || !s.coloured(w) {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// confirm asks before something that cannot be undone. Where nobody can be asked, it
// refuses: a script that means it says --yes.
func (s *session) confirm(yes bool, question string) error {
	if yes {
		return nil
	}
	if _, tty := terminal(s.Stdin); !tty {
		return usagef("%s nobody can be asked here", question).hint("add --yes to go on without being asked")
	}
	answer, err := s.ask(question + " [y/N] ")
	if err != nil {
		return err
	}
	if a := strings.ToLower(answer); a != "y" && a != "yes" {
		s.say("nothing was done")
		return quiet(exitFailed)
	}
	return nil
}

// ask shows a prompt and reads one line.
func (s *session) ask(prompt string) (string, error) {
	fmt.Fprint(s.Stderr, prompt)
	line, err := bufio.NewReader(s.Stdin).ReadString('\n')
	if err != nil && !(errors.Is(err, io.EOF) && line != "") {
		return "", fmt.Errorf("read the answer: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// maxSecret is the most that is read as a password or a secret.
const maxSecret = 256 << 10

// askPassword reads a password: without showing it from a terminal, or, with fromStdin,
// everything that is on the standard input, but for one final line end.
func (s *session) askPassword(prompt string, fromStdin bool) (string, error) {
	if fromStdin {
		return s.readSecret(s.Stdin)
	}
	f, tty := terminal(s.Stdin)
	if !tty {
		return "", usagef("nobody can be asked for the password here").hint("give it on the standard input with --password-stdin")
	}
	fmt.Fprint(s.Stderr, prompt)
	pw, err := term.ReadPassword(int(f.Fd()))
	fmt.Fprintln(s.Stderr)
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return string(pw), nil
}

// askNewPassword asks twice, for a slip would lock its owner out.
func (s *session) askNewPassword(fromStdin bool) (string, error) {
	first, err := s.askPassword("new password: ", fromStdin)
	if err != nil || fromStdin {
		return first, err
	}
	second, err := s.askPassword("once more: ", false)
	if err != nil {
		return "", err
	}
	if first != second {
		return "", usagef("the two passwords differ")
	}
	return first, nil
}

func (s *session) readSecret(r io.Reader) (string, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxSecret+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read the value: %w", err)
	case len(raw) > maxSecret:
		return "", usagef("the value is larger than %d KiB", maxSecret>>10)
	}
	text := strings.TrimSuffix(string(raw), "\n")
	text = strings.TrimSuffix(text, "\r")
	if text == "" {
		return "", usagef("the value is empty")
	}
	return text, nil
}
