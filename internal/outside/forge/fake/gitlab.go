package fake

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// GitLab is what runners of a GitLab are: registrations behind its REST API, jobs that ask
// for tags, and programs that ask for jobs. It is safe for many goroutines.
type GitLab struct {
	door
	ids     int64
	places  map[string]int64 // groups and projects, as groups/acme
	runners map[int64]*gitlabRunner
	jobs    []*gitlabJob
	old     bool // tells of no runner whether it has a job
}

type gitlabRunner struct {
	id       int64
	place    string // of places
	token    string
	name     string
	tags     []string
	untagged bool
	locked   bool
	paused   bool
	online   bool
	timeout  int64
}

type gitlabJob struct {
	id     int64
	place  string
	tags   []string
	status string
	runner int64
}

// NewGitLab returns an empty GitLab that takes one token.
func NewGitLab(token string) *GitLab {
	return &GitLab{
		door: door{base: "/api/v4", sign: "Bearer " + token, refusal: gitlabRefusal, faults: map[string]int{}},
		ids:  100, places: map[string]int64{}, runners: map[int64]*gitlabRunner{},
	}
}

func gitlabRefusal(status int) any {
	switch status {
	case http.StatusUnauthorized:
		return map[string]string{"message": "401 Unauthorized"}
	case http.StatusTooManyRequests:
		return map[string]string{"message": "Too Many Requests"}
	case http.StatusForbidden:
		return map[string]string{"error": "insufficient_scope", "error_description": "The request requires higher privileges than provided by the access token.", "scope": "api"}
	}
	return map[string]string{"message": strconv.Itoa(status)}
}

// Add makes a group, as groups/acme, or a project, as projects/acme/shop.
func (g *GitLab) Add(place string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ids++
	g.places[place] = g.ids
}

// Old makes it one that tells of no runner whether it has a job.
func (g *GitLab) Old() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.old = true
}

// Names lists the registrations.
func (g *GitLab) Names() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out []string
	for _, r := range g.runners {
		out = append(out, r.name)
	}
	slices.Sort(out)
	return out
}

// Queue makes a job of a project that waits for a runner with these tags.
func (g *GitLab) Queue(project string, tags ...string) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ids++
	g.jobs = append(g.jobs, &gitlabJob{id: g.ids, place: "projects/" + project, tags: tags, status: "pending"})
	return g.ids
}

// Ask is a runner's program with a token that asks for a job: it is online from then on. It
// gets one, or 0; and it is refused when GitLab knows no such token.
func (g *GitLab) Ask(token string) (job int64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.runners {
		if r.token != token {
			continue
		}
		r.online = true
		for _, j := range g.jobs {
			if j.status == "pending" && !r.paused && r.mayHave(j) {
				j.status, j.runner = "running", r.id
				return j.id, nil
			}
		}
		return 0, nil
	}
	return 0, fmt.Errorf("403 Forbidden")
}

// GiveLate ends a request for a job that was begun before the runner was paused.
func (g *GitLab) GiveLate(id int64, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, j := range g.jobs {
		for _, r := range g.runners {
			if j.id == id && r.token == token {
				j.status, j.runner = "running", r.id
			}
		}
	}
}

func (r *gitlabRunner) mayHave(j *gitlabJob) bool {
	kind, path, _ := strings.Cut(r.place, "/")
	within := j.place == r.place || kind == "groups" && strings.HasPrefix(j.place, "projects/"+path+"/")
	if len(j.tags) == 0 {
		return within && r.untagged
	}
	return within && !slices.ContainsFunc(j.tags, func(t string) bool { return !slices.Contains(r.tags, t) })
}

// Finish ends a job: success, failed, canceled; or canceling, which is no end.
func (g *GitLab) Finish(id int64, status string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, j := range g.jobs {
		if j.id == id {
			j.status = status
		}
	}
}

// Job is a job's state.
func (g *GitLab) Job(id int64) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, j := range g.jobs {
		if j.id == id {
			return j.status
		}
	}
	return ""
}

// Registered are the runner's settings of a name, as people would look them up.
func (g *GitLab) Registered(name string) (tags []string, untagged, locked, paused bool, timeout int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range g.runners {
		if r.name == name {
			return r.tags, r.untagged, r.locked, r.paused, r.timeout
		}
	}
	return nil, false, false, false, 0
}

// Handler is the REST API, below /api/v4.
func (g *GitLab) Handler() http.Handler {
	m := http.NewServeMux()
	for pattern, f := range map[string]func(*http.Request) (int, any){
		"POST /user/runners":      g.create,
		"GET /runners/{id}":       g.one(func(r *gitlabRunner, _ *http.Request) (int, any) { return http.StatusOK, g.details(r) }),
		"PUT /runners/{id}":       g.one(g.update),
		"DELETE /runners/{id}":    g.one(g.remove),
		"GET /runners/{id}/jobs":  g.one(g.jobsOf),
		"GET /{kind}/{path}":      g.find,
		"GET /{kind}/{p}/runners": g.list,
	} {
		method, path, _ := strings.Cut(pattern, " ")
		m.HandleFunc(method+" /api/v4"+path, func(w http.ResponseWriter, r *http.Request) { g.serve(w, r, f) })
	}
	return m
}

func message(code int, text string) (int, any) { return code, map[string]string{"message": text} }

func (g *GitLab) create(r *http.Request) (int, any) {
	var in struct {
		Type        string   `json:"runner_type"`
		Group       int64    `json:"group_id"`
		Project     int64    `json:"project_id"`
		Description string   `json:"description"`
		Tags        []string `json:"tag_list"`
		Untagged    *bool    `json:"run_untagged"`
		Locked      bool     `json:"locked"`
		Paused      bool     `json:"paused"`
		Timeout     int64    `json:"maximum_timeout"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return message(http.StatusBadRequest, "400 Bad Request")
	}
	id := map[string]int64{"group_type": in.Group, "project_type": in.Project}[in.Type]
	place := ""
	for p, n := range g.places {
		if n == id {
			place = p
		}
	}
	untagged := in.Untagged == nil || *in.Untagged
	switch {
	case place == "":
		return message(http.StatusForbidden, "403 Forbidden - Insufficient permissions")
	case len(in.Tags) == 0 && !untagged, in.Timeout != 0 && in.Timeout < 600:
		return http.StatusBadRequest, map[string]any{"message": map[string][]string{"maximum_timeout": {"needs to be at least 10 minutes"}}}
	}
	g.ids++
	n := &gitlabRunner{
		id: g.ids, place: place, token: "glrt-" + rand.Text(), name: in.Description, tags: in.Tags, untagged: untagged,
		locked: in.Locked, paused: in.Paused, timeout: in.Timeout,
	}
	g.runners[n.id] = n
	return http.StatusCreated, map[string]any{"id": n.id, "token": n.token, "token_expires_at": nil}
}

// one finds the runner of a request.
func (g *GitLab) one(f func(*gitlabRunner, *http.Request) (int, any)) func(*http.Request) (int, any) {
	return func(r *http.Request) (int, any) {
		id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
		n := g.runners[id]
		if err != nil || n == nil {
			return message(http.StatusNotFound, "404 Runner Not Found")
		}
		return f(n, r)
	}
}

func (g *GitLab) shown(r *gitlabRunner) map[string]any {
	kind, _, _ := strings.Cut(r.place, "/")
	out := map[string]any{
		"id": r.id, "description": r.name, "active": !r.paused, "paused": r.paused, "is_shared": false, "name": nil, "online": nil, "status": "never_contacted",
		"runner_type": map[string]string{"groups": "group_type", "projects": "project_type"}[kind],
	}
	if r.online {
		out["online"], out["status"], out["name"] = true, "online", "gitlab-runner"
	}
	if !g.old {
		out["job_execution_status"] = "idle"
		for _, j := range g.jobs {
			if j.runner == r.id && j.status == "running" {
				out["job_execution_status"] = "active"
			}
		}
	}
	return out
}

func (g *GitLab) details(r *gitlabRunner) map[string]any {
	out := g.shown(r)
	maps.Copy(out, map[string]any{
		"tag_list": append([]string{}, r.tags...), "run_untagged": r.untagged, "locked": r.locked, "maximum_timeout": r.timeout,
		"access_level": "not_protected", "version": nil, "contacted_at": nil,
	})
	return out
}

func (g *GitLab) update(n *gitlabRunner, r *http.Request) (int, any) {
	var in struct {
		Paused *bool `json:"paused"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Paused == nil {
		return message(http.StatusBadRequest, "paused is missing")
	}
	n.paused = *in.Paused
	return http.StatusOK, g.details(n)
}

func (g *GitLab) remove(n *gitlabRunner, _ *http.Request) (int, any) {
	delete(g.runners, n.id)
	return http.StatusNoContent, nil
}

func (g *GitLab) jobsOf(n *gitlabRunner, _ *http.Request) (int, any) {
	out := []any{}
	for _, j := range slices.Backward(g.jobs) {
		if j.runner == n.id {
			out = append(out, map[string]any{
				"id": j.id, "status": j.status, "stage": "test", "name": "unit", "ref": "main", "created_at": "2026-12-01T12:00:00Z",
				"project": map[string]any{}, "pipeline": map[string]any{},
			})
		}
	}
	return http.StatusOK, out
}

// place reads kind and path of a request, by number or by path.
func (g *GitLab) place(kind, escaped string) (string, bool) {
	path, err := url.PathUnescape(escaped)
	_, known := g.places[kind+"/"+path]
	return kind + "/" + path, err == nil && known
}

func (g *GitLab) find(r *http.Request) (int, any) {
	place, ok := g.place(r.PathValue("kind"), r.PathValue("path"))
	if !ok {
		return message(http.StatusNotFound, "404 Not Found")
	}
	_, path, _ := strings.Cut(place, "/")
	return http.StatusOK, map[string]any{"id": g.places[place], "name": path, "path": path, "full_path": path, "path_with_namespace": path}
}

func (g *GitLab) list(r *http.Request) (int, any) {
	place, ok := g.place(r.PathValue("kind"), r.PathValue("p"))
	if !ok {
		return message(http.StatusNotFound, "404 Not Found")
	}
	var all []*gitlabRunner
	for _, id := range slices.Sorted(maps.Keys(g.runners)) {
		n := g.runners[id]
		// A group shows the runners of the groups above it as well.
		if n.place == place || strings.HasPrefix(place, n.place+"/") && strings.HasPrefix(n.place, "groups/") {
			all = append(all, n)
		}
	}
	q := r.URL.Query()
	page, per := atLeastOne(q.Get("page"), 1), atLeastOne(q.Get("per_page"), 20)
	out := []any{}
	for _, n := range all[min(len(all), (page-1)*per):min(len(all), page*per)] {
		out = append(out, g.shown(n))
	}
	head := http.Header{"X-Total": {strconv.Itoa(len(all))}, "X-Next-Page": {""}}
	if page*per < len(all) {
		head.Set("X-Next-Page", strconv.Itoa(page+1))
	}
	return http.StatusOK, paged{out, head}
}

func atLeastOne(s string, otherwise int) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return n
	}
	return otherwise
}
