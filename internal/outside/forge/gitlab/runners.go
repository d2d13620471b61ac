package gitlab

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/rest"
	"slipway.dev/slipway/internal/slipway"
)

const (
	perPage  = 100
	maxPages = 100
	// minTimeout is the least that GitLab takes as the longest time of a runner's jobs.
	minTimeout = 10 * time.Minute
)

// place is where a scope is in GitLab's API.
type place struct {
	kind  string // groups or projects
	path  string
	typed string // the type of its runners
	role  string
}

func placeOf(s slipway.ForgeScope) place {
	if s.Repository != "" {
		return place{"projects", s.Owner + "/" + s.Repository, "project_type", "role Maintainer in the project " + s.String()}
	}
	return place{"groups", s.Owner, "group_type", "role Owner in the group " + s.String()}
}

func (p place) at() string { return "/" + p.kind + "/" + url.PathEscape(p.path) }

func (p place) needs(scope string) string {
	return fmt.Sprintf("the scope %s, or api, and the %s", scope, p.role)
}

// DefaultGroup is 0: GitLab has no groups of runners within a scope.
func (c *Client) DefaultGroup(context.Context, slipway.ForgeScope) (int64, error) { return 0, nil }

// number finds GitLab's own number of a group or project, once: a registration should cost
// one request.
func (c *Client) number(ctx context.Context, p place) (int64, error) {
	key := p.kind + "/" + strings.ToLower(p.path)
	c.mu.Lock()
	id := c.ids[key]
	c.mu.Unlock()
	if id != 0 {
		return id, nil
	}
	var found struct {
		ID int64 `json:"id"`
	}
	q := url.Values{}
	if p.kind == "groups" {
		q.Set("with_projects", "false") // or up to a hundred come along
	}
	_, err := c.rest.Do(ctx, rest.Request{
		Doing: "find " + p.path, Needs: p.needs("read_api"), Absent: forge.Refused,
		Method: http.MethodGet, Path: p.at(), Query: q, Into: &found,
	})
	switch {
	case err != nil:
		return 0, err
	case found.ID == 0:
		return 0, forge.Fail(forge.Away, "GitLab answered without the number of "+p.path, "", nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids[key] = found.ID
	return found.ID, nil
}

func (c *Client) forget(p place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.ids, p.kind+"/"+strings.ToLower(p.path))
}

// creation is the body of a registration.
type creation struct {
	Type           string   `json:"runner_type"`
	Group          int64    `json:"group_id,omitempty"`
	Project        int64    `json:"project_id,omitempty"`
	Description    string   `json:"description"`
	Tags           []string `json:"tag_list"`
	RunUntagged    bool     `json:"run_untagged"`
	Locked         bool     `json:"locked"`
	Paused         bool     `json:"paused"`
	MaximumTimeout int64    `json:"maximum_timeout,omitempty"`
}

// Register makes a runner. Its configuration is its token. GitLab takes the same name twice:
// a caller whose reply was lost looks the name up, and does not use it again.
func (c *Client) Register(ctx context.Context, s slipway.ForgeScope, r forge.Registration) (forge.Configured, error) {
	switch {
	case r.Name == "":
		return forge.Configured{}, forge.Fail(forge.Invalid, "a runner needs a name", "", nil)
	case r.Timeout > 0 && r.Timeout < minTimeout:
		return forge.Configured{}, forge.Fail(forge.Invalid, fmt.Sprintf("GitLab takes no runner whose jobs may run for less than %s", minTimeout), "", nil)
	}
	p := placeOf(s)
	id, err := c.number(ctx, p)
	if err != nil {
		return forge.Configured{}, err
	}
	body := creation{
		Type: p.typed, Description: r.Name, Tags: append([]string{}, r.Labels...), RunUntagged: len(r.Labels) == 0,
		MaximumTimeout: int64(r.Timeout / time.Second),
	}
	if s.Repository != "" {
		// Nobody is to lend the runner to another project.
		body.Project, body.Locked = id, true
	} else {
		body.Group = id
	}
	var made struct {
		ID    int64  `json:"id"`
		Token string `json:"token"`
	}
	_, err = c.rest.Do(ctx, rest.Request{
		Doing: "register a runner of " + s.String(), Needs: p.needs("create_runner"), Absent: forge.Refused,
		Method: http.MethodPost, Path: "/user/runners", Body: body, Into: &made,
	})
	switch {
	case err != nil:
		c.forget(p) // it may have been made anew, under another number
		return forge.Configured{}, err
	case made.ID == 0 || made.Token == "":
		return forge.Configured{}, forge.Fail(forge.Away, "GitLab answered to a registration without a token", "", nil)
	}
	return forge.Configured{Runner: forge.Runner{ID: made.ID, Name: r.Name, Labels: body.Tags}, Config: made.Token}, nil
}

// runner is one as GitLab shows it, in lists and alone.
type runner struct {
	ID          int64    `json:"id"`
	Description string   `json:"description"`
	Status      string   `json:"status"`
	Type        string   `json:"runner_type"`
	Tags        []string `json:"tag_list"`             // not in lists
	Version     string   `json:"version"`              // not in lists
	Execution   string   `json:"job_execution_status"` // idle or active; older servers do not tell
}

func (r runner) seen() forge.Runner {
	return forge.Runner{ID: r.ID, Name: r.Description, Online: r.Status == "online", Busy: r.Execution == "active", Labels: r.Tags, Version: r.Version}
}

// Runners lists the runners of a group, with those of the groups above it, or of a project;
// or it fails: a list that is shorter than GitLab says it is was changed under our hands,
// and proves nothing.
func (c *Client) Runners(ctx context.Context, s slipway.ForgeScope) ([]forge.Runner, error) {
	p := placeOf(s)
	out := []forge.Runner{}
	seen := map[int64]bool{}
	total, page := 0, "1"
	for range maxPages {
		var list []runner
		head, err := c.rest.Do(ctx, rest.Request{
			Doing: "list the runners of " + s.String(), Needs: p.needs("read_api"), Absent: forge.Refused,
			Method: http.MethodGet, Path: p.at() + "/runners",
			Query: url.Values{"type": {p.typed}, "per_page": {strconv.Itoa(perPage)}, "page": {page}}, Into: &list,
		})
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if !seen[r.ID] && r.Type == p.typed {
				seen[r.ID] = true
				out = append(out, r.seen())
			}
		}
		if n, err := strconv.Atoi(head.Get("X-Total")); err == nil { // a long list has none
			total = max(total, n)
		}
		page = head.Get("X-Next-Page")
		switch {
		case page == "" && len(out) < total:
			return nil, forge.Fail(forge.Away, fmt.Sprintf("GitLab says that there are %d runners and lists %d", total, len(out)), "it is read again", nil)
		case page == "":
			return out, nil
		}
	}
	return nil, forge.Fail(forge.TooLarge, fmt.Sprintf("GitLab lists more than %d runners of %s", perPage*maxPages, s), "", nil)
}

// Runner returns one registration.
func (c *Client) Runner(ctx context.Context, s slipway.ForgeScope, id int64) (forge.Runner, error) {
	var r runner
	_, err := c.rest.Do(ctx, manage(s, "read a runner", http.MethodGet, id, "", nil, &r))
	return r.seen(), err
}

// RunnerNamed looks through the whole list: GitLab cannot be asked for a name.
func (c *Client) RunnerNamed(ctx context.Context, s slipway.ForgeScope, name string) (forge.Runner, error) {
	all, err := c.Runners(ctx, s)
	if err != nil {
		return forge.Runner{}, err
	}
	return forge.Named(all, name, "GitLab")
}

// manage is a request about one runner. GitLab says 404 of one that is not there, and 403
// of one that the token may not see, so the former can be believed.
func manage(s slipway.ForgeScope, doing, method string, id int64, more string, body, into any) rest.Request {
	return rest.Request{
		Doing: doing + " of " + s.String(), Needs: placeOf(s).needs("manage_runner"),
		Method: method, Path: fmt.Sprintf("/runners/%d%s", id, more), Body: body, Into: into,
	}
}

// Unregister removes a registration, unless its runner has a job. It is paused first, and
// from then on gets none; one that it asked for just before may still come, so a runner
// that never had a job is asked about twice. Refused as busy, it stays paused.
func (c *Client) Unregister(ctx context.Context, s slipway.ForgeScope, id int64) error {
	if _, err := c.rest.Do(ctx, manage(s, "pause a runner", http.MethodPut, id, "", map[string]bool{"paused": true}, nil)); err != nil {
		return err
	}
	had, err := c.jobs(ctx, s, id)
	if err == nil && !had {
		if err := rest.Sleep(ctx, c.settle); err != nil {
			return fmt.Errorf("remove a runner: %w", err)
		}
		_, err = c.jobs(ctx, s, id)
	}
	if err != nil {
		return err
	}
	return c.Discard(ctx, s, id)
}

// Discard removes a registration whatever GitLab says of its jobs. It is for a runner that
// has ended: GitLab takes a job whose runner vanished for running until its time is up.
func (c *Client) Discard(ctx context.Context, s slipway.ForgeScope, id int64) error {
	_, err := c.rest.Do(ctx, manage(s, "remove a runner", http.MethodDelete, id, "", nil, nil))
	return err
}

// over are the states of a job that its runner has nothing to do with any more. Whatever
// other ones there are count as running.
var over = map[string]bool{"success": true, "failed": true, "canceled": true, "skipped": true}

// jobs reports whether a runner had a job, and fails with Busy when it has one.
func (c *Client) jobs(ctx context.Context, s slipway.ForgeScope, id int64) (had bool, err error) {
	var list []struct {
		ID     int64  `json:"id"`
		Status string `json:"status"`
	}
	r := manage(s, "list the jobs of a runner", http.MethodGet, id, "/jobs", nil, &list)
	r.Query = url.Values{"per_page": {strconv.Itoa(perPage)}, "order_by": {"id"}, "sort": {"desc"}}
	if _, err := c.rest.Do(ctx, r); err != nil {
		return false, err
	}
	for _, j := range list {
		if !over[j.Status] {
			return true, forge.Fail(forge.Busy, "the runner has a job", "", fmt.Errorf("job %d is %s", j.ID, j.Status))
		}
	}
	return len(list) > 0, nil
}
