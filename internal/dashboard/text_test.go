package dashboard

import (
	"html"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// The tests here stand in the pure world.

func TestSentence(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"the command failed": "The command failed", "web is stopped": "Web is stopped", `"x" is no name`: `"x" is no name`,
		"": "", "a": "a", "iOS": "iOS", "a pod": "A pod", "Änderung": "Änderung",
	} {
		if got := sentence(in); got != want {
			t.Errorf("sentence(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestOutputs: however much the steps printed, a page stays small, and the newest is there.
func TestOutputs(t *testing.T) {
	t.Parallel()
	var steps []view.Step
	for i := range 6 {
		text := strings.Repeat("<&\"'> a line of the worst kind\n", slipway.MaxOutputBytes/31)
		steps = append(steps, view.Step{Step: slipway.Step{ID: int64(i + 1), Output: text}})
	}
	steps = append(steps, view.Step{Step: slipway.Step{ID: 7, Output: "the last\n"}}, view.Step{Step: slipway.Step{ID: 8}})
	got := outputs(steps)
	if len(got) != 7 || got[7] != (output{Text: "the last\n"}) {
		t.Errorf("got %d outputs, the last %+v", len(got), got[7])
	}
	size := 0
	for i, o := range got {
		size += len(html.EscapeString(o.Text))
		if i < 7 && !o.Cut {
			t.Errorf("output %d is whole, want it cut", i)
		}
	}
	if size > pageOutput {
		t.Errorf("%d bytes of output, want at most %d", size, pageOutput)
	}
	p := sampleTaskPage()
	p.Steps = steps
	if n := len(rendered(t, taskPage(sampleFrame("x", "/tasks"), newTaskModel(p, ""), nil))); n > 200<<10 {
		t.Errorf("the page has %d bytes", n)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in     string
		budget int
		want   string
	}{
		{"a\nb\nc\n", 100, "a\nb\nc\n"},
		{"a\nb\nc\n", 5, "b\nc\n"},
		{"a\nb\nc", 4, "b\nc"},
		{"<\nb\n", 3, "b\n"},
		{"too long a line\n", 4, ""},
		{"x\n", 0, ""},
	} {
		got := tail(tc.in, tc.budget)
		if !strings.HasSuffix(tc.in, got) || got != tc.want {
			t.Errorf("tail(%q, %d) = %q, want %q", tc.in, tc.budget, got, tc.want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	now := sampleNow
	for d, want := range map[time.Duration]string{
		0: "just now", 4 * time.Second: "just now", 59 * time.Second: "59 s ago", 90 * time.Second: "1 min ago", 47 * time.Hour: "47 h ago",
		49 * time.Hour: "2 days ago", -30 * time.Second: "just now", -2 * time.Hour: "in 2 h", -(90*24*time.Hour - time.Second): "in 90 days",
	} {
		if got := ago(now.Add(-d), now); got != want {
			t.Errorf("ago(%s) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		200 * time.Millisecond: "0.2 s", 12800 * time.Millisecond: "12.8 s", 252 * time.Second: "4 min 12 s", 125 * time.Minute: "2 h 5 min", -time.Second: "0.0 s",
	} {
		if got := took(d); got != want {
			t.Errorf("took(%s) = %q, want %q", d, got, want)
		}
	}
}
