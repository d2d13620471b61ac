package fake

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// AdminHandler is what tests and the demonstration play the rest of the world with, below
// /admin/: people who push, outages, lost replies. It asks for no credential, so it must
// be served where only they can reach it.
func (g *GitHub) AdminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /admin/repositories", func(w http.ResponseWriter, r *http.Request) {
		var in struct{ Repository string }
		if !take(w, r, &in) {
			return
		}
		repo, err := parseRepository(in.Repository)
		if err == nil {
			g.AddRepository(repo)
		}
		answer(w, r, err, http.StatusCreated, map[string]any{"repository": repo.String()})
	})
	mux.HandleFunc("POST /admin/jobs", g.adminQueue)
	mux.HandleFunc("GET /admin/jobs", func(w http.ResponseWriter, r *http.Request) { answer(w, r, nil, http.StatusOK, g.allJobs()) })
	mux.HandleFunc("GET /admin/jobs/{id}", func(w http.ResponseWriter, r *http.Request) {
		j, ok := g.State(number(r, "id"))
		if !ok {
			answer(w, r, notFound("job "+r.PathValue("id")), 0, nil)
			return
		}
		answer(w, r, nil, http.StatusOK, j)
	})
	mux.HandleFunc("POST /admin/jobs/{id}/cancel", func(w http.ResponseWriter, r *http.Request) {
		g.Cancel(number(r, "id"))
		w.WriteHeader(http.StatusAccepted)
	})
	mux.HandleFunc("GET /admin/runners", func(w http.ResponseWriter, r *http.Request) {
		rows := []any{}
		for _, x := range g.Registrations() {
			rows = append(rows, runnerJSON(x))
		}
		answer(w, r, nil, http.StatusOK, rows)
	})
	mux.HandleFunc("POST /admin/hooks", g.adminHook)
	mux.HandleFunc("GET /admin/deliveries", func(w http.ResponseWriter, r *http.Request) {
		rows := []any{}
		for _, d := range g.Sent() {
			rows = append(rows, map[string]any{"id": d.ID, "guid": d.GUID, "at": timeOrNull(d.At), "event": d.Event, "action": d.Action, "code": d.Code, "redelivery": d.Redelivery})
		}
		answer(w, r, nil, http.StatusOK, rows)
	})
	mux.HandleFunc("POST /admin/weather", g.adminWeather)
	mux.HandleFunc("GET /admin/calls", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		out := map[string]int{}
		for op, n := range g.calls {
			out[op] = n
		}
		g.mu.Unlock()
		answer(w, r, nil, http.StatusOK, out)
	})
	return mux
}

func parseRepository(s string) (forge.Repository, error) {
	owner, name, ok := strings.Cut(s, "/")
	if !ok || owner == "" || name == "" || strings.Contains(name, "/") {
		return forge.Repository{}, forge.Fail(forge.Invalid, fmt.Sprintf("repository %q is not of the form owner/name", s), "", nil)
	}
	return forge.Repository{Owner: owner, Name: name}, nil
}

func (g *GitHub) adminQueue(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Repository string
		JobSpec
		Jobs  []JobSpec // of one run; in place of the fields of a single job
		Count int       // so many of each
	}
	if !take(w, r, &in) {
		return
	}
	repo, err := parseRepository(in.Repository)
	if err != nil {
		answer(w, r, err, 0, nil)
		return
	}
	if len(in.Jobs) == 0 {
		in.Jobs = []JobSpec{in.JobSpec}
	}
	var specs []JobSpec
	for range max(1, min(in.Count, 1000)) {
		specs = append(specs, in.Jobs...)
	}
	g.AddRepository(repo)
	answer(w, r, nil, http.StatusCreated, map[string]any{"jobs": g.Start(repo, specs...)})
}

func (g *GitHub) adminHook(w http.ResponseWriter, r *http.Request) {
	var in struct{ Scope, URL, Secret string }
	if !take(w, r, &in) {
		return
	}
	var scope slipway.ForgeScope
	scope.Owner, scope.Repository, _ = strings.Cut(in.Scope, "/")
	if !strings.HasPrefix(in.URL, "http://") && !strings.HasPrefix(in.URL, "https://") {
		answer(w, r, forge.Fail(forge.Invalid, "the hook's url is no http:// or https:// address", "", nil), 0, nil)
		return
	}
	answer(w, r, nil, http.StatusCreated, map[string]any{"id": g.AddWebhook(scope, in.URL, in.Secret, g.HookClient())})
}

// JobState is a job as /admin shows it, with all that is known of it.
type JobState struct {
	ID         int64        `json:"id"`
	RunID      int64        `json:"run_id"`
	Attempt    int          `json:"attempt"`
	Repository string       `json:"repository"`
	Name       string       `json:"name"`
	Labels     []string     `json:"labels"`
	Status     string       `json:"status"`
	Conclusion string       `json:"conclusion"`
	Runner     string       `json:"runner"`
	QueuedAt   time.Time    `json:"queued_at"`
	StartedAt  time.Time    `json:"started_at"`
	EndedAt    time.Time    `json:"ended_at"`
	Steps      []StepReport `json:"steps"`
	Log        string       `json:"log"`
}

// State is all that is known of a job.
func (g *GitHub) State(id int64) (JobState, bool) {
	for _, j := range g.allJobs() {
		if j.ID == id {
			return j, true
		}
	}
	return JobState{}, false
}

func (g *GitHub) allJobs() []JobState {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lapse()
	out := []JobState{}
	for _, j := range g.sortedJobs() {
		steps := []StepReport{}
		for _, s := range j.Steps {
			steps = append(steps, StepReport{Number: s.Number, Name: s.Name, Conclusion: s.Conclusion})
		}
		out = append(out, JobState{
			ID: j.ID, RunID: j.RunID, Attempt: j.Attempt, Repository: j.repo.String(), Name: j.Name, Labels: j.Labels, Status: string(j.State), Conclusion: j.Conclusion,
			Runner: j.Runner, QueuedAt: j.QueuedAt, StartedAt: j.StartedAt, EndedAt: j.EndedAt, Steps: steps, Log: g.logs[j.ID],
		})
	}
	return out
}

// adminWeather changes only what is named.
func (g *GitHub) adminWeather(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Away           *bool
		Revoked        *bool
		LatencyMillis  *int    `json:"latency_ms"`
		ThrottleSecs   *int    `json:"throttle_seconds"`
		LoseReply      *string `json:"lose_reply"`      // an operation of the contract, or "" for any
		LoseDeliveries *int    `json:"lose_deliveries"` // so many
		RefuseVersion  *string `json:"refuse_version"`
		Shuffle        *bool
	}
	if !take(w, r, &in) {
		return
	}
	apply(in.Away, g.Outage)
	apply(in.Revoked, g.Revoke)
	apply(in.LatencyMillis, func(ms int) { g.Slow(time.Duration(ms) * time.Millisecond) })
	apply(in.ThrottleSecs, func(s int) { g.Throttle(time.Duration(s) * time.Second) })
	apply(in.LoseReply, func(op string) { g.Break(Fault{Op: op, Lost: true}) })
	apply(in.LoseDeliveries, g.LoseDeliveries)
	apply(in.RefuseVersion, g.RefuseVersion)
	apply(in.Shuffle, g.Shuffle)
	w.WriteHeader(http.StatusNoContent)
}

func apply[T any](v *T, f func(T)) {
	if v != nil {
		f(*v)
	}
}
