package fake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// tell sends a job's delivery to every hook of its repository and organization. A test's
// own receiver is called without the lock given up, so it must not call back; a webhook's
// URL is called from its outbox.
func (g *GitHub) tell(j *job, action string) {
	payload := g.envelope(j.repo, action)
	payload["workflow_job"] = jobPayload(j)
	g.send(j.repo, "workflow_job", action, payload)
}

func (g *GitHub) tellRun(w *run) {
	payload := g.envelope(w.repo, w.Status)
	payload["workflow_run"], payload["workflow"] = g.runPayload(w), workflowJSON(w.repo)
	g.send(w.repo, "workflow_run", w.Status, payload)
}

func (g *GitHub) send(r forge.Repository, event, action string, payload any) {
	raw, err := json.Marshal(payload)
	if err != nil {
		panic(err) // maps of plain values
	}
	for _, id := range sortedKeys(g.hooks) {
		h := g.hooks[id]
		if !h.App && !h.Scope.Covers(r.Owner, r.Name) {
			continue
		}
		guid := fmt.Sprintf("%08x-0000-4000-8000-%012x", id-firstID, g.id())
		g.attempt(h, guid, event, action, raw, false)
	}
}

func (g *GitHub) attempt(h *hook, guid, event, action string, payload []byte, again bool) {
	d := &delivery{hook: h.ID, payload: payload, Delivery: forge.Delivery{
		ID: g.id(), GUID: guid, At: g.now().UTC().Truncate(time.Second), Event: event, Action: action, Redelivery: again,
	}}
	if h.outbox != nil {
		g.post(h, d)
		return
	}
	if h.receive != nil {
		if d.Code = h.receive(event, guid, payload); d.Code == Later {
			g.pending = append(g.pending, d)
			return
		}
	}
	g.sent = append(g.sent, d)
}

// Later is what a test's own receiver returns for a delivery that is still on its way: it
// is listed once Answer has told how it went.
const Later = -1

// Answer ends the oldest attempt at a delivery of which its receiver said Later. The code
// is the status that it was answered with, 0 for none.
func (g *GitHub) Answer(guid string, code int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.pending, func(d *delivery) bool { return d.GUID == guid })
	if i < 0 {
		return
	}
	d := g.pending[i]
	g.pending = slices.Delete(g.pending, i, i+1)
	d.Code, d.At = code, g.now().UTC().Truncate(time.Second)
	g.sent = append(g.sent, d)
}

func runJSON(w forge.Run) map[string]any {
	return map[string]any{
		"id": w.ID, "name": w.Name, "run_attempt": w.Attempt, "status": w.Status, "conclusion": orNull(w.Conclusion),
		"created_at": w.CreatedAt.Format(time.RFC3339), "updated_at": w.UpdatedAt.Format(time.RFC3339), "html_url": w.URL,
	}
}

func jobJSON(j forge.Job) map[string]any {
	steps := []any{}
	for _, s := range j.Steps {
		steps = append(steps, map[string]any{
			"number": s.Number, "name": s.Name, "status": s.Status, "conclusion": orNull(s.Conclusion), "started_at": timeOrNull(s.StartedAt), "completed_at": timeOrNull(s.EndedAt),
		})
	}
	labels := j.Labels
	if labels == nil {
		labels = []string{}
	}
	out := map[string]any{
		"id": j.ID, "run_id": j.RunID, "run_attempt": j.Attempt, "name": j.Name, "labels": labels, "status": string(j.State), "conclusion": orNull(j.Conclusion),
		"created_at": timeOrNull(j.QueuedAt), "started_at": timeOrNull(j.QueuedAt), "completed_at": timeOrNull(j.EndedAt), "steps": steps,
		"workflow_name": j.Workflow, "head_branch": j.Branch, "html_url": j.URL,
		"runner_id": nil, "runner_name": nil, "runner_group_id": nil, "runner_group_name": nil,
	}
	if !j.StartedAt.IsZero() {
		out["started_at"] = timeOrNull(j.StartedAt) // equal to created_at until it runs
	}
	if j.State != slipway.JobQueued && j.RunnerID != 0 {
		out["runner_id"], out["runner_name"], out["runner_group_id"], out["runner_group_name"] = j.RunnerID, j.Runner, j.Group, "Default"
	}
	return out
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return strings.Replace(t.UTC().Format(time.RFC3339), "+00:00", "Z", 1)
}
