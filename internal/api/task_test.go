package api

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/wire"
)

// These tests stand on a real SQLite database.

func TestADeployIsATask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.furnish()
	if a.Application != "shop/dev/guestbook" || a.Change != 1 || a.Kind != "install" || a.Revision != 1 || a.Task.State != "queued" {
		t.Errorf("accepted = %+v", a)
	}
	var p wire.Plan
	w.must(200, "POST", "/environments/shop/dev/applications:plan", w.reader, wire.SpecInput{Spec: application("1.1.0")}, &p)
	if p.Revision != 1 || p.NewRevision != 2 || p.Kind != "upgrade" || len(p.Diff) != 1 || p.Diff[0].Old != "1.0.0" {
		t.Errorf("plan = %+v", p)
	}
	if !strings.HasPrefix(p.Summary, "runs: upgrade pre (backup), upgrade") {
		t.Errorf("summary = %q", p.Summary)
	}
	body := wire.Deploy{Spec: application("1.1.0"), ExpectedRevision: 0}
	if r := w.do("POST", "/environments/shop/dev/applications", w.writer, body); r.status != 409 || r.problem(t).Hint == "" {
		t.Errorf("a deploy that expects an old revision = %d %s, want 409", r.status, r.body)
	}
	body.ExpectedRevision = 1
	var first, again wire.Accepted
	w.must(202, "POST", "/environments/shop/dev/applications", w.writer, body, &first, "Idempotency-Key", "k")
	w.must(202, "POST", "/environments/shop/dev/applications", w.writer, body, &again, "Idempotency-Key", "k")
	if again.Task.ID != first.Task.ID || !again.Repeated || first.Repeated {
		t.Errorf("the same key gave task %d, then %d (repeated %v)", first.Task.ID, again.Task.ID, again.Repeated)
	}
	var r wire.Revision
	w.must(200, "GET", fmt.Sprintf("/applications/%d/revisions/2", a.ApplicationID), w.reader, nil, &r)
	if r.Source != application("1.1.0") || r.CreatedBy != "wilma" {
		t.Errorf("revision = %+v", r)
	}
	w.must(202, "POST", fmt.Sprintf("/tasks/%d/cancel", first.Task.ID), w.writer, nil, nil)
}

func TestFaultsOfASpecHaveTheirPlaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.furnish()
	bad := application("1.0.0") + "\n[components.wbe]\nreplicas = \"two\"\n"
	p := w.must(422, "POST", "/environments/shop/dev/applications:validate", w.reader, wire.SpecInput{Spec: bad, File: "guestbook.toml"}, nil).problem(t)
	if len(p.Fields) == 0 || p.Fields[0].File != "guestbook.toml" || p.Fields[0].Line == 0 || p.Fields[0].Column == 0 {
		t.Errorf("problem = %+v, want fields with file, line and column", p)
	}
}

func TestATaskIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.furnish()
	path := fmt.Sprintf("/tasks/%d", a.Task.ID)
	var before, after wire.Task
	w.must(200, "GET", path, w.reader, nil, &before)

	start := time.Now()
	w.must(200, "GET", path+"?wait=25&seen=old", w.reader, nil, &after)
	if after.Version != before.Version || time.Since(start) > 20*time.Second {
		t.Errorf("another version than the seen one is there: answered %q after %v", after.Version, time.Since(start))
	}
	time.AfterFunc(200*time.Millisecond, func() { w.runTask(a.Task.ID) })
	w.must(200, "GET", path+"?wait=25&seen="+before.Version, w.reader, nil, &after)
	if after.State != "running" || len(after.Steps) != 1 || after.Version == before.Version || time.Since(start) > 20*time.Second {
		t.Errorf("after its start: %+v", after)
	}
	start = time.Now()
	w.must(200, "GET", path+"?wait=1&seen="+after.Version, w.reader, nil, nil)
	if took := time.Since(start); took < 900*time.Millisecond || took > 20*time.Second {
		t.Errorf("without news the answer took %v, want about a second", took)
	}
	time.AfterFunc(100*time.Millisecond, func() { close(w.stopping) })
	start = time.Now()
	w.must(200, "GET", path+"?wait=25&seen="+after.Version, w.reader, nil, nil)
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("a server that stops held the question back for %v", took)
	}
	if r := w.do("GET", path+"?wait=26", w.reader, nil); r.status != 422 {
		t.Errorf("wait=26 = %d, want 422", r.status)
	}
}

// An interrupted long poll is nobody's fault: neither an error in the log nor one in the
// metrics, which count by status.
func TestAPollThatIsInterruptedIsNoFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.furnish()
	path := fmt.Sprintf("/tasks/%d", a.Task.ID)
	var now wire.Task
	w.must(200, "GET", path, w.reader, nil, &now)
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+Prefix+path+"?wait=25&seen="+now.Version, nil)
	check(t, err)
	req.Header.Set("Authorization", "Bearer "+w.reader)
	req.Header.Set("X-Request-ID", "interrupted")
	time.AfterFunc(300*time.Millisecond, cancel)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
		t.Fatalf("the answer came before the interruption: %d", resp.StatusCode)
	}
	line := regexp.MustCompile(`level=(\w+) msg=request .* status=(\d+) .* request_id=interrupted`)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if m := line.FindStringSubmatch(w.log.String()); m != nil {
			if m[1] != "INFO" || m[2] != "499" {
				t.Errorf("it is logged as %s with the status %s, want INFO and 499", m[1], m[2])
			}
			break
		}
		if time.Now().After(end) {
			t.Fatalf("no line of it in\n%s", w.log.String())
		}
	}
	if strings.Contains(w.log.String(), "a request broke") {
		t.Errorf("it is told as a fault:\n%s", w.log.String())
	}
}

func TestOutputComesInParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.furnish()
	_, step := w.runTask(a.Task.ID)
	ctx := t.Context()
	check(t, w.store.InTx(ctx, func(tx *store.Tx) error {
		return tx.SetStepOutput(ctx, step.ID, "1\n2\n3\n4\n5\n6\n7\n", true)
	}))
	var got wire.Task
	w.must(200, "GET", fmt.Sprintf("/tasks/%d", a.Task.ID), w.reader, nil, &got)
	out := got.Steps[0].Output
	if out == nil || out.Lines != 7 || !out.Cut || strings.Join(out.Tail, "") != "34567" {
		t.Errorf("output = %+v, want the last 5 of 7 lines", out)
	}
	var whole wire.Output
	w.must(200, "GET", fmt.Sprintf("/tasks/%d/steps/%d/output", a.Task.ID, step.ID), w.reader, nil, &whole)
	if whole.Text != "1\n2\n3\n4\n5\n6\n7\n" || !whole.Cut {
		t.Errorf("whole output = %+v", whole)
	}
	if r := w.do("GET", fmt.Sprintf("/tasks/%d/steps/%d/output", a.Task.ID+1, step.ID), w.reader, nil); r.status != 404 {
		t.Errorf("a step under another task = %d, want 404", r.status)
	}
}

// mint makes the token of a task's actions.
func (w *world) mint(taskID int64) (token string) {
	w.t.Helper()
	ctx := w.t.Context()
	check(w.t, w.store.InTx(ctx, func(tx *store.Tx) (err error) {
		token, err = w.auth.MintTaskToken(ctx, tx, taskID, time.Now().Add(time.Hour))
		return err
	}))
	return token
}

func TestActionsCallInTheirStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.furnish()
	_, step := w.runTask(a.Task.ID)
	token := w.mint(a.Task.ID)
	stop := wire.NewActionCall{Primitive: "stop_components", Arguments: map[string]any{"components": []string{"worker"}}}
	head := []string{"X-Slipway-Step", fmt.Sprint(step.ID), "Idempotency-Key", "run-1/1/1"}

	var first, again wire.ActionCall
	w.must(202, "POST", "/action-calls", token, stop, &first, head...)
	w.must(202, "POST", "/action-calls", token, stop, &again, head...)
	if first.Task == 0 || again.ID != first.ID || first.State != "running" {
		t.Errorf("calls = %+v, then %+v; want one with a task of its own", first, again)
	}
	if r := w.do("POST", "/action-calls", w.admin, stop, head...); r.status != 403 {
		t.Errorf("a person's call = %d %s, want 403", r.status, r.body)
	}
	if r := w.do("POST", "/action-calls", token, stop, "X-Slipway-Step", fmt.Sprint(step.ID)); r.status != 422 {
		t.Errorf("a call without a key = %d %s, want 422", r.status, r.body)
	}
	if r := w.do("GET", fmt.Sprintf("/action-calls/%d", first.ID), w.admin, nil); r.status != 404 {
		t.Errorf("a person who reads the call = %d %s, want 404", r.status, r.body)
	}

	var parent wire.Task
	w.must(200, "GET", fmt.Sprintf("/tasks/%d", a.Task.ID), w.reader, nil, &parent)
	if len(parent.Steps[0].Tasks) != 1 || parent.Steps[0].Tasks[0].Type != "Stop components" {
		t.Errorf("linked tasks = %+v", parent.Steps[0].Tasks)
	}
	var child wire.Task
	w.must(200, "GET", fmt.Sprintf("/tasks/%d", first.Task), w.reader, nil, &child)
	if child.StartedBy == nil || child.StartedBy.Type != "Install" || child.StartedBy.TaskID != a.Task.ID {
		t.Errorf("started by = %+v, want the install task", child.StartedBy)
	}

	note := fmt.Sprintf("/tasks/%d/steps/%d/notes", a.Task.ID, step.ID)
	w.must(204, "POST", note, token, wire.NewNote{Text: "half way"}, nil)
	if r := w.do("POST", note, w.admin, wire.NewNote{Text: "x"}); r.status != 403 {
		t.Errorf("an administrator's note = %d %s, want 403", r.status, r.body)
	}

	// What an administrator does takes effect at the next call, in words for an administrator.
	w.must(200, "PATCH", "/users/slipway-actions", w.admin, `{"role":"read-only"}`, nil)
	for _, r := range []response{w.do("GET", fmt.Sprintf("/action-calls/%d", first.ID), token, nil), w.do("POST", "/action-calls", token, stop, head...)} {
		if p := r.problem(t); r.status != 403 || p.Detail != "user slipway-actions has the role read-only, and this needs read-write" || p.Hint != "an administrator can change its role under Users" {
			t.Errorf("a call of a reader = %d %s (%s)", r.status, p.Detail, p.Hint)
		}
	}
	w.must(200, "PATCH", "/users/slipway-actions", w.admin, `{"role":"read-write"}`, nil)
	w.must(200, "PATCH", "/users/slipway-actions", w.admin, `{"active":false}`, nil)
	p := w.must(401, "GET", fmt.Sprintf("/action-calls/%d", first.ID), token, nil, nil).problem(t)
	if p.Detail != "user slipway-actions is deactivated" {
		t.Errorf("a deactivated user's call: %s", p.Detail)
	}
}

func TestARunOfAnActionNamesItsPageInPrefect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.furnish()
	_, step := w.runTask(a.Task.ID)
	ctx := t.Context()
	check(t, w.store.InTx(ctx, func(tx *store.Tx) error {
		for _, r := range []slipway.ActionRun{{StepID: step.ID, Action: "migrate", Key: "a", FlowRunID: "0b8f"}, {StepID: step.ID, Action: "check", Key: "b"}} {
			if _, err := tx.CreateActionRun(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}))
	var got wire.Task
	w.must(200, "GET", fmt.Sprintf("/tasks/%d", a.Task.ID), w.reader, nil, &got)
	runs := got.Steps[0].Runs
	if len(runs) != 2 || runs[0].URL != "http://prefect.example/runs/flow-run/0b8f" || runs[1].URL != "" {
		t.Errorf("runs = %+v, want the page of the one that Prefect knows", runs)
	}
}

// listen reads the event stream until an event of a kind has come, or fails. Those of
// what the test did before may come first.
func (w *world) listen(token, query, until string, ready func()) (ids []string, kinds []string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+Prefix+"/events"+query, nil)
	check(w.t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	check(w.t, err)
	defer resp.Body.Close()
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || ct != "text/event-stream" {
		w.t.Fatalf("GET /events = %d %s", resp.StatusCode, ct)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if lines.Text() == ": welcome" && ready != nil {
			ready()
		}
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			ids = append(ids, id)
		}
		if kind, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
			if kinds = append(kinds, kind); kind == until {
				return ids, kinds
			}
		}
	}
	w.t.Fatalf("the stream ended after %v: %v", kinds, lines.Err())
	return nil, nil
}

func TestEventsReachWhoMaySeeThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.furnish()
	ids, _ := w.listen(w.reader, "", "task.changed", func() { w.runTask(a.Task.ID) })
	// Who comes back with the last ID gets what happened meanwhile.
	add := func(project, kind string) {
		check(t, w.store.InTx(t.Context(), func(tx *store.Tx) error {
			return tx.AddEvent(t.Context(), slipway.Event{Kind: kind, Noun: "task", NounID: 1, Project: project, Environment: "dev"})
		}))
	}
	add("shop", "missed")
	w.listen(w.reader, "?after="+ids[len(ids)-1], "missed", nil)
	// A confined token hears of its own environment only.
	var tok wire.TokenValue
	w.must(201, "POST", "/tokens", w.admin, wire.NewToken{Name: "ci", Project: "shop", Environment: "dev"}, &tok)
	_, kinds := w.listen(tok.Value, "", "own", func() {
		add("bank", "of.others")
		add("", "of.all")
		add("shop", "own")
	})
	if all := strings.Join(kinds, " "); strings.Contains(all, "of.") {
		t.Errorf("the confined token heard %s, want events of its own environment only", all)
	}
}

func TestTheStreamEndsWithTheServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	start := time.Now()
	time.AfterFunc(200*time.Millisecond, func() { close(w.stopping) })
	req, err := http.NewRequestWithContext(t.Context(), "GET", w.url+Prefix+"/events", nil)
	check(t, err)
	req.Header.Set("Authorization", "Bearer "+w.reader)
	resp, err := http.DefaultClient.Do(req)
	check(t, err)
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		_ = lines.Text()
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("the stream lived %v longer than its server", took)
	}
}
