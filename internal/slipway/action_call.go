package slipway

import "time"

// Primitive names a function of the Python package that calls back to Slipway.
type Primitive string

const (
	StopComponents  Primitive = "stop_components"
	StartComponents Primitive = "start_components"
	ChangeVersion   Primitive = "upgrade_deployment_version"
	ComponentImages Primitive = "get_component_images"
	ExecuteCommands Primitive = "execute_commands"
)

// CallState is the state of an action's call; package reconcile/application moves it.
type CallState string

const (
	CallRunning   CallState = "running"
	CallSucceeded CallState = "succeeded"
	CallFailed    CallState = "failed"
)

// The codes of a failed call. Each has one meaning for the author of an action.
const (
	CodeUnknownComponent    = "unknown_component"
	CodeNoWorkload          = "no_workload"
	CodeAmbiguousWorkload   = "ambiguous_workload"
	CodeJobRunning          = "job_running"
	CodeJobFailed           = "job_failed"
	CodeJobTimeout          = "job_timeout"
	CodeTaskFailed          = "task_failed"
	CodeAPIRefused          = "api_refused"
	CodeInvalidArgument     = "invalid_argument"
	CodeVersionNotSupported = "version_not_supported"
	CodeInternal            = "internal"
)

// ActionCall is one call of a primitive by a running action. Its Key makes a repeated
// request harmless: same key, same call.
type ActionCall struct {
	ID        int64
	TaskID    int64 // the task whose hook runs the action
	StepID    int64
	FlowRunID string
	Key       string // <flow run>/<run count>/<call number>
	Primitive Primitive
	Args      []byte // JSON
	ChildTask int64  // the task it started; 0: none
	State     CallState
	Result    []byte // JSON
	Code      string // of a failure
	Error     string
	CreatedAt time.Time
	EndedAt   time.Time
}
