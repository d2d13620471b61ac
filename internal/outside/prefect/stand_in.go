package prefect

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// standIn answers an engine as a Prefect server would, from memory: the requests that
// every flow run makes, those of a flow within a flow, and the rule by which a failed flow
// is run again. What else Prefect's server can do (variables, blocks, limits across flows)
// it does not have, and it remembers what it was asked for.
type standIn struct {
	*http.ServeMux
	mu   sync.Mutex
	runs map[string]*standRun
}

// standRun is one flow run as the stand-in knows it.
type standRun struct {
	id, name, flow string
	params         map[string]any
	state          map[string]any // as the engine wrote it: the result's description is in it
	policy         struct {
		Retries *int `json:"retries"`
	}
	count        int // how often it began
	began, ended time.Time
	logs         []LogRecord
	unknown      []string
}

func newStandIn() *standIn {
	s := &standIn{ServeMux: http.NewServeMux(), runs: map[string]*standRun{}}
	s.HandleFunc("GET /api/flow_runs/{id}", s.read)
	s.HandleFunc("PATCH /api/flow_runs/{id}", s.patch)
	s.HandleFunc("POST /api/flow_runs/{id}/set_state", s.setState)
	s.HandleFunc("POST /api/flow_runs/{$}", s.create)
	s.HandleFunc("POST /api/flow_runs/filter", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, []any{}) })
	s.HandleFunc("POST /api/flows/", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusCreated, map[string]any{"id": newUUID(), "name": "flow"})
	})
	s.HandleFunc("GET /api/admin/storage", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, map[string]any{}) })
	s.HandleFunc("POST /api/logs/", s.writeLogs)
	s.HandleFunc("POST /api/task_runs/", s.createTask)
	s.HandleFunc("/", s.other)
	return s
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the engine may be gone
}

// maxStandInBody bounds what is read of one request; a log batch of Prefect is 1 MB.
const maxStandInBody = 8 << 20

func readBody(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(io.LimitReader(r.Body, maxStandInBody)).Decode(into)
	if err != nil {
		reply(w, http.StatusUnprocessableEntity, map[string]string{"detail": err.Error()})
	}
	return err == nil
}

// add makes the flow run of an action, claimed already.
func (s *standIn) add(name string, params map[string]any) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := &standRun{id: newUUID(), name: name, flow: newUUID(), params: params, state: stateOf(Pending, "Pending", "")}
	s.runs[run.id] = run
	return run.id
}

func stateOf(t StateType, name, message string) map[string]any {
	return map[string]any{
		"id": newUUID(), "type": t, "name": name, "message": message,
		"timestamp": time.Now().UTC().Format(time.RFC3339Nano), "state_details": map[string]any{}, "data": nil,
	}
}

func (r *standRun) json() map[string]any {
	return map[string]any{
		"id": r.id, "flow_id": r.flow, "name": r.name, "parameters": r.params, "run_count": r.count,
		"state": r.state, "state_type": r.state["type"], "state_name": r.state["name"], "state_id": r.state["id"],
		"context": map[string]any{}, "tags": []string{}, "labels": map[string]any{}, "empirical_policy": map[string]any{"retries": r.policy.Retries},
	}
}

// with finds the run of a request.
func (s *standIn) with(w http.ResponseWriter, r *http.Request, do func(*standRun)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.runs[r.PathValue("id")]
	if run == nil {
		reply(w, http.StatusNotFound, map[string]string{"detail": "Flow run not found"})
		return
	}
	do(run)
}

func (s *standIn) read(w http.ResponseWriter, r *http.Request) {
	s.with(w, r, func(run *standRun) { reply(w, http.StatusOK, run.json()) })
}

func (s *standIn) patch(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Policy struct {
			Retries *int `json:"retries"`
		} `json:"empirical_policy"`
	}
	if !readBody(w, r, &in) {
		return
	}
	s.with(w, r, func(run *standRun) {
		if in.Policy.Retries != nil {
			run.policy = in.Policy
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// create makes the run of a flow that an action calls.
func (s *standIn) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		FlowID     string         `json:"flow_id"`
		Name       string         `json:"name"`
		Parameters map[string]any `json:"parameters"`
		State      map[string]any `json:"state"`
		Policy     struct {
			Retries *int `json:"retries"`
		} `json:"empirical_policy"`
	}
	if !readBody(w, r, &in) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	run := &standRun{id: newUUID(), name: in.Name, flow: in.FlowID, params: in.Parameters, policy: in.Policy, state: stateOf(Pending, "Pending", "")}
	s.runs[run.id] = run
	reply(w, http.StatusCreated, run.json())
}

// createTask makes the task run that stands for a flow within a flow. Prefect asks for no
// other: the runs of tasks are told by events, which a test does not have.
func (s *standIn) createTask(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	if !readBody(w, r, &in) {
		return
	}
	in["id"] = newUUID()
	in["state"] = stateOf(Pending, "Pending", "")
	reply(w, http.StatusCreated, in)
}

// setState takes a proposed state. A flow that failed and may be tried again waits for
// that; the pause between two tries is left out.
func (s *standIn) setState(w http.ResponseWriter, r *http.Request) {
	var in struct {
		State map[string]any `json:"state"`
	}
	if !readBody(w, r, &in) {
		return
	}
	s.with(w, r, func(run *standRun) {
		kind, _ := in.State["type"].(string)
		now := time.Now().UTC()
		if StateType(kind) == Failed && run.policy.Retries != nil && run.count <= *run.policy.Retries {
			run.state = stateOf(Scheduled, "AwaitingRetry", "")
			run.state["state_details"] = map[string]any{"scheduled_time": now.Format(time.RFC3339Nano)}
			reply(w, http.StatusCreated, map[string]any{
				"state": run.state, "status": Reject,
				"details": map[string]any{"type": "reject_details", "reason": "Retrying"},
			})
			return
		}
		run.state = in.State
		if run.state["id"] == nil {
			run.state["id"] = newUUID()
		}
		run.state["timestamp"] = now.Format(time.RFC3339Nano)
		switch t := StateType(kind); {
		case t == Running:
			run.count++
			if run.began.IsZero() {
				run.began = now
			}
		case t.Terminal():
			run.ended = now
		}
		reply(w, http.StatusCreated, map[string]any{"state": run.state, "status": Accept, "details": map[string]any{"type": "accept_details"}})
	})
}

func (s *standIn) writeLogs(w http.ResponseWriter, r *http.Request) {
	var in []struct {
		Name      string    `json:"name"`
		Level     int       `json:"level"`
		Message   string    `json:"message"`
		Timestamp time.Time `json:"timestamp"`
		FlowRun   string    `json:"flow_run_id"`
	}
	if !readBody(w, r, &in) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range in {
		if run := s.runs[l.FlowRun]; run != nil {
			run.logs = append(run.logs, LogRecord{At: l.Timestamp, Level: l.Level, Logger: l.Name, Message: l.Message})
		}
	}
	w.WriteHeader(http.StatusCreated)
}

// other refuses what a test does not have, and remembers it for whoever wonders why an
// action failed.
func (s *standIn) other(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	for _, run := range s.runs {
		if run.ended.IsZero() {
			run.unknown = append(run.unknown, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/api"))
		}
	}
	s.mu.Unlock()
	reply(w, http.StatusNotFound, map[string]string{"detail": fmt.Sprintf("a test has no Prefect server, and cannot answer %s %s", r.Method, r.URL.Path)})
}

// outcome judges a run whose process has ended, as Runner.Wait does. A negative exit code
// is the signal that ended it.
func (s *standIn) outcome(id string, exit int) Rehearsed {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := s.runs[id]
	kind, _ := run.state["type"].(string)
	name, _ := run.state["name"].(string)
	text, _ := run.state["message"].(string)
	out := Rehearsed{Unknown: slices.Clone(run.unknown), Outcome: Outcome{
		State: StateType(kind), Name: name, Message: strings.TrimPrefix(text, "Flow run encountered an exception: "),
		Runs: run.count, Started: run.began, Ended: run.ended,
	}}
	for _, r := range s.runs {
		if r == run || r.began.After(run.began) { // a flow that it called; one action runs at a time
			out.Logs = append(out.Logs, r.logs...)
		}
	}
	slices.SortStableFunc(out.Logs, func(a, b LogRecord) int { return a.At.Compare(b.At) })
	if !out.State.Terminal() {
		why := fmt.Sprintf("exit code %d", exit)
		if hint := exitHints[exit]; hint != "" {
			why += "; " + hint
		}
		if exit < 0 {
			why = fmt.Sprintf("killed by signal %d (%s)", -exit, syscall.Signal(-exit))
		}
		out.State, out.Message = Crashed, "The process of the action ended without reporting a result: "+why+"."
	}
	out.Crashed = out.State == Crashed
	if i := slices.IndexFunc(out.Logs, func(l LogRecord) bool { return l.Level >= levelError }); i >= 0 && out.Crashed {
		out.FirstError = out.Logs[i].Message
	}
	return out
}
