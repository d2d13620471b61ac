package view

import (
	"slipway.dev/slipway/internal/slipway"
)

// TaskFilter narrows the list of tasks. Its zero value is every root task.
type TaskFilter struct {
	ApplicationID int64
	Project       string
	Environment   string
	State         slipway.TaskState
	Open          bool // only those that run or wait
	Children      bool // also the tasks that actions started
}

// TaskRow is one line of a list of tasks.
type TaskRow struct {
	slipway.Task
}

// TaskPage is everything about one task that its page shows.
type TaskPage struct {
	Task        slipway.Task
	Application slipway.Application
	Change      slipway.Change // zero for a task without a change: stop, start
	Steps       []Step
	Planned     []PlannedStep // what is still to come, as far as it is known
	StartedBy   *TaskRow      // the task whose action started this one
	Waiting     []TaskRow     // for a queued root task: the tasks before it, oldest first
	Stopped     []StoppedBy   // components of the application that are stopped since this task
	Seen        string        // changes whenever something on the page does; for "what is new since"
}

// Step is one step with the tasks that its action started.
type Step struct {
	slipway.Step
	Children []TaskRow
}

// PlannedStep is a step that will run if those before it succeed.
type PlannedStep struct {
	Key     string // as slipway.Step's
	Name    string
	Actions []string
	Maybe   bool // runs only when an earlier step has not done its work: apply, after a core action
}

// StoppedBy says that a component is stopped since a task.
type StoppedBy struct {
	Component string
	TaskID    int64
}
