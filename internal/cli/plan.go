package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"slipway.dev/slipway/internal/wire"
)

func (s *session) planCommand() *cobra.Command {
	var env string
	c := &cobra.Command{
		Use: "plan FILE", Short: "Show what a deploy would do", Args: args(1, 1),
		Long:    "Show what a deploy of an application's file would change, which hooks it would\nrun, and what it would restart or stop. Nothing is written.",
		Example: "  slipway plan guestbook.toml -e shop/dev",
		RunE: func(c *cobra.Command, a []string) error {
			in, _, err := s.readSpec(a[0])
			if err != nil {
				return err
			}
			project, environment, err := s.environment(env)
			if err != nil {
				return err
			}
			cl, err := s.connect()
			if err != nil {
				return err
			}
			p, err := cl.Plan(c.Context(), project, environment, in)
			if err != nil {
				return err
			}
			for _, w := range p.Warnings {
				s.say("%s %s", s.yellow(s.Stderr, "warning:"), w)
			}
			return s.show(p, func() { printPlan(s.Stdout, p) })
		},
	}
	s.addEnvironment(c, &env)
	return c
}

// printPlan writes a plan as people read it: which revision, what changes, what runs.
func printPlan(w io.Writer, p wire.Plan) {
	switch {
	case p.Revision == 0:
		fmt.Fprintf(w, "%s  new, revision %d\n", p.Name, p.NewRevision)
	case p.Target > 0:
		fmt.Fprintf(w, "%s  revision %d → %d, with the content of %d\n", p.Name, p.Revision, p.NewRevision, p.Target)
	case len(p.Diff) == 0:
		fmt.Fprintf(w, "%s  revision %d → %d, nothing differs\n", p.Name, p.Revision, p.NewRevision)
	default:
		fmt.Fprintf(w, "%s  revision %d → %d\n", p.Name, p.Revision, p.NewRevision)
	}
	path, old := 0, 0
	for _, d := range p.Diff {
		path = max(path, utf8.RuneCountInString(d.Path))
		old = max(old, utf8.RuneCountInString(value(d.Old)))
	}
	for _, d := range p.Diff {
		switch {
		case d.Old == "":
			fmt.Fprintf(w, "  %s   + %s\n", pad(d.Path, path), value(d.New))
		case d.New == "":
			fmt.Fprintf(w, "  %s   - %s\n", pad(d.Path, path), value(d.Old))
		default:
			fmt.Fprintf(w, "  %s   %s → %s\n", pad(d.Path, path), pad(value(d.Old), old), value(d.New))
		}
	}
	if p.Summary != "" {
		fmt.Fprintln(w, p.Summary)
	}
}

// value shows a text of several lines on one line, and what is not seen: who reads a plan
// must not be shown another text than the one that is deployed.
func value(v string) string {
	if strings.ContainsFunc(v, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(v)
	}
	return v
}

func pad(s string, width int) string {
	return fmt.Sprintf("%s%*s", s, width-utf8.RuneCountInString(s), "")
}
