package prefect

import (
	"regexp"
	"testing"
)

// TestSetState stands on the fake server; the same answers were met on the real one.
func TestSetState(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		from   StateType
		to     State
		force  bool
		before func(f *fake, id string)
		answer Answer
		ours   bool
		after  StateType
	}{
		{name: "a scheduled run is claimed", from: Scheduled, to: State{Type: Pending}, answer: Accept, ours: true, after: Pending},
		{name: "the claim of a claimed run is turned down", from: Pending, to: State{Type: Pending}, answer: Abort, after: Pending},
		{name: "a run that ended is not claimed", from: Cancelled, to: State{Type: Pending}, answer: Abort, after: Cancelled},
		{name: "too early is waited out", from: Scheduled, to: State{Type: Running}, answer: Accept, ours: true, after: Running,
			before: func(f *fake, id string) { f.waits[id] = 2 }},
		{name: "a lost answer is told from a lost race", from: Scheduled, to: State{Type: Pending}, answer: Reject, ours: true, after: Pending,
			before: func(f *fake, _ string) { f.fail(fault{suffix: "/set_state", lose: true}) }},
		{name: "an overloaded server is asked again", from: Scheduled, to: State{Type: Pending}, answer: Accept, ours: true, after: Pending,
			before: func(f *fake, _ string) { f.fail(fault{suffix: "/set_state", status: 503}) }},
		{name: "a run that is being cancelled does not crash", from: Cancelling, to: State{Type: Crashed}, answer: Reject, after: Cancelling},
		{name: "a completed run does not crash", from: Completed, to: State{Type: Crashed}, answer: Abort, after: Completed},
		{name: "force leaves the rules out", from: Crashed, to: State{Type: Cancelled}, force: true, answer: Accept, ours: true, after: Cancelled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			id := f.add(tc.from)
			if tc.before != nil {
				tc.before(f, id)
			}
			got, err := f.client().SetState(t.Context(), id, Proposal{State: tc.to, Force: tc.force})
			if err != nil {
				t.Fatal(err)
			}
			if got.Answer != tc.answer || got.Ours != tc.ours {
				t.Errorf("SetState() = %+v, want %s, ours %t", got, tc.answer, tc.ours)
			}
			if now := f.state(id).Type; now != tc.after {
				t.Errorf("the run is %s, want %s", now, tc.after)
			}
		})
	}
}

func TestUUIDs(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 1000 {
		id := newUUID()
		if !form.MatchString(id) || seen[id] {
			t.Fatalf("newUUID() = %s", id)
		}
		seen[id] = true
	}
}
