package wire

// Retry asks for another attempt at the change of a task that failed or was cancelled.
type Retry struct {
	From      string `json:"from,omitempty" maxLength:"100" example:"hook.upgrade.pre" doc:"The step to begin with, of those up to the one that failed; its whole mode runs again. Absent: the one that failed."`
	FromStart bool   `json:"from_start,omitempty" doc:"Begin with the first step."`
}

// RetryPlan says what a retry would do. Asking for it writes nothing.
type RetryPlan struct {
	Task     Task               `json:"task" doc:"The task that would be repeated."`
	Change   int64              `json:"change,omitempty" doc:"The number of its change."`
	Attempt  int                `json:"attempt" doc:"The number of the attempt that a retry would be."`
	Steps    []RetryStep        `json:"steps" nullable:"false"`
	Stops    []string           `json:"stops" nullable:"false" doc:"The components that the driver says it stops meanwhile."`
	Stopped  []StoppedComponent `json:"stopped" nullable:"false" doc:"The components that are stopped now."`
	Warnings []string           `json:"warnings,omitempty" nullable:"false"`
}

// RetryStep is one step of a retry.
type RetryStep struct {
	Key          string   `json:"key" example:"hook.upgrade.core"`
	Name         string   `json:"name" example:"Run the upgrade hook"`
	Fate         string   `json:"fate" enum:"kept,repeated,follows" doc:"kept: it was done and is not repeated; repeated: it was begun and is run again; follows: it was never begun."`
	DoneIn       int64    `json:"done_in,omitempty" doc:"Of a kept step: the task that did it."`
	Actions      []string `json:"actions" nullable:"false" doc:"The actions that run."`
	KeptActions  []string `json:"kept_actions,omitempty" nullable:"false" doc:"Actions of a repeated step that were completed and are not run again."`
	Irreversible bool     `json:"irreversible,omitempty" doc:"One of the actions that run cannot be undone."`
	Maybe        bool     `json:"maybe,omitempty" doc:"It runs only when an earlier step has not done its work."`
}

// StoppedComponent is a component that stays stopped until somebody starts it.
type StoppedComponent struct {
	Component string `json:"component"`
	SinceTask int64  `json:"since_task,omitempty"`
}
