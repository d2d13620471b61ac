package prefect

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeAuth is the auth string of the fake server; errors must never show it.
const fakeAuth = "slipway:Xq7fakepassword"

// fake is an in-process Prefect server: flow runs and the rules of state transitions that
// our side depends on, each read in Prefect 3.9 and also run against the real one (see the
// tests with the build tag e2e). It can fail, or lose its reply, on request.
type fake struct {
	*httptest.Server
	mu     sync.Mutex
	runs   map[string]*FlowRun
	byKey  map[string]string
	logs   []map[string]any
	pools  map[string]bool
	waits  map[string]int  // flow run → how many WAITs before an answer
	held   map[string]bool // flow run → refuses to leave CANCELLING or AwaitingRetry without force
	faults []fault
	calls  []string // "POST /flows/"
}

// fault is what happens to the next call of a path that ends so.
type fault struct {
	suffix string
	status int  // answered instead
	lose   bool // do the work, and cut the connection before the answer
	header string
}

func newFake(tb testing.TB) *fake {
	tb.Helper()
	f := &fake{runs: map[string]*FlowRun{}, byKey: map[string]string{}, pools: map[string]bool{}, waits: map[string]int{}, held: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/health", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, true) })
	mux.HandleFunc("GET /api/admin/version", func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, "3.9.1") })
	mux.HandleFunc("POST /api/flows/", func(w http.ResponseWriter, _ *http.Request) { answer(w, 201, map[string]string{"id": "flow-1"}) })
	mux.HandleFunc("POST /api/deployments/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/create_flow_run") {
			f.create(w, r)
			return
		}
		answer(w, 201, map[string]string{"id": "deployment-1"})
	})
	mux.HandleFunc("POST /api/work_pools/", f.workPools)
	mux.HandleFunc("GET /api/flow_runs/{id}", func(w http.ResponseWriter, r *http.Request) {
		f.withRun(w, r, func(run *FlowRun) { answer(w, 200, run) })
	})
	mux.HandleFunc("PATCH /api/flow_runs/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /api/flow_runs/{id}/set_state", func(w http.ResponseWriter, r *http.Request) {
		f.withRun(w, r, func(run *FlowRun) { f.setState(w, r, run) })
	})
	mux.HandleFunc("POST /api/logs/", f.writeLogs)
	mux.HandleFunc("POST /api/logs/filter", f.readLogs)
	f.Server = httptest.NewServer(f.middleware(mux))
	tb.Cleanup(f.Close)
	return f
}

func (f *fake) Endpoint() Endpoint { return Endpoint{API: f.URL + "/api", Auth: fakeAuth} }

// client returns a client that gives up soon.
func (f *fake) client() *Client { return NewClient(f, ClientOptions{RetryFor: 3 * time.Second}) }

// add puts a run there in the given state.
func (f *fake) add(state StateType) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	id := newUUID()
	f.runs[id] = &FlowRun{ID: id, FlowID: "flow-1", State: State{Type: state, Name: string(state)}, Created: time.Now()}
	return id
}

func (f *fake) state(id string) State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs[id].State
}

func (f *fake) fail(faults ...fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, faults...)
}

func (f *fake) count(call string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if strings.HasPrefix(c, call) {
			n++
		}
	}
	return n
}

// middleware checks what the real server insists on, and makes the faults.
func (f *fake) middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/api")
		f.mu.Lock()
		f.calls = append(f.calls, r.Method+" "+path)
		var now fault
		for i, x := range f.faults {
			if strings.HasSuffix(path, x.suffix) {
				now, f.faults = x, append(f.faults[:i:i], f.faults[i+1:]...)
				break
			}
		}
		f.mu.Unlock()
		user, password, _ := r.BasicAuth()
		switch {
		case now.status != 0:
			if now.header != "" {
				w.Header().Set("Retry-After", now.header)
			}
			answer(w, now.status, map[string]string{"detail": "fault for " + r.Header.Get("Authorization") + " " + user + ":" + password})
		case path != "/health" && user+":"+password != fakeAuth:
			answer(w, 401, map[string]string{"exception_message": "Unauthorized"})
		case r.Header.Get("Content-Type") != "application/json" || r.Header.Get("X-PREFECT-API-VERSION") != "0.8.4":
			answer(w, 400, map[string]string{"detail": "wrong headers"})
		case now.lose:
			next.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func (f *fake) withRun(w http.ResponseWriter, r *http.Request, do func(*FlowRun)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	run := f.runs[r.PathValue("id")]
	if run == nil {
		answer(w, 404, map[string]string{"detail": "Flow run not found"})
		return
	}
	do(run)
}

func (f *fake) create(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Name           string
		IdempotencyKey string `json:"idempotency_key"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	f.mu.Lock()
	defer f.mu.Unlock()
	if id := f.byKey[in.IdempotencyKey]; id != "" {
		answer(w, 200, f.runs[id])
		return
	}
	run := &FlowRun{ID: newUUID(), FlowID: "flow-1", Name: in.Name, IdempotencyKey: in.IdempotencyKey, State: State{Type: Scheduled, Name: "Scheduled"}, Created: time.Now()}
	f.runs[run.ID], f.byKey[in.IdempotencyKey] = run, run.ID
	answer(w, 201, run)
}

func (f *fake) workPools(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/work_pools/")
	f.mu.Lock()
	defer f.mu.Unlock()
	switch name, rest, _ := strings.Cut(path, "/"); {
	case path == "":
		var in struct{ Name string }
		_ = json.NewDecoder(r.Body).Decode(&in)
		if f.pools[in.Name] {
			answer(w, 409, map[string]string{"detail": "exists"})
			return
		}
		f.pools[in.Name] = true
		answer(w, 201, map[string]string{"name": in.Name})
	case !f.pools[name]:
		answer(w, 404, map[string]string{"detail": "Work pool not found"})
	case rest == "workers/heartbeat":
		w.WriteHeader(http.StatusNoContent)
	case rest == "get_scheduled_flow_runs":
		var due []map[string]any
		for _, run := range f.runs {
			if run.State.Type == Scheduled {
				due = append(due, map[string]any{"flow_run": run})
			}
		}
		answer(w, 200, due)
	}
}

// setState keeps the rules of Prefect's core policy that we meet.
func (f *fake) setState(w http.ResponseWriter, r *http.Request, run *FlowRun) {
	var in struct {
		State State
		Force bool
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	now, next := run.State.Type, in.State.Type
	reply := func(status Answer, reason string) {
		out := map[string]any{"status": status, "details": map[string]any{"reason": reason, "delay_seconds": 0.1}}
		if status == Accept || status == Reject {
			out["state"] = run.State
		}
		answer(w, 201, out)
	}
	accept := func(s State) {
		run.State = s
		reply(Accept, "")
	}
	switch {
	case run.State.Details.TransitionID != "" && run.State.Details.TransitionID == in.State.Details.TransitionID:
		reply(Reject, "This run has already made this state transition.")
	case in.Force:
		accept(in.State)
	case f.waits[run.ID] > 0:
		f.waits[run.ID]--
		reply(wait, "too early")
	case next == Pending && now != Scheduled:
		reply(Abort, "This run is in a "+string(now)+" state and cannot transition to a PENDING state.")
	case now.Terminal() && (next == Crashed || next == Cancelling):
		reply(Abort, "This run has already terminated.")
	case now == Cancelling && next != Cancelled, f.held[run.ID]:
		reply(Reject, "held")
	default:
		accept(in.State)
	}
}

func (f *fake) writeLogs(w http.ResponseWriter, r *http.Request) {
	var in []map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logs = append(f.logs, in...)
	w.WriteHeader(http.StatusCreated)
}

func (f *fake) readLogs(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Logs struct {
			FlowRunID struct {
				Any []string `json:"any_"`
			} `json:"flow_run_id"`
			Level struct {
				GE float64 `json:"ge_"`
			}
		}
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	f.mu.Lock()
	defer f.mu.Unlock()
	found := []map[string]any{}
	for _, l := range f.logs {
		if l["flow_run_id"] == in.Logs.FlowRunID.Any[0] && l["level"].(float64) >= in.Logs.Level.GE {
			found = append(found, l)
		}
	}
	answer(w, 200, found)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(fmt.Sprint("encode the fake's answer: ", err))
	}
}
