package wire

import "time"

// RunnerPool is a service of a runner application and how it stands.
type RunnerPool struct {
	ID             int64          `json:"id"`
	ApplicationID  int64          `json:"application_id"`
	Ref            string         `json:"ref" example:"shop/production/team-ci/runner"`
	Service        string         `json:"service" example:"runner"`
	Forge          string         `json:"forge" doc:"Where its runners are registered: GitHub, GitLab, Bitbucket." example:"GitHub"`
	Host           string         `json:"host" example:"github.com"`
	Scope          string         `json:"scope" doc:"The organization, repository, group or project whose jobs it serves." example:"acme"`
	RunnerGroup    int64          `json:"runner_group,omitempty" doc:"Named in the spec, or the default one that was discovered; absent: a repository has none."`
	Labels         []string       `json:"labels" nullable:"false" doc:"All that its runners are registered with."`
	Architecture   string         `json:"architecture" enum:"amd64,arm64"`
	NodeName       string         `json:"node_name,omitempty" doc:"The only node that its runners may be on."`
	Replicas       int            `json:"replicas" doc:"The most runners at once."`
	Minimum        int            `json:"min_replicas"`
	Spare          int            `json:"spare"`
	IdleSeconds    int            `json:"idle_seconds" doc:"0: a fixed pool."`
	TimeoutMinutes int            `json:"timeout_minutes"`
	Priority       int            `json:"priority"`
	Generation     int64          `json:"generation" doc:"Counts the changes that runners are replaced for."`
	State          string         `json:"state" enum:"unknown,sleeping,ready,scaling,full,held,paused,deleting" doc:"unknown: nobody has looked at it yet."`
	Why            string         `json:"why,omitempty" doc:"Beside the state, in words."`
	Warning        string         `json:"warning,omitempty" doc:"What will go wrong if nothing is done."`
	Demand         int            `json:"demand" doc:"Queued jobs that fall to it."`
	Slots          map[string]int `json:"slots" doc:"How many open slots are in which state."`
	Failures       int            `json:"failures,omitempty" doc:"Launches in a row that failed."`
	HoldUntil      *time.Time     `json:"hold_until,omitempty" doc:"Nothing is launched before, because launching failed."`
	HoldWhy        string         `json:"hold_why,omitempty"`
	CheckedAt      *time.Time     `json:"checked_at,omitempty" doc:"When it was last looked at."`
	LastJobEvent   *time.Time     `json:"last_job_event,omitempty" doc:"The newest word of a job that it serves; idle time counts from it."`
	Observed       Observed       `json:"observed"`
	Ledger         Ledger         `json:"ledger"`
}

// Observed is what the forge last told of a pool's runners.
type Observed struct {
	At      *time.Time       `json:"at,omitempty" doc:"When its registrations were last listed whole; absent: never."`
	Error   string           `json:"error,omitempty" doc:"Why the newest list failed; what is said is then of at."`
	Version string           `json:"version,omitempty" doc:"Of the oldest runner program seen."`
	Runners []ObservedRunner `json:"runners,omitempty" nullable:"false" doc:"Only when one application is asked for."`
}

// ObservedRunner is a registration of a pool's runner.
type ObservedRunner struct {
	Name     string     `json:"name"`
	ID       int64      `json:"id" doc:"The forge's; 0: it was not told yet."`
	State    string     `json:"state" enum:"offline,online,busy,leaving"`
	OnlineAt *time.Time `json:"online_at,omitempty"`
	Version  string     `json:"version,omitempty"`
	Slot     int64      `json:"slot"`
}

// Ledger is what does not belong together; empty lists are the promise that nothing leaks.
type Ledger struct {
	CheckedAt     *time.Time `json:"checked_at,omitempty" doc:"When it was last swept; absent: never."`
	Pods          []string   `json:"pods" nullable:"false" doc:"Pods without a slot."`
	Registrations []string   `json:"registrations" nullable:"false" doc:"Registrations without a slot."`
	Slots         []string   `json:"slots" nullable:"false" doc:"Slots that should have a pod and have none."`
}

// Slot is one runner of a pool, with its whole life.
type Slot struct {
	ID         int64      `json:"id"`
	Service    string     `json:"service" doc:"Its pool's."`
	Generation int64      `json:"generation"`
	State      string     `json:"state" enum:"wanted,registering,launching,starting,idle,busy,draining,removing,closed"`
	Since      time.Time  `json:"since"`
	Reason     string     `json:"reason,omitempty" doc:"Why it goes."`
	Failure    string     `json:"failure,omitempty" doc:"What kept the last attempt of its state from succeeding."`
	Failures   int        `json:"failures,omitempty"`
	RetryAt    *time.Time `json:"retry_at,omitempty"`
	Runner     string     `json:"runner" doc:"The runner's name, and its pod's."`
	RunnerID   int64      `json:"runner_id,omitempty"`
	Scope      string     `json:"scope" doc:"Where it is registered, whatever the pool says by now."`
	Job        int64      `json:"job,omitempty"`
	JobName    string     `json:"job_name,omitempty"`
	JobURL     string     `json:"job_url,omitempty"`
	Pod        string     `json:"pod,omitempty" doc:"Its UID."`
	Node       string     `json:"node,omitempty"`
	Seen       string     `json:"seen,omitempty" doc:"How the pod stands, in words."`
	Image      string     `json:"image,omitempty" doc:"That really runs, with its digest."`
	Version    string     `json:"version,omitempty" doc:"Of the runner's program."`
	Result     string     `json:"result,omitempty" doc:"How the pod ended."`
	CreatedAt  time.Time  `json:"created_at"`
	Registered *time.Time `json:"registered_at,omitempty"`
	Started    *time.Time `json:"started_at,omitempty" doc:"Its pod was asked for; its timeout counts from here."`
	Online     *time.Time `json:"online_at,omitempty" doc:"It was first seen to wait for a job."`
	Busy       *time.Time `json:"busy_at,omitempty"`
	Ended      *time.Time `json:"ended_at,omitempty"`
	Closed     *time.Time `json:"closed_at,omitempty"`
}

// Job is one job of a forge.
type Job struct {
	Host       string     `json:"host" example:"github.com"`
	ID         int64      `json:"id"`
	RunID      int64      `json:"run_id,omitempty"`
	Attempt    int        `json:"attempt,omitempty"`
	Repository string     `json:"repository,omitempty" example:"acme/shop"`
	Workflow   string     `json:"workflow,omitempty"`
	Name       string     `json:"name,omitempty"`
	Branch     string     `json:"branch,omitempty"`
	URL        string     `json:"url,omitempty"`
	Labels     []string   `json:"labels" nullable:"false"`
	State      string     `json:"state" enum:"unknown,waiting,queued,in_progress,completed" doc:"unknown: nothing was heard of it."`
	Conclusion string     `json:"conclusion,omitempty" example:"success"`
	Runner     string     `json:"runner,omitempty"`
	Service    string     `json:"service,omitempty" doc:"Of the pool that it falls to or ran on."`
	Slot       int64      `json:"slot,omitempty" doc:"That it runs or ran on; absent: on none of ours."`
	QueuedAt   *time.Time `json:"queued_at,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	EndedAt    *time.Time `json:"ended_at,omitempty"`
	SeenAt     *time.Time `json:"seen_at,omitempty" doc:"The newest word of it."`
	Why        JobWhy     `json:"why"`
	Steps      []JobStep  `json:"steps,omitempty" nullable:"false" doc:"With steps=true: as the forge tells them now."`
	StepsError string     `json:"steps_error,omitempty" doc:"Why the steps could not be read."`
}

// JobWhy says why a job waits.
type JobWhy struct {
	Code     string     `json:"code" enum:"runs,ended,unknown,not-queued,forgotten,no-labels,hosted,no-pool,labels,connection,deleting,paused,unwatched,held,full,ceiling,starting,not-given,handing-over,launching,unexplained"`
	Sentence string     `json:"sentence" doc:"The answer, for people."`
	Evidence []string   `json:"evidence" nullable:"false" doc:"What it rests on."`
	Pool     string     `json:"pool,omitempty" doc:"That the job falls to, or the one that comes nearest."`
	Slot     int64      `json:"slot,omitempty" doc:"That serves it or is to."`
	Since    *time.Time `json:"since,omitempty"`
	NextTry  *time.Time `json:"next_try,omitempty"`
}

// JobStep is one step of a job.
type JobStep struct {
	Number     int64      `json:"number"`
	Name       string     `json:"name"`
	Status     string     `json:"status"`
	Conclusion string     `json:"conclusion,omitempty"`
	StartedAt  *time.Time `json:"started_at,omitempty"`
	EndedAt    *time.Time `json:"ended_at,omitempty"`
}

// JobLog is a part of the log of a job that has ended. It was fetched from the forge for
// this answer, which has masked the secrets in it, and it is not stored.
type JobLog struct {
	Lines []LogLine `json:"lines" nullable:"false"`
	Read  int       `json:"read" doc:"How many lines were looked at, from the start of the log."`
	Next  int       `json:"next,omitempty" doc:"Give it as after to go on; absent: nothing more is there."`
	Cut   bool      `json:"cut,omitempty" doc:"The log is larger than is read, and its end is missing."`
}

// LogLine is one line, without control sequences.
type LogLine struct {
	Number int        `json:"number" doc:"From 1, in the whole log."`
	At     *time.Time `json:"at,omitempty"`
	Text   string     `json:"text"`
}

// Actions is everything about the pools of one application.
type Actions struct {
	ApplicationID int64        `json:"application_id"`
	Application   string       `json:"application" example:"shop/production/team-ci"`
	Pools         []RunnerPool `json:"pools" nullable:"false"`
	Slots         []Slot       `json:"slots" nullable:"false" doc:"Those that are open, the oldest first."`
	SlotsAll      int          `json:"slots_all" doc:"How many are open; slots may be cut."`
	Closed        []Slot       `json:"closed" nullable:"false" doc:"Those that were closed last."`
	Queue         []Job        `json:"queue" nullable:"false" doc:"Jobs that run, then those that wait, the longest waiting first."`
	QueueAll      int          `json:"queue_all" doc:"How many run and wait; queue may be cut."`
	Recent        []Job        `json:"recent" nullable:"false" doc:"Those that ended last."`
}

// PoolNames names runner pools of an application by their services.
type PoolNames struct {
	Pools []string `json:"pools,omitempty" maxItems:"100" nullable:"false" doc:"Without any all pools are meant; to forget, those that are being deleted."`
}

// PoolSwitch is a pool after a request that pauses, resumes or gives up its runners.
type PoolSwitch struct {
	Ref      string `json:"ref" example:"shop/production/team-ci/runner"`
	Service  string `json:"service"`
	Paused   bool   `json:"paused"`
	Deleting bool   `json:"deleting"`
}

// PoolSwitches are the pools that a request was for.
type PoolSwitches struct {
	Pools []PoolSwitch `json:"pools" nullable:"false"`
}
