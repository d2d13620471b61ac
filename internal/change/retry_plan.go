package change

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// RetryPlan says what a retry of a task would do. Making it writes nothing.
type RetryPlan struct {
	Task     slipway.Task // that would be repeated
	Change   int64        // the number of its change; 0: none
	Attempt  int
	Steps    []RetryStep
	Stops    []string                 // components that the driver says its actions stop meanwhile
	Stopped  []slipway.ComponentState // components that are stopped now
	Warnings []string
}

// Fate is what becomes of a step in a retry.
type Fate string

const (
	RetryKept     Fate = "kept"     // it was done, and is not repeated
	RetryRepeated Fate = "repeated" // it was begun, and is run again
	RetryFollows  Fate = "follows"  // it was never begun, and follows
)

// RetryStep is one step of a retry.
type RetryStep struct {
	slipway.PlannedStep
	Fate         Fate
	DoneIn       int64            // of a kept step: the task that did it
	KeptActions  map[string]int64 // of a repeated step: the actions that are not run again, and the tasks that completed them
	Irreversible bool             // what an action that runs does cannot be undone
}

// resume decides what a retry takes over of all the steps of a task, and lists what it will
// go through. It calls nobody.
//
// Without being told otherwise it begins with the step that failed, and of that step's
// actions leaves out those that were completed: the order within a mode is not defined, so
// none of them may count on another. A create begins with its first step, since its setup
// must be whole. The check changes nothing, and always comes.
func resume(t slipway.Task, all []slipway.PlannedStep, d slipway.DriverSpec, steps []slipway.Step, in RetryInput) (slipway.Resume, []RetryStep, error) {
	done, begun := map[string]int64{}, map[string]bool{}
	for key, task := range t.Resume.Done {
		done[key], begun[key] = task, true
	}
	var failed slipway.Step
	for _, st := range steps {
		begun[st.Key] = true
		if st.State == slipway.StepSucceeded {
			done[st.Key] = t.ID
		} else {
			failed = st
		}
	}
	at := stoppedAt(all, done, failed.Key)
	from, whole := at, false
	switch {
	case in.FromStart && in.From != "":
		return slipway.Resume{}, nil, invalid("from", "it is given together with from_start", "give one of them")
	case in.FromStart:
		from, whole = 0, true
	case in.From != "":
		var err error
		if from, err = stepNamed(all, in.From, at); err != nil {
			return slipway.Resume{}, nil, err
		}
		whole = true
	case t.Kind == slipway.InstallTask:
		from, whole = 0, true
	}
	if len(all) == 0 {
		return slipway.Resume{}, nil, nil
	}
	out := slipway.Resume{From: all[from].Key, Done: map[string]int64{}}
	if !whole {
		out.Actions = completed(t, failed, all[from].Actions)
	}
	var list []RetryStep
	for i, p := range all {
		s := RetryStep{PlannedStep: p}
		switch {
		case i < from && p.Key != slipway.CheckStep:
			if s.DoneIn = done[p.Key]; s.DoneIn == 0 {
				continue // it was passed over: an earlier step had done its work
			}
			s.Fate, out.Done[p.Key] = RetryKept, s.DoneIn
		case begun[p.Key]:
			s.Fate = RetryRepeated
		default:
			s.Fate = RetryFollows
		}
		if i == from {
			s.KeptActions = out.Actions
		}
		for _, a := range d.ActionsOf(p.Hook, p.Mode) {
			s.Irreversible = s.Irreversible || a.Irreversible && s.Fate != RetryKept && s.KeptActions[a.Name] == 0
		}
		list = append(list, s)
	}
	return out, list, nil
}

// stoppedAt is the index of the step at which a task came to its end: the one that failed,
// or, for a task that was cancelled between two, the one that would have been next.
func stoppedAt(all []slipway.PlannedStep, done map[string]int64, failed string) int {
	next := 0
	for i, p := range all {
		switch {
		case p.Key == failed:
			return i
		case done[p.Key] != 0:
			next = i + 1
		}
	}
	return max(0, min(next, len(all)-1))
}

// stepNamed finds the step from which a retry shall begin, by its key, by the end of its
// key or by its name. A step after the one that failed cannot be: the failed one would be
// passed over.
func stepNamed(all []slipway.PlannedStep, name string, last int) (int, error) {
	var keys []string
	found := -1
	for i, p := range all[:last+1] {
		keys = append(keys, p.Key)
		if name == p.Key || strings.EqualFold(name, p.Name) || strings.HasSuffix(p.Key, "."+name) {
			found = i
		}
	}
	if found >= 0 {
		return found, nil
	}
	for _, p := range all[last+1:] {
		if name == p.Key || strings.EqualFold(name, p.Name) || strings.HasSuffix(p.Key, "."+name) {
			return 0, invalid("from", fmt.Sprintf("%q comes after %s, which has not been done", name, all[last].Key), "name one of: "+strings.Join(keys, ", "))
		}
	}
	return 0, invalid("from", fmt.Sprintf("the task has no step %q", name), "name one of: "+strings.Join(keys, ", "))
}

// completed lists the actions of the failed step that ran to their ends, here or in an
// attempt that left them to this one. When all have, the mode failed by something else,
// and is repeated whole.
func completed(t slipway.Task, failed slipway.Step, actions []string) map[string]int64 {
	out := map[string]int64{}
	if t.Resume.From == failed.Key {
		maps.Copy(out, t.Resume.Actions)
	}
	for _, r := range failed.Runs {
		if r.State == slipway.RunCompleted {
			out[r.Action] = t.ID
		}
	}
	maps.DeleteFunc(out, func(name string, _ int64) bool { return !slices.Contains(actions, name) })
	if len(out) == len(actions) {
		return nil
	}
	return out
}

// stopsOf lists the components that the actions which will run say they stop, by name.
func stopsOf(d slipway.DriverSpec, steps []RetryStep) []string {
	stops := map[string]bool{}
	for _, s := range steps {
		for _, a := range d.ActionsOf(s.Hook, s.Mode) {
			if s.Fate == RetryKept || s.KeptActions[a.Name] != 0 {
				continue
			}
			for _, c := range a.Stops {
				stops[c] = true
			}
		}
	}
	return sorted(stops)
}

func (p RetryPlan) warnings() []string {
	var out []string
	for _, s := range p.Steps {
		if s.Irreversible {
			out = append(out, fmt.Sprintf("what an action of %q does cannot be undone", s.Name))
		}
	}
	return out
}
