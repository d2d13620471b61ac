package application

import (
	"context"
	"fmt"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// Result is what a task reports, as JSON on its row. It holds the results of the tasks
// that its hooks started, also when it failed.
type Result struct {
	Tasks   []ChildResult      `json:"tasks,omitempty"`
	Stopped []StoppedComponent `json:"stopped,omitempty"` // at the end of the task
}

// ChildResult is the end of a task that an action started.
type ChildResult struct {
	Task  int64             `json:"task"`
	Type  string            `json:"type"`
	State slipway.TaskState `json:"state"`
	Error string            `json:"error,omitempty"`
}

// StoppedComponent is a component that stays stopped until somebody starts it.
type StoppedComponent struct {
	Component string `json:"component"`
	Since     int64  `json:"since_task"`
}

// gather reads what the task has to report.
func gather(ctx context.Context, tx *store.Tx, s Snapshot) (Result, error) {
	var out Result
	if !s.Task.Root() {
		return out, nil
	}
	children, err := tx.ChildTasks(ctx, s.Task.ID)
	if err != nil {
		return out, err
	}
	for _, c := range children {
		if c.ParentStepID == 0 {
			continue // started through the API itself: linked to no step, and no part of the result
		}
		out.Tasks = append(out.Tasks, ChildResult{Task: c.ID, Type: c.Kind.Title(), State: c.State, Error: c.Error})
	}
	states, err := tx.ComponentStates(ctx, s.Application.ID)
	for _, c := range states {
		if c.Stopped {
			out.Stopped = append(out.Stopped, StoppedComponent{Component: c.Component, Since: c.StoppedByTask})
		}
	}
	return out, err
}

// hint says what is left to do by hand: start what the task left stopped, and repeat what
// did not succeed.
func (r Result) hint(t slipway.Task, end slipway.TaskState, application string) string {
	var todo []string
	if len(r.Stopped) > 0 {
		names := make([]string, len(r.Stopped))
		for i, c := range r.Stopped {
			names[i] = c.Component
		}
		todo = append(todo, stoppedSentence(r.Stopped),
			fmt.Sprintf("start it with  slipway start %s %s", application, strings.Join(names, " ")))
	}
	if t.Root() && end != slipway.Succeeded {
		todo = append(todo, fmt.Sprintf("once the cause is gone, go on from there with  slipway tasks retry %d", t.ID))
	}
	return strings.Join(todo, " · ")
}

// stoppedSentence is "worker is stopped since task 41".
func stoppedSentence(stopped []StoppedComponent) string {
	parts := make([]string, len(stopped))
	for i, c := range stopped {
		parts[i] = fmt.Sprintf("%s is stopped since task %d", c.Component, c.Since)
	}
	return strings.Join(parts, ", ")
}
