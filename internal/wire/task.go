package wire

import (
	"encoding/json"
	"time"
)

// Task is the work of a change, or of an action's call.
type Task struct {
	ID            int64           `json:"id"`
	Kind          string          `json:"kind" enum:"install,upgrade,rollback,configure,delete,repair,stop-components,start-components,change-version"`
	Type          string          `json:"type" example:"Stop components" doc:"The kind in words."`
	Title         string          `json:"title" example:"upgrade guestbook to 1.1.0"`
	ApplicationID int64           `json:"application_id"`
	Application   string          `json:"application" example:"shop/production/guestbook"`
	Change        int64           `json:"change,omitempty" doc:"The number of its change."`
	RootID        int64           `json:"root_id" doc:"Its own ID for a task that no action started."`
	RetryOf       int64           `json:"retry_of,omitempty" doc:"The task that this one repeats."`
	RetriedBy     int64           `json:"retried_by,omitempty" doc:"The task that repeats this one; only when one task is asked for."`
	Attempt       int             `json:"attempt" doc:"1, and one more for each retry."`
	Kept          []KeptStep      `json:"kept,omitempty" nullable:"false" doc:"Of a retry: the steps that attempts before it have done."`
	StartedBy     *StartedBy      `json:"started_by,omitempty" doc:"Set when an action started it."`
	State         string          `json:"state" enum:"queued,running,succeeded,failed,cancelled"`
	RequestedBy   string          `json:"requested_by"`
	CancelledBy   string          `json:"cancelled_by,omitempty" doc:"Who asked for its end."`
	Error         string          `json:"error,omitempty"`
	Hint          string          `json:"hint,omitempty"`
	Result        json.RawMessage `json:"result,omitempty" doc:"What the task reports; its shape depends on the kind."`
	Steps         []Step          `json:"steps,omitempty" nullable:"false" doc:"Only when one task is asked for."`
	Version       string          `json:"version,omitempty" doc:"Names this state of the task; give it as seen to wait for another."`
	CreatedAt     time.Time       `json:"created_at"`
	StartedAt     *time.Time      `json:"started_at,omitempty"`
	EndedAt       *time.Time      `json:"ended_at,omitempty"`
}

// Over reports whether the task has ended.
func (t Task) Over() bool {
	return t.State == "succeeded" || t.State == "failed" || t.State == "cancelled"
}

// StartedBy names the task whose action started this one.
type StartedBy struct {
	TaskID int64  `json:"task_id"`
	Type   string `json:"type" example:"Upgrade"`
	Step   string `json:"step,omitempty" example:"Run the upgrade hook"`
}

// KeptStep is a step that an attempt before this one has done, and that is not repeated.
type KeptStep struct {
	Key    string `json:"key" example:"hook.upgrade.pre"`
	Name   string `json:"name" example:"Run the upgrade pre-hook"`
	TaskID int64  `json:"task_id" doc:"The task that did it."`
}

// Step is one visible part of a task.
type Step struct {
	ID        int64        `json:"id"`
	Seq       int          `json:"seq"`
	Key       string       `json:"key" example:"hook.upgrade.pre"`
	Name      string       `json:"name" example:"Run the upgrade pre-hook"`
	State     string       `json:"state" enum:"running,succeeded,failed,cancelled"`
	Error     string       `json:"error,omitempty"`
	Output    *StepOutput  `json:"output,omitempty" doc:"The end of what a failed command printed."`
	Notes     []string     `json:"notes,omitempty" nullable:"false"`
	Tasks     []LinkedTask `json:"tasks,omitempty" nullable:"false" doc:"The tasks that its actions started."`
	Runs      []ActionRun  `json:"runs,omitempty" nullable:"false"`
	StartedAt time.Time    `json:"started_at"`
	EndedAt   *time.Time   `json:"ended_at,omitempty"`
}

// StepOutput is a glance at a step's output; the whole has its own address.
type StepOutput struct {
	Lines int      `json:"lines" doc:"The number of lines that are stored."`
	Cut   bool     `json:"cut" doc:"Earlier output was dropped before it was stored."`
	Tail  []string `json:"tail" nullable:"false" doc:"The last lines."`
}

// OutputTail is how many lines of a step's output come with its task.
const OutputTail = 5

// Output is what is stored of a step's output.
type Output struct {
	Text string `json:"text"`
	Cut  bool   `json:"cut" doc:"Earlier output was dropped."`
}

// LinkedTask is a task that an action started.
type LinkedTask struct {
	ID    int64  `json:"id"`
	Type  string `json:"type" example:"Stop components"`
	State string `json:"state" enum:"queued,running,succeeded,failed,cancelled"`
	Error string `json:"error,omitempty"`
}

// ActionRun is one run of an action, a flow run of Prefect.
type ActionRun struct {
	Action    string     `json:"action"`
	FlowRunID string     `json:"flow_run_id,omitempty"`
	URL       string     `json:"url,omitempty" doc:"The run's page in Prefect; absent when the server does not know where people open those."`
	State     string     `json:"state,omitempty"`
	StartedAt *time.Time `json:"started_at,omitempty"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// NewNote adds a line to a running step.
type NewNote struct {
	Text string `json:"text" minLength:"1" maxLength:"1000"`
}
