package slipway

import (
	"net/url"
	"strings"
	"time"
)

// TaskKind is the type of a task as people see it.
type TaskKind string

const (
	InstallTask   TaskKind = "install"
	UpgradeTask   TaskKind = "upgrade"
	RollbackTask  TaskKind = "rollback"
	ConfigureTask TaskKind = "configure"
	DeleteTask    TaskKind = "delete"
	RepairTask    TaskKind = "repair"
	StopTask      TaskKind = "stop-components"
	StartTask     TaskKind = "start-components"
	VersionTask   TaskKind = "change-version"
	BackupTask    TaskKind = "backup"
	RestoreTask   TaskKind = "restore"
	ForgetTask    TaskKind = "delete-backup"
)

var taskTitles = map[TaskKind]string{
	InstallTask: "Install", UpgradeTask: "Upgrade", RollbackTask: "Roll back", ConfigureTask: "Configure", DeleteTask: "Delete",
	RepairTask: "Repair",
	StopTask:   "Stop components", StartTask: "Start components", VersionTask: "Change the version",
	BackupTask: "Back up", RestoreTask: "Restore", ForgetTask: "Delete a backup",
}

// Title is the task's type in words: "Stop components".
func (k TaskKind) Title() string { return taskTitles[k] }

// The nouns that wake-ups name: who accepts a request wakes them, who reconciles handles
// them.
const (
	WakeTask     = "task"
	WakeCall     = "action-call"
	WakeDrift    = "drift"           // by the application's ID
	WakeSchedule = "backup-schedule" // by the application's ID
	WakePool     = "pool"
	WakeRecover  = "connection-recovery" // by the connection's ID: lost deliveries are looked for
	WakeLook     = "forge-job-look"      // by the job's ID: its repository is asked what it knows
)

// TaskState moves in one direction; package task alone moves it.
//
//	queued ─claim─▶ running ─▶ succeeded | failed | cancelled
//	   └──────── cancel ──────────────────────────▶ cancelled
//
// A running task whose replica dies stays running and is claimed again under a new epoch.
type TaskState string

const (
	Queued    TaskState = "queued"
	Running   TaskState = "running"
	Succeeded TaskState = "succeeded"
	Failed    TaskState = "failed"
	Cancelled TaskState = "cancelled"
)

// TaskMoves are the legal moves of a task.
var TaskMoves = map[TaskState][]TaskState{
	Queued:  {Running, Cancelled, Failed},
	Running: {Running, Succeeded, Failed, Cancelled},
}

// Over reports whether the state is final.
func (s TaskState) Over() bool { return s == Succeeded || s == Failed || s == Cancelled }

// Task is the work of a change, or of an action's call, as people see it.
type Task struct {
	ID            int64
	Kind          TaskKind
	Title         string // "upgrade guestbook to 1.1.0"
	ApplicationID int64
	Application   string // shop/production/guestbook
	ChangeID      int64
	ChangeNumber  int64
	RootID        int64    // itself for a root task
	ParentStepID  int64    // the hook step whose action started this task; 0: none
	ParentKind    TaskKind // the type of the task that started it: "Started by"
	Args          []byte   // JSON: what a child task was asked for
	RetryOf       int64    // the task that this one repeats; 0: none
	Attempt       int      // 1, and one more for each retry
	Resume        Resume   // of a retry: what it takes over
	State         TaskState
	Epoch         int64  // counts the claims; fences off a worker that lost the task
	Holder        string // the replica that runs it
	CancelledBy   string // who asked for its end; empty: nobody
	RequestedBy   string
	Error         string
	Hint          string
	Result        []byte // JSON
	CreatedAt     time.Time
	StartedAt     time.Time
	EndedAt       time.Time
}

// Resume is what a retry takes over from the attempts before it. It is decided when the
// retry is accepted, as it was shown, and never changes.
type Resume struct {
	From    string           `json:"from"`              // the key of the first step that runs again, beside the check
	Done    map[string]int64 `json:"done,omitempty"`    // key of a step that stays done → the task that did it
	Actions map[string]int64 `json:"actions,omitempty"` // action of step From that stays done → the task that ran it
}

// Root reports whether nobody's action started the task.
func (t Task) Root() bool { return t.RootID == t.ID }

// StepState is the state of a step; there is no queued: a step exists from its start.
type StepState string

const (
	StepRunning   StepState = "running"
	StepSucceeded StepState = "succeeded"
	StepFailed    StepState = "failed"
	StepCancelled StepState = "cancelled"
)

// Step is one visible part of a task.
type Step struct {
	ID        int64
	TaskID    int64
	Seq       int    // 1, 2, … in the order of their starts
	Key       string // what the plan calls it: check, hook.upgrade.pre, apply, ready
	Name      string // "Run the upgrade pre-hook"
	State     StepState
	Error     string
	Output    string // the end of a failed command's output, redacted
	OutputCut bool   // the start of the output was dropped
	Notes     []string
	Runs      []ActionRun
	StartedAt time.Time
	EndedAt   time.Time
}

// The names of the steps of hooks, as the reference has them. Setup has no core step.
const (
	StepSetupPre    = "Run the setup pre-hook"
	StepSetupPost   = "Run the setup post-hook"
	StepUpgradePre  = "Run the upgrade pre-hook"
	StepUpgradeCore = "Run the upgrade hook"
	StepUpgradePost = "Run the upgrade post-hook"

	StepRollbackPre  = "Run the rollback pre-hook"
	StepRollbackCore = "Run the rollback hook"
	StepRollbackPost = "Run the rollback post-hook"
	StepBackupPre    = "Run the backup pre-hook"
	StepBackupCore   = "Run the backup hook"
	StepBackupPost   = "Run the backup post-hook"
	StepRestorePre   = "Run the restore pre-hook"
	StepRestoreCore  = "Run the restore hook"
	StepRestorePost  = "Run the restore post-hook"
)

// Limits of a step's output.
const (
	MaxOutputLines = 200
	MaxOutputBytes = 64 << 10
)

// RunCompleted is the state of a run whose action returned.
const RunCompleted = "completed"

// ActionRun is one run of an action inside a hook step: a flow run of Prefect.
type ActionRun struct {
	ID        int64
	StepID    int64
	Action    string
	Key       string // idempotency key: task/hook/mode/action/attempt
	FlowRunID string
	Host      string // where its process runs
	PID       int
	PIDStart  int64  // the process's start in clock ticks since boot, which tells it from a later one with its PID
	State     string // "", then pending, running, and Prefect's final state in lower case
	StartedAt time.Time
	EndedAt   time.Time
}

// Page is the run's page in Prefect's own pages, which are at base; "" when there is none
// to link to.
func (r ActionRun) Page(base string) string {
	if base == "" || r.FlowRunID == "" {
		return ""
	}
	return strings.TrimSuffix(base, "/") + "/runs/flow-run/" + url.PathEscape(r.FlowRunID)
}
