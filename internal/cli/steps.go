package cli

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"slipway.dev/slipway/internal/wire"
)

// screen writes the steps of one task.
type screen struct {
	s       *session
	w       io.Writer
	task    int64
	outputs map[int64]wire.Output // whole outputs by step; a step without one shows its tail
}

func taskHeader(t wire.Task) string {
	line := fmt.Sprintf("task %d  %s", t.ID, t.Title)
	if t.RetryOf != 0 {
		line += fmt.Sprintf("  (retry of task %d, attempt %d)", t.RetryOf, t.Attempt)
	}
	return line
}

// keptLines writes the steps of a retry that attempts before it have done.
func (v screen) keptLines(t wire.Task) []string {
	var lines []string
	for _, k := range t.Kept {
		lines = append(lines, fmt.Sprintf("  %s %s%s", v.mark("succeeded"), pad(k.Name, nameWidth), v.s.faint(v.w, fmt.Sprintf("  done in task %d", k.TaskID))))
	}
	return lines
}

// The columns of a step: its name, and how long it took.
const (
	nameWidth = 30
	tookWidth = 8
)

// stepLines writes a step: mark, name, time and error on one line, then what belongs
// to it.
func (v screen) stepLines(step wire.Step) []string {
	took := time.Since(step.StartedAt)
	if step.EndedAt != nil {
		took = step.EndedAt.Sub(step.StartedAt)
	}
	head, rest, _ := strings.Cut(strings.TrimSpace(step.Error), "\n")
	line := fmt.Sprintf("  %s %s%*s", v.mark(step.State), pad(step.Name, nameWidth), tookWidth, brief(took))
	if head != "" {
		line += "   " + clean(head)
	}
	lines := []string{strings.TrimRight(line, " ")}
	for l := range strings.SplitSeq(rest, "\n") {
		if l = strings.TrimRight(l, " \r"); l != "" {
			lines = append(lines, "      "+clean(l))
		}
	}
	lines = append(lines, v.outputLines(step)...)
	for _, n := range step.Notes {
		lines = append(lines, "    · "+clean(n))
	}
	for _, r := range step.Runs {
		if r.URL != "" {
			lines = append(lines, "    "+v.s.faint(v.w, fmt.Sprintf("action   %s in Prefect: %s", r.Action, r.URL)))
		}
	}
	if len(step.Tasks) > 0 {
		var all []string
		for _, t := range step.Tasks {
			all = append(all, fmt.Sprintf("%s %s (task %d)", v.mark(t.State), t.Type, t.ID))
		}
		lines = append(lines, "    started  "+strings.Join(all, "  "))
	}
	return lines
}

func (v screen) outputLines(step wire.Step) []string {
	if step.Output == nil {
		return nil
	}
	if whole, ok := v.outputs[step.ID]; ok {
		var lines []string
		if whole.Cut {
			lines = append(lines, "      "+v.s.faint(v.w, "earlier output was cut"))
		}
		for l := range strings.SplitSeq(strings.TrimRight(whole.Text, "\n"), "\n") {
			lines = append(lines, "      "+clean(l))
		}
		return lines
	}
	var lines []string
	for _, l := range step.Output.Tail {
		lines = append(lines, "      "+clean(l))
	}
	if more := step.Output.Lines - len(step.Output.Tail); more > 0 {
		lines = append(lines, "      "+v.s.faint(v.w, fmt.Sprintf("… %s: slipway tasks get %d --output", count(more, "more line", "more lines"), v.task)))
	}
	return lines
}

// clean drops what would move the cursor, change the terminal or turn the reading direction. The server has done so
// before it stored the text; a terminal should not depend on that.
func clean(l string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		if r == '\t' || r >= ' ' && r != 0x7f && !(r >= 0x80 && r < 0xa0) {
			return r
		}
		return -1
	}, l)
}

func (v screen) mark(state string) string {
	switch state {
	case "succeeded":
		return v.s.green(v.w, "✓")
	case "failed":
		return v.s.red(v.w, "✗")
	case "cancelled":
		return v.s.yellow(v.w, "⊘")
	}
	return "…"
}

// ending is the last line about a task that is over. app is what is known of its
// application afterwards.
func (v screen) ending(t wire.Task, app wire.Application) string {
	took := ""
	if t.EndedAt != nil {
		from := t.CreatedAt
		if t.StartedAt != nil {
			from = *t.StartedAt
		}
		took = brief(t.EndedAt.Sub(from))
	}
	stopped := stoppedSince(t, app)
	switch t.State {
	case "succeeded":
		return v.s.green(v.w, "succeeded") + " in " + took
	case "cancelled":
		return v.s.yellow(v.w, "cancelled") + strings.TrimRight(" by "+t.CancelledBy, " by") + colon(stopped)
	}
	var what []string
	if !shown(t) {
		what = nonEmpty(t.Error)
	}
	if !strings.Contains(t.Hint, "stopped since") { // or the server has said it
		what = append(what, nonEmpty(stopped)...)
	}
	what = append(what, nonEmpty(t.Hint)...)
	return v.s.red(v.w, "failed") + colon(strings.Join(what, " · "))
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// shown reports whether a step has said already what the task's error says.
func shown(t wire.Task) bool {
	for _, s := range t.Steps {
		if s.Error != "" && strings.Contains(t.Error, strings.TrimSpace(s.Error)) {
			return true
		}
	}
	return t.Error == ""
}

// stoppedSince tells which components the task left stopped, and how to start them.
func stoppedSince(t wire.Task, app wire.Application) string {
	var names []string
	for _, c := range app.Components {
		if c.Stopped && c.StoppedByTask == t.RootID && t.Kind != "stop-components" {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	is, it := "is", "it"
	if len(names) > 1 {
		is, it = "are", "them"
	}
	return fmt.Sprintf("%s %s stopped since task %d · start %s with  slipway start %s %s",
		strings.Join(names, ", "), is, t.RootID, it, ref(app), strings.Join(names, " "))
}

// runningLine is the moving line of a terminal: what runs now, and since when.
func runningLine(t wire.Task, frame int, width int) string {
	what, since := "waiting for its turn", t.CreatedAt
	if t.State == "running" {
		what = "between steps"
		if t.StartedAt != nil {
			since = *t.StartedAt
		}
	}
	for _, s := range t.Steps {
		if s.State != "running" {
			continue
		}
		what, since = s.Name, s.StartedAt
		for _, child := range s.Tasks {
			if child.State == "queued" || child.State == "running" {
				what += fmt.Sprintf(" · %s (task %d)", child.Type, child.ID)
			}
		}
	}
	frames := []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")
	line := fmt.Sprintf("  %c %s%*s", frames[frame%len(frames)], pad(what, nameWidth), tookWidth, brief(time.Since(since)))
	if width > 0 && utf8.RuneCountInString(line) > width {
		line = string([]rune(line)[:width-1]) + "…"
	}
	return line
}
