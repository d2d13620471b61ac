package author

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// Call is one call of a primitive, with what came of it.
type Call struct {
	At        time.Time         `json:"-"`
	Primitive slipway.Primitive `json:"primitive"`
	Args      []string          `json:"args"` // components, the command's arguments, or the one version or component
	EnvFrom   string            `json:"env_from,omitempty"`
	Command   *Command          `json:"command,omitempty"` // of execute_commands
	Task      int64             `json:"task,omitempty"`    // that it would have started; 0: none
	Result    map[string]any    `json:"result,omitempty"`
	Code      string            `json:"code,omitempty"` // of a failed call
	Error     string            `json:"error,omitempty"`
	Output    string            `json:"output,omitempty"` // of a failed command
	Notes     []string          `json:"notes,omitempty"`
}

// images are those that get_component_images has answered.
func (c Call) images() []string {
	images, _ := c.Result["images"].([]string)
	return images
}

// door answers the calls of the action that runs. Actions run one at a time.
type door struct {
	mu      sync.Mutex
	running *running
	next    int64
}

// running is the action that runs, and what its calls are answered from.
type running struct {
	cluster *cluster
	frozen  spec.GlobalContext
	kind    slipway.TaskKind
	version func(target string, call *Call) *failure // upgrade_deployment_version
	task    string                                   // "upgrade task 2"
	token   string
	calls   []Call
	answers map[string][]byte // by key: a repeated request is the same call
	unknown []string
}

const maxCall = 1 << 20

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.running
	switch {
	case now == nil || r.Header.Get("Authorization") != "Bearer "+now.token:
		respond(w, http.StatusUnauthorized, map[string]string{"detail": "no action runs with this token"})
		return
	case r.Method != http.MethodPost || r.URL.Path != "/api/v1/action-calls":
		now.unknown = append(now.unknown, r.Method+" "+r.URL.Path)
		respond(w, http.StatusNotFound, map[string]string{
			"detail": fmt.Sprintf("a test has no Slipway server: it answers the primitives, not %s %s", r.Method, r.URL.Path),
		})
		return
	}
	key := r.Header.Get("Idempotency-Key")
	if said, ok := now.answers[key]; ok && key != "" {
		respondRaw(w, said)
		return
	}
	var in struct {
		Primitive slipway.Primitive `json:"primitive"`
		Arguments json.RawMessage   `json:"arguments"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, maxCall)).Decode(&in); err != nil {
		respond(w, http.StatusUnprocessableEntity, map[string]string{"detail": "the call cannot be read: " + err.Error()})
		return
	}
	flowRun, _, _ := strings.Cut(key, "/")
	call := Call{At: time.Now(), Primitive: in.Primitive}
	if f := now.answer(r.Context(), &call, in.Arguments, flowRun); f != nil {
		call.Code, call.Error, call.Output = f.code, f.text, f.output
	}
	now.calls = append(now.calls, call)
	d.next++
	state := slipway.CallSucceeded
	if call.Code != "" {
		state = slipway.CallFailed
	}
	said, err := json.Marshal(map[string]any{
		"id": d.next, "state": state, "primitive": call.Primitive, "task": call.Task, "result": call.Result, "code": call.Code, "error": call.Error,
	})
	if err != nil {
		respond(w, http.StatusInternalServerError, map[string]string{"detail": err.Error()})
		return
	}
	now.answers[key] = said
	respondRaw(w, said)
}

// answer carries out one call.
func (r *running) answer(_ context.Context, call *Call, raw json.RawMessage, flowRun string) *failure {
	var args struct {
		Components []string `json:"components"`
		Component  string   `json:"component"`
		Target     string   `json:"target_version"`
		executeArgs
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return &failure{slipway.CodeInvalidArgument, fmt.Sprintf("the arguments of %s cannot be read: %v", call.Primitive, err), ""}
	}
	switch call.Primitive {
	case slipway.StopComponents, slipway.StartComponents:
		call.Args = args.Components
		return r.cluster.turn(args.Components, call.Primitive == slipway.StopComponents, call)
	case slipway.ChangeVersion:
		call.Args = []string{args.Target}
		return r.version(args.Target, call)
	case slipway.ComponentImages:
		call.Args = []string{args.Component}
		return r.cluster.images(args.Component, r.frozen, call)
	case slipway.ExecuteCommands:
		call.Args, call.EnvFrom = args.Commands, args.EnvFromComponent
		return r.cluster.execute(args.executeArgs, r.frozen, flowRun, r.task, call)
	}
	return &failure{slipway.CodeInvalidArgument, fmt.Sprintf("there is no primitive %q", call.Primitive), ""}
}

// open lets an action in, and close takes what it has called.
func (d *door) open(r *running) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r.answers = map[string][]byte{}
	d.running = r
}

func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = nil
}

func respond(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the action may be gone
}

func respondRaw(w http.ResponseWriter, said []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(said) // the action may be gone
}
