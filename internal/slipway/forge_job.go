package slipway

import "time"

// Job is one job of a forge as its deliveries and lists have told. Its state only moves
// forward: deliveries come doubled, late and out of order.
type Job struct {
	Host         string // of the forge; see ForgeHost
	ID           int64  // the forge's
	RunID        int64
	Attempt      int
	Owner        string
	Repository   string
	RepositoryID int64 // stays when a repository is renamed or moved; 0: not told
	Name         string
	Workflow     string
	Branch       string
	URL          string // of its page
	Labels       []string
	State        JobState
	Runner       string // the name of the runner that has it; empty until it runs
	RunnerID     int64
	Conclusion   string
	QueuedAt     time.Time
	StartedAt    time.Time
	EndedAt      time.Time
	SeenAt       time.Time // the newest word of it
}

// JobState is how far a job has come.
type JobState string

const (
	JobWaiting   JobState = "waiting" // for an approval or for its turn: no demand yet
	JobQueued    JobState = "queued"  // the only state that is demand
	JobRunning   JobState = "in_progress"
	JobCompleted JobState = "completed"
)

var jobRank = map[JobState]int{JobWaiting: 1, JobQueued: 2, JobRunning: 3, JobCompleted: 4}

// Rank orders the states as a job passes through them; 0 is none of them.
func (s JobState) Rank() int { return jobRank[s] }

// JobStateOf is the state with a rank.
func JobStateOf(rank int) JobState {
	for s, r := range jobRank {
		if r == rank {
			return s
		}
	}
	return ""
}

// Before reports whether a job in state s may move on to next. The same state again, and
// one that the job has left behind, are old news.
func (s JobState) Before(next JobState) bool { return jobRank[s] < jobRank[next] }

// MaxQueued is how long a job counts as demand. GitHub gives up a job that was queued for
// as long.
const MaxQueued = 24 * time.Hour
