package webhook

import (
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"slipway.dev/slipway/internal/slipway"
)

// Event is one delivery in our words. Exactly one of Job, Run and Ping is set; none is set
// for an event, or an action of it, that concerns nobody here.
type Event struct {
	Action       string
	Installation int64 // of the App; 0: the hook is none of an App's
	RepositoryID int64 // stays when a repository is renamed or moved
	Job          *JobEvent
	Run          *RunEvent
	Ping         *Ping
}

// JobEvent is a step in a job's life.
type JobEvent struct {
	Job      slipway.Job
	RunnerID int64 // the forge's; 0: none yet, or never
	Group    int64
	URL      string // of the job's page
}

// RunEvent is the end of a run: only then does the forge take a rerun of its jobs.
type RunEvent struct {
	ID         int64
	Attempt    int
	Owner      string
	Repository string
	Conclusion string
}

// Ping is what a forge sends when a hook is made.
type Ping struct {
	Hook   int64
	Events []string
}

// Parse reads the payload of an event. It returns the zero Event for what is not needed.
//
// The state of a job is the action's, not the payload's own status: when a job leaves the
// wait for an approval, it is queued while its status still says waiting.
func Parse(event string, payload []byte, now time.Time) (Event, error) {
	switch event {
	case "workflow_job":
		return parseJob(payload, now)
	case "workflow_run":
		return parseRun(payload)
	case "ping":
		return parsePing(payload)
	}
	return Event{}, nil
}

// repository is the part of every payload that says where it happened.
type repository struct {
	Repository struct {
		ID    int64  `json:"id"`
		Name  string `json:"name"`
		Owner struct {
			Login string `json:"login"`
		} `json:"owner"`
	} `json:"repository"`
	Installation struct {
		ID int64 `json:"id"`
	} `json:"installation"`
	Action string `json:"action"`
}

func (r repository) check(event string, id int64) error {
	for _, f := range []struct {
		ok   bool
		path string
	}{
		{id > 0, event + ".id"}, {name(r.Repository.Name), "repository.name"}, {name(r.Repository.Owner.Login), "repository.owner.login"},
	} {
		if !f.ok {
			return slipway.Errorf(slipway.Invalid, "the delivery of %s has no usable %s", event, f.path)
		}
	}
	return nil
}

// name reports whether s can be the name of an owner or a repository.
func name(s string) bool { return s != "" && len(s) <= maxGUID && plain(s) }

var jobStates = map[string]slipway.JobState{
	"waiting": slipway.JobWaiting, "queued": slipway.JobQueued, "in_progress": slipway.JobRunning, "completed": slipway.JobCompleted,
}

const (
	maxLabels = 100
	maxText   = 400 // of a job's name and the like; what is longer is cut
)

func parseJob(payload []byte, now time.Time) (Event, error) {
	var p struct {
		repository
		Job struct {
			ID          int64      `json:"id"`
			RunID       int64      `json:"run_id"`
			Attempt     int        `json:"run_attempt"`
			Name        string     `json:"name"`
			Workflow    string     `json:"workflow_name"`
			Branch      string     `json:"head_branch"`
			Labels      []string   `json:"labels"`
			Conclusion  string     `json:"conclusion"`
			CreatedAt   *time.Time `json:"created_at"`
			StartedAt   *time.Time `json:"started_at"`
			CompletedAt *time.Time `json:"completed_at"`
			RunnerID    int64      `json:"runner_id"`
			RunnerName  string     `json:"runner_name"`
			RunnerGroup int64      `json:"runner_group_id"`
			URL         string     `json:"html_url"`
		} `json:"workflow_job"`
	}
	if err := decode("workflow_job", payload, &p); err != nil {
		return Event{}, err
	}
	state, known := jobStates[p.Action]
	if !known {
		return Event{Action: action(p.Action)}, nil
	}
	if err := p.check("workflow_job", p.Job.ID); err != nil {
		return Event{}, err
	}
	j := slipway.Job{
		ID: p.Job.ID, RunID: p.Job.RunID, Attempt: max(p.Job.Attempt, 1), Owner: p.Repository.Owner.Login, Repository: p.Repository.Name,
		RepositoryID: p.Repository.ID, Name: cut(p.Job.Name), Workflow: cut(p.Job.Workflow), Branch: cut(p.Job.Branch), URL: cut(p.Job.URL), State: state, QueuedAt: at(p.Job.CreatedAt), SeenAt: now,
	}
	if j.QueuedAt.IsZero() {
		j.QueuedAt = at(p.Job.StartedAt) // older servers send no created_at
	}
	if len(p.Job.Labels) > maxLabels {
		return Event{}, slipway.Errorf(slipway.TooLarge, "the delivery of workflow_job has more than %d labels", maxLabels)
	}
	for _, l := range p.Job.Labels {
		j.Labels = append(j.Labels, strings.TrimSpace(cut(l)))
	}
	e := JobEvent{URL: j.URL}
	// What a job that has not begun says of a runner and of its start is not to be believed.
	if state == slipway.JobRunning || state == slipway.JobCompleted {
		j.Runner, e.RunnerID, e.Group = cut(p.Job.RunnerName), p.Job.RunnerID, p.Job.RunnerGroup
		j.RunnerID, j.StartedAt = e.RunnerID, at(p.Job.StartedAt)
	}
	if state == slipway.JobCompleted {
		j.Conclusion, j.EndedAt = cut(p.Job.Conclusion), at(p.Job.CompletedAt)
	}
	e.Job = j
	return Event{Action: p.Action, Installation: p.Installation.ID, RepositoryID: p.Repository.ID, Job: &e}, nil
}

func parseRun(payload []byte) (Event, error) {
	var p struct {
		repository
		Run struct {
			ID         int64  `json:"id"`
			Attempt    int    `json:"run_attempt"`
			Conclusion string `json:"conclusion"`
		} `json:"workflow_run"`
	}
	if err := decode("workflow_run", payload, &p); err != nil || p.Action != "completed" {
		return Event{Action: action(p.Action)}, err
	}
	if err := p.check("workflow_run", p.Run.ID); err != nil {
		return Event{}, err
	}
	return Event{Action: p.Action, Installation: p.Installation.ID, RepositoryID: p.Repository.ID, Run: &RunEvent{
		ID: p.Run.ID, Attempt: max(p.Run.Attempt, 1), Owner: p.Repository.Owner.Login, Repository: p.Repository.Name, Conclusion: cut(p.Run.Conclusion),
	}}, nil
}

func parsePing(payload []byte) (Event, error) {
	var p struct {
		HookID int64 `json:"hook_id"`
		Hook   struct {
			Events []string `json:"events"`
		} `json:"hook"`
	}
	if err := decode("ping", payload, &p); err != nil {
		return Event{}, err
	}
	return Event{Ping: &Ping{Hook: p.HookID, Events: p.Hook.Events}}, nil
}

func decode(event string, payload []byte, into any) error {
	// The reader is that of Go's next encoding/json. It takes a fifth of the time, which of a
	// delivery was the greatest part. A member that stands twice counts as it stands last.
	if err := json.Unmarshal(payload, into, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		// The cause may quote the payload, which is not ours to show.
		return slipway.Errorf(slipway.Invalid, "the delivery of %s cannot be read as JSON of the form that GitHub describes", event)
	}
	return nil
}

func at(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// cut keeps a text short, and free of what does not print: a database refuses some of it,
// and a terminal obeys some.
func cut(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, s)
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "")
}

// action is a word of a forge's that we do not know, if it is one.
func action(s string) string {
	if len(s) > maxGUID || !plain(s) {
		return ""
	}
	return s
}
