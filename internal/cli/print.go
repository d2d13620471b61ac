package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
)

func (s *session) checkFormat() error {
	switch s.format {
	case "table", "json", "yaml":
		return nil
	}
	return usagef("-o is %q", s.format).hint("use table, json or yaml")
}

// machine prints v as JSON or YAML when that was asked for, and reports whether it did.
func (s *session) machine(v any) (bool, error) {
	if s.format == "table" {
		return false, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return true, fmt.Errorf("write the answer as JSON: %w", err)
	}
	out := b.Bytes()
	if s.format == "yaml" {
		var err error
		if out, err = yaml.JSONToYAML(out); err != nil {
			return true, fmt.Errorf("write the answer as YAML: %w", err)
		}
	}
	_, err := s.Stdout.Write(out)
	return true, err
}

// show prints one thing: as JSON or YAML when asked for, else as people says.
func (s *session) show(v any, people func()) error {
	if done, err := s.machine(v); done {
		return err
	}
	people()
	return nil
}

// list prints things: as JSON or YAML when asked for, else as a table, or as the
// sentence empty when there are none.
func list[T any](s *session, items []T, empty string, head []string, row func(T) []string) error {
	if items == nil {
		items = []T{} // programs get [], not null
	}
	if done, err := s.machine(items); done {
		return err
	}
	if len(items) == 0 {
		s.say("%s", empty)
		return nil
	}
	rows := make([][]string, len(items))
	for i, it := range items {
		rows[i] = row(it)
	}
	table(s.Stdout, head, rows)
	return nil
}

// table aligns columns by their widest cell. The last column is not padded.
func table(w io.Writer, head []string, rows [][]string) {
	width := make([]int, len(head))
	for _, r := range append([][]string{head}, rows...) {
		for i, cell := range r {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range append([][]string{head}, rows...) {
		var b strings.Builder
		for i, cell := range r {
			b.WriteString(cell)
			if i < len(r)-1 {
				b.WriteString(strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// fields prints "name  value" lines of one thing, aligned; empty values are left out.
func (s *session) fields(pairs ...string) {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			width = max(width, utf8.RuneCountInString(pairs[i]))
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			s.print("%-*s  %s", width, pairs[i], pairs[i+1])
		}
	}
}

// ago writes a time as people speak of it; the machine formats have it exactly.
func ago(t time.Time) string { return since(time.Since(t)) }

func agoPtr(t *time.Time, never string) string {
	if t == nil {
		return never
	}
	return ago(*t)
}

func since(d time.Duration) string {
	switch {
	case d < 0:
		return "in " + long(-d+30*time.Second) // 720h that were just given are 30 days
	case d < 5*time.Second:
		return "now"
	}
	return long(d) + " ago"
}

func long(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// brief writes how long something took: 0.2s, 12.8s, 4m12s, 1h03m.
func brief(d time.Duration) string {
	switch {
	case d < 0:
		return "0.0s"
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", float64(d/(100*time.Millisecond))/10)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
