package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// Handler speaks GitHub's REST API for the fake, below /api/v3 as an Enterprise Server does.
// Any credential that is not empty is accepted.
func (g *GitHub) Handler() http.Handler {
	mux := http.NewServeMux()
	both := func(method, path string, h func(http.ResponseWriter, *http.Request, slipway.ForgeScope)) {
		mux.HandleFunc(method+" /api/v3/orgs/{owner}/"+path, func(w http.ResponseWriter, r *http.Request) {
			h(w, r, slipway.ForgeScope{Owner: r.PathValue("owner")})
		})
		mux.HandleFunc(method+" /api/v3/repos/{owner}/{repo}/"+path, func(w http.ResponseWriter, r *http.Request) {
			h(w, r, slipway.ForgeScope{Owner: r.PathValue("owner"), Repository: r.PathValue("repo")})
		})
	}
	repo := func(method, path string, h func(http.ResponseWriter, *http.Request, forge.Repository)) {
		mux.HandleFunc(method+" /api/v3/repos/{owner}/{repo}/actions/"+path, func(w http.ResponseWriter, r *http.Request) {
			h(w, r, forge.Repository{Owner: r.PathValue("owner"), Name: r.PathValue("repo")})
		})
	}
	both("GET", "actions/runners", g.serveRunners)
	both("POST", "actions/runners/generate-jitconfig", g.serveRegister)
	both("GET", "actions/runners/downloads", g.serveDownloads)
	both("GET", "actions/runners/{id}", func(w http.ResponseWriter, r *http.Request, s slipway.ForgeScope) {
		x, err := g.Runner(r.Context(), s, number(r, "id"))
		answer(w, r, err, http.StatusOK, runnerJSON(x))
	})
	both("DELETE", "actions/runners/{id}", func(w http.ResponseWriter, r *http.Request, s slipway.ForgeScope) {
		answer(w, r, g.Unregister(r.Context(), s, number(r, "id")), http.StatusNoContent, nil)
	})
	mux.HandleFunc("GET /api/v3/orgs/{owner}/actions/runner-groups", func(w http.ResponseWriter, r *http.Request) {
		id, err := g.DefaultGroup(r.Context(), slipway.ForgeScope{Owner: r.PathValue("owner")})
		answer(w, r, err, http.StatusOK, map[string]any{"total_count": 2, "runner_groups": []any{
			map[string]any{"id": id + 6, "name": "Other", "default": false, "visibility": "selected"},
			map[string]any{"id": id, "name": "Default", "default": true, "visibility": "all"},
		}})
	})
	repo("GET", "runs", g.serveRuns)
	repo("GET", "runs/{id}", func(w http.ResponseWriter, r *http.Request, in forge.Repository) {
		x, err := g.Run(r.Context(), in, number(r, "id"))
		answer(w, r, err, http.StatusOK, runJSON(x))
	})
	repo("GET", "runs/{id}/jobs", g.serveJobs)
	repo("GET", "runs/{id}/attempts/{attempt}/jobs", g.serveJobs)
	repo("GET", "jobs/{id}", func(w http.ResponseWriter, r *http.Request, in forge.Repository) {
		x, err := g.Job(r.Context(), in, number(r, "id"))
		answer(w, r, err, http.StatusOK, jobJSON(x))
	})
	repo("GET", "jobs/{id}/logs", g.serveLog)
	mux.HandleFunc("GET /logs/{owner}/{repo}/{id}", g.serveStoredLog)
	repo("POST", "jobs/{id}/rerun", func(w http.ResponseWriter, r *http.Request, in forge.Repository) {
		answer(w, r, g.RerunJob(r.Context(), in, number(r, "id")), http.StatusCreated, map[string]any{})
	})
	repo("POST", "runs/{id}/rerun-failed-jobs", func(w http.ResponseWriter, r *http.Request, in forge.Repository) {
		answer(w, r, g.RerunFailed(r.Context(), in, number(r, "id")), http.StatusCreated, map[string]any{})
	})
	both("GET", "hooks", g.serveHooks)
	both("GET", "hooks/{hook}/deliveries", func(w http.ResponseWriter, r *http.Request, s slipway.ForgeScope) {
		g.serveDeliveries(w, r, forge.Hook{Scope: s, ID: number(r, "hook")})
	})
	both("POST", "hooks/{hook}/deliveries/{id}/attempts", func(w http.ResponseWriter, r *http.Request, s slipway.ForgeScope) {
		answer(w, r, g.Redeliver(r.Context(), forge.Hook{Scope: s, ID: number(r, "hook")}, number(r, "id")), http.StatusAccepted, map[string]any{})
	})
	mux.HandleFunc("GET /api/v3/app/hook/deliveries", func(w http.ResponseWriter, r *http.Request) { g.serveDeliveries(w, r, forge.Hook{App: true}) })
	mux.HandleFunc("POST /api/v3/app/hook/deliveries/{id}/attempts", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, g.Redeliver(r.Context(), forge.Hook{App: true}, number(r, "id")), http.StatusAccepted, map[string]any{})
	})
	g.serveApps(mux)
	return g.weather(g.tagged(mux))
}

func number(r *http.Request, name string) int64 {
	n, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

func scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// answers are GitHub's for each problem: the status, and the words by which some of them
// alone are told apart.
var answers = map[forge.Problem]struct {
	code int
	say  string
}{
	forge.Refused: {http.StatusForbidden, "Resource not accessible by personal access token"}, forge.NotFound: {http.StatusNotFound, "Not Found"},
	forge.Busy: {http.StatusUnprocessableEntity, "Runner is currently running a job and cannot be deleted."}, forge.Taken: {http.StatusConflict, "Already exists - A runner with the same name already exists."},
	forge.Running: {http.StatusForbidden, "This workflow is already running"}, forge.TooLate: {http.StatusForbidden, "Unable to retry this workflow run because it was created over a month ago"},
	forge.Invalid: {http.StatusUnprocessableEntity, "Validation Failed"}, forge.Away: {http.StatusBadGateway, "Server Error"}, forge.Throttled: {http.StatusTooManyRequests, "You have exceeded a secondary rate limit"},
}

func answer(w http.ResponseWriter, r *http.Request, err error, code int, body any) {
	var e *forge.Error
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	switch {
	case err != nil && !errors.As(err, &e):
		return // the client has gone
	case err != nil:
		a := answers[e.Problem]
		if e.Permission == "a credential that is accepted" {
			a.code, a.say = http.StatusUnauthorized, "Bad credentials"
		}
		if strings.HasPrefix(e.Permission, "access to ") {
			a.code, a.say = http.StatusNotFound, "Not Found" // GitHub does not tell that there is something
		}
		if e.Problem == forge.Throttled {
			w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter/time.Second)))
		}
		if e.Problem == forge.Refused && a.code == http.StatusForbidden {
			w.Header().Set("X-Accepted-GitHub-Permissions", "organization_self_hosted_runners=write")
		}
		code, body = a.code, map[string]any{"message": a.say, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(a.code)}
	}
	w.WriteHeader(code)
	if body != nil {
		_ = json.NewEncoder(w).Encode(body) // a client that has gone needs no answer
	}
}

// page cuts a list as the query asks, and links to the next part.
func page[T any](w http.ResponseWriter, r *http.Request, all []T) []T {
	size, from := 30, 0
	if n, err := strconv.Atoi(r.URL.Query().Get("per_page")); err == nil && n > 0 && n <= 100 {
		size = n
	}
	next := func(q url.Values) {
		u := *r.URL
		u.RawQuery = q.Encode()
		w.Header().Set("Link", fmt.Sprintf(`<%s://%s%s>; rel="next"`, scheme(r), r.Host, u.RequestURI()))
	}
	q := r.URL.Query()
	if strings.HasSuffix(r.URL.Path, "/deliveries") {
		if n, err := strconv.Atoi(strings.TrimPrefix(q.Get("cursor"), "v1_")); err == nil {
			from = n
		}
		if from+size < len(all) {
			q.Set("cursor", fmt.Sprint("v1_", from+size))
			next(q)
		}
	} else {
		n, err := strconv.Atoi(q.Get("page"))
		if err != nil || n < 1 {
			n = 1
		}
		from = (n - 1) * size
		if from+size < len(all) {
			q.Set("page", strconv.Itoa(n+1))
			next(q)
		}
	}
	if from >= len(all) {
		return []T{}
	}
	return all[from:min(from+size, len(all))]
}

func (g *GitHub) serveRunners(w http.ResponseWriter, r *http.Request, s slipway.ForgeScope) {
	all, err := g.Runners(r.Context(), s)
	if name := r.URL.Query().Get("name"); name != "" {
		var kept []forge.Runner
		for _, x := range all {
			if x.Name == name {
				kept = append(kept, x)
			}
		}
		all = kept
	}
	rows := []any{}
	for _, x := range page(w, r, all) {
		rows = append(rows, runnerJSON(x))
	}
	answer(w, r, err, http.StatusOK, map[string]any{"total_count": len(all), "runners": rows})
}

func (g *GitHub) serveRegister(w http.ResponseWriter, r *http.Request, s slipway.ForgeScope) {
	var in struct {
		Name   string   `json:"name"`
		Group  int64    `json:"runner_group_id"`
		Labels []string `json:"labels"`
	}
	raw, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(raw, &in)
	}
	if err != nil {
		answer(w, r, forge.Fail(forge.Invalid, "no JSON", "", err), 0, nil)
		return
	}
	c, err := g.Register(r.Context(), s, forge.Registration{Name: in.Name, Labels: in.Labels, Group: in.Group})
	answer(w, r, err, http.StatusCreated, map[string]any{"runner": runnerJSON(c.Runner), "encoded_jit_config": c.Config})
}

func runnerJSON(x forge.Runner) map[string]any {
	labels := []any{}
	for _, l := range x.Labels {
		labels = append(labels, map[string]any{"name": l, "type": "custom"})
	}
	status := "offline"
	if x.Online {
		status = "online"
	}
	out := map[string]any{"id": x.ID, "name": x.Name, "os": "linux", "status": status, "busy": x.Busy, "labels": labels, "runner_group_id": x.Group, "ephemeral": true}
	if x.Version != "" {
		out["version"] = x.Version
	}
	return out
}

func (g *GitHub) serveRuns(w http.ResponseWriter, r *http.Request, in forge.Repository) {
	q := forge.RunQuery{Status: r.URL.Query().Get("status")}
	if since, ok := strings.CutPrefix(r.URL.Query().Get("created"), ">="); ok {
		at, err := time.Parse(time.RFC3339, since)
		if err != nil {
			answer(w, r, forge.Fail(forge.Invalid, "created", "", err), 0, nil)
			return
		}
		q.Since = at
	}
	all, err := g.Runs(r.Context(), in, q)
	rows := []any{}
	for _, x := range page(w, r, all) {
		rows = append(rows, runJSON(x))
	}
	answer(w, r, err, http.StatusOK, map[string]any{"total_count": len(all), "workflow_runs": rows})
}

func (g *GitHub) serveJobs(w http.ResponseWriter, r *http.Request, in forge.Repository) {
	attempt := 0
	if r.PathValue("attempt") != "" {
		attempt = int(number(r, "attempt"))
	}
	all, err := g.Jobs(r.Context(), in, number(r, "id"), attempt)
	rows := []any{}
	for _, x := range page(w, r, all) {
		rows = append(rows, jobJSON(x))
	}
	answer(w, r, err, http.StatusOK, map[string]any{"total_count": len(all), "jobs": rows})
}

// serveLog answers with the address of the log, which lies elsewhere and asks for no
// credential.
func (g *GitHub) serveLog(w http.ResponseWriter, r *http.Request, in forge.Repository) {
	body, err := g.Log(r.Context(), in, number(r, "id"), 1<<40)
	if err != nil {
		answer(w, r, err, 0, nil)
		return
	}
	_ = body.Close()
	w.Header().Set("Location", fmt.Sprintf("%s://%s/logs/%s/%d?sig=secret", scheme(r), r.Host, in, number(r, "id")))
	w.WriteHeader(http.StatusFound)
}

func (g *GitHub) serveStoredLog(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" || r.URL.Query().Get("sig") != "secret" {
		w.WriteHeader(http.StatusBadRequest) // as the store does when it is given a token
		return
	}
	g.mu.Lock()
	text := g.logs[number(r, "id")]
	g.mu.Unlock()
	_, _ = io.WriteString(w, text) // a client that has gone needs no answer
}

func (g *GitHub) serveHooks(w http.ResponseWriter, r *http.Request, s slipway.ForgeScope) {
	all, err := g.Hooks(r.Context(), s)
	rows := []any{}
	for _, h := range page(w, r, all) {
		rows = append(rows, map[string]any{"id": h.ID, "name": "web", "active": h.Active, "events": h.Events, "config": map[string]any{"url": h.URL}})
	}
	answer(w, r, err, http.StatusOK, rows)
}

func (g *GitHub) serveDeliveries(w http.ResponseWriter, r *http.Request, h forge.Hook) {
	all, err := g.Deliveries(r.Context(), h, time.Time{})
	rows := []any{}
	for _, d := range page(w, r, all) {
		status := "OK"
		if !d.Arrived() {
			status = "failed to connect to host"
		}
		rows = append(rows, map[string]any{
			"id": d.ID, "guid": d.GUID, "delivered_at": timeOrNull(d.At), "redelivery": d.Redelivery, "duration": 0.1, "status": status, "status_code": d.Code,
			"event": d.Event, "action": orNull(d.Action),
		})
	}
	answer(w, r, err, http.StatusOK, rows)
}
