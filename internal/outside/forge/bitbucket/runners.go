package bitbucket

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/rest"
	"slipway.dev/slipway/internal/slipway"
)

const (
	perPage  = 100
	maxPages = 100
)

// place is a scope by the UUIDs that Bitbucket's API of runners knows it by.
type place struct{ workspace, repository string }

func (p place) runners() string {
	if p.repository == "" {
		return "/internal/workspaces/" + url.PathEscape(p.workspace) + "/pipelines-config/runners"
	}
	return "/internal/repositories/" + url.PathEscape(p.workspace) + "/" + url.PathEscape(p.repository) + "/pipelines-config/runners"
}

// needs is what a credential must have, in the words of Bitbucket's pages.
func needs(s slipway.ForgeScope) string {
	of := "administrator of the workspace " + s.Owner
	if s.Repository != "" {
		of = "administrator of the repository " + s.String()
	}
	return "the scopes runner:write and repository (of an API token: write:runner:bitbucket, read:runner:bitbucket, read:workspace:bitbucket and read:repository:bitbucket), of an " + of
}

// DefaultGroup is 0: Bitbucket has no groups of runners.
func (c *Client) DefaultGroup(context.Context, slipway.ForgeScope) (int64, error) { return 0, nil }

var uuidForm = regexp.MustCompile(`^\{[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}$`)

// place finds the UUIDs of a scope, once.
func (c *Client) place(ctx context.Context, s slipway.ForgeScope) (place, error) {
	key := strings.ToLower(s.String())
	c.mu.Lock()
	p, known := c.places[key]
	c.mu.Unlock()
	if known {
		return p, nil
	}
	type found struct {
		UUID      string `json:"uuid"`
		Workspace struct {
			UUID string `json:"uuid"`
		} `json:"workspace"`
	}
	find := func(what, path string) (f found, err error) {
		_, err = c.rest.Do(ctx, rest.Request{
			Doing: "find the " + what, Needs: needs(s), Absent: forge.Refused, Method: http.MethodGet, Path: "/2.0/" + path, Into: &f,
		})
		if err == nil && !uuidForm.MatchString(f.UUID) {
			err = forge.Fail(forge.Away, "Bitbucket answered without the UUID of the "+what, "", nil)
		}
		return f, err
	}
	if s.Repository != "" {
		repo, err := find("repository "+s.String(), "repositories/"+url.PathEscape(s.Owner)+"/"+url.PathEscape(s.Repository))
		if err != nil {
			return place{}, err
		}
		p.repository, p.workspace = repo.UUID, repo.Workspace.UUID
	}
	if !uuidForm.MatchString(p.workspace) { // a repository tells it, and its token may not see more
		w, err := find("workspace "+s.Owner, "workspaces/"+url.PathEscape(s.Owner))
		if err != nil {
			return place{}, err
		}
		p.workspace = w.UUID
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.places[key] = p
	return p, nil
}

func (c *Client) forgetPlace(s slipway.ForgeScope) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.places, strings.ToLower(s.String()))
}

// runner is one as Bitbucket shows it.
type runner struct {
	UUID   string   `json:"uuid"`
	Name   string   `json:"name"`
	Labels []string `json:"labels"`
	State  struct {
		Status string `json:"status"`
		// Step is there while the runner has one. The vendor's autoscaler tells busy runners
		// by it.
		Step    json.RawMessage `json:"step"`
		Version struct {
			Version string `json:"version"`
			Current string `json:"current"`
		} `json:"version"`
	} `json:"state"`
	OAuth struct {
		ID     string `json:"id"`
		Secret string `json:"secret"`
	} `json:"oauth_client"`
}

func (r runner) busy() bool { return len(r.State.Step) > 0 && string(r.State.Step) != "null" }

// number makes our number of a runner of its UUID: the first 63 bits. Two of at most some
// hundreds in a workspace are never the same, and would be refused; see remember.
func (r runner) number() (int64, bool) {
	if !uuidForm.MatchString(r.UUID) {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(r.UUID[1:], "-", "")[:16], 16, 64)
	return int64(n >> 1), err == nil && n>>1 != 0
}

// seen is the runner in our words. A disabled one is there as an online one is: it only
// takes no more steps.
func (r runner) seen(id int64) forge.Runner {
	version := r.State.Version.Current
	if version == "" {
		version = r.State.Version.Version
	}
	on := r.State.Status == "ONLINE" || r.State.Status == "DISABLED"
	return forge.Runner{ID: id, Name: r.Name, Online: on || r.busy(), Busy: r.busy(), Labels: r.Labels, Version: version}
}

func (c *Client) remember(r runner) (int64, error) {
	id, ok := r.number()
	if !ok {
		return 0, forge.Fail(forge.Away, "Bitbucket answered with a runner without a UUID", "", nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if have := c.uuids[id]; have != "" && have != r.UUID {
		return 0, forge.Fail(forge.Away, "two runners of Bitbucket have UUIDs that begin alike", "remove one of them", nil)
	}
	c.uuids[id] = r.UUID
	return id, nil
}

// config is what the runner's program is started with. It is the secret of a registration.
type config struct {
	Account     string `json:"account_uuid"`
	Repository  string `json:"repository_uuid,omitempty"`
	Runner      string `json:"runner_uuid"`
	OAuthID     string `json:"oauth_client_id"`
	OAuthSecret string `json:"oauth_client_secret"`
}

// oauthForm keeps what the program is told to one word: its start script hands it on.
var oauthForm = regexp.MustCompile(`^[A-Za-z0-9_.~=+/-]{1,1000}$`)

// Register makes a runner. Bitbucket takes the same name twice: a caller whose reply was lost
// looks the name up, and does not use it again. It has no longest time of a runner's steps.
func (c *Client) Register(ctx context.Context, s slipway.ForgeScope, r forge.Registration) (forge.Configured, error) {
	if r.Name == "" {
		return forge.Configured{}, forge.Fail(forge.Invalid, "a runner needs a name", "", nil)
	}
	p, err := c.place(ctx, s)
	if err != nil {
		return forge.Configured{}, err
	}
	var made runner
	_, err = c.rest.Do(ctx, rest.Request{
		Doing: "register a runner of " + s.String(), Needs: needs(s), Absent: forge.Refused, Method: http.MethodPost, Path: p.runners(),
		Body: map[string]any{"name": r.Name, "labels": append([]string{}, r.Labels...)}, Into: &made,
	})
	if err != nil {
		c.forgetPlace(s) // it may have been made anew, under another UUID
		return forge.Configured{}, err
	}
	id, err := c.remember(made)
	if err != nil {
		return forge.Configured{}, err
	}
	if !oauthForm.MatchString(made.OAuth.ID) || !oauthForm.MatchString(made.OAuth.Secret) {
		return forge.Configured{}, forge.Fail(forge.Away, "Bitbucket answered to a registration without an OAuth client", "", nil)
	}
	secret, err := json.Marshal(config{p.workspace, p.repository, made.UUID, made.OAuth.ID, made.OAuth.Secret}) //nolint:gosec // it is the secret of the slot, and goes nowhere else
	if err != nil {
		return forge.Configured{}, fmt.Errorf("register a runner: %w", err)
	}
	return forge.Configured{Runner: forge.Runner{ID: id, Name: r.Name, Labels: r.Labels}, Config: string(secret)}, nil
}

// Runners lists the runners of a workspace or of a repository; or it fails: a list that is
// shorter than Bitbucket says it is was changed under our hands, and proves nothing.
func (c *Client) Runners(ctx context.Context, s slipway.ForgeScope) ([]forge.Runner, error) {
	p, err := c.place(ctx, s)
	if err != nil {
		return nil, err
	}
	out := []forge.Runner{}
	known := map[int64]bool{}
	q := url.Values{"pagelen": {strconv.Itoa(perPage)}}
	for range maxPages {
		var page struct {
			Values []runner `json:"values"`
			Next   string   `json:"next"`
			Size   int      `json:"size"`
		}
		_, err := c.rest.Do(ctx, rest.Request{
			Doing: "list the runners of " + s.String(), Needs: needs(s), Absent: forge.Refused, Method: http.MethodGet, Path: p.runners(), Query: q, Into: &page,
		})
		if err != nil {
			c.forgetPlace(s)
			return nil, err
		}
		if page.Values == nil {
			return nil, forge.Fail(forge.Away, "Bitbucket answered without a list of runners", "it is read again", nil)
		}
		for _, r := range page.Values {
			id, err := c.remember(r)
			if err != nil {
				return nil, err
			}
			if !known[id] {
				known[id] = true
				out = append(out, r.seen(id))
			}
		}
		if page.Next == "" {
			if len(out) < page.Size {
				return nil, forge.Fail(forge.Away, fmt.Sprintf("Bitbucket says that there are %d runners and lists %d", page.Size, len(out)), "it is read again", nil)
			}
			return out, nil
		}
		// Only its query is taken: the credential goes to no other address.
		next, err := url.Parse(page.Next)
		if err != nil || next.Query().Get("page") == q.Get("page") {
			return nil, forge.Fail(forge.Away, "Bitbucket's list of runners does not say where it goes on", "it is read again", nil)
		}
		q = next.Query()
	}
	return nil, forge.Fail(forge.TooLarge, fmt.Sprintf("Bitbucket lists more than %d runners of %s", perPage*maxPages, s), "", nil)
}

// Runner returns one registration.
func (c *Client) Runner(ctx context.Context, s slipway.ForgeScope, id int64) (forge.Runner, error) {
	var r runner
	err := c.manage(ctx, s, id, rest.Request{Doing: "read a runner", Method: http.MethodGet, Into: &r}, "")
	return r.seen(id), err
}

// RunnerNamed looks through the whole list: Bitbucket cannot be asked for a name.
func (c *Client) RunnerNamed(ctx context.Context, s slipway.ForgeScope, name string) (forge.Runner, error) {
	all, err := c.Runners(ctx, s)
	if err != nil {
		return forge.Runner{}, err
	}
	return forge.Named(all, name, "Bitbucket")
}

// manage sends a request about one runner. Bitbucket says 404 also of what the credential
// may not see, so that is believed only when the list of the scope lacks the runner.
func (c *Client) manage(ctx context.Context, s slipway.ForgeScope, id int64, r rest.Request, below string) error {
	p, err := c.place(ctx, s)
	if err != nil {
		return err
	}
	uuid, err := c.uuid(ctx, s, id)
	if err != nil {
		return err
	}
	r.Doing, r.Needs, r.Path = r.Doing+" of "+s.String(), needs(s), p.runners()+"/"+url.PathEscape(uuid)+below
	if _, err = c.rest.Do(ctx, r); !forge.Is(err, forge.NotFound) {
		return err
	}
	if _, err := c.listed(ctx, s, id); err != nil {
		return err
	}
	return forge.Fail(forge.Away, "Bitbucket lists a runner and does not know it: "+r.Doing, "", err)
}

// uuid is Bitbucket's name of a runner: remembered, or looked for in the list.
func (c *Client) uuid(ctx context.Context, s slipway.ForgeScope, id int64) (string, error) {
	c.mu.Lock()
	uuid := c.uuids[id]
	c.mu.Unlock()
	if uuid != "" {
		return uuid, nil
	}
	return c.listed(ctx, s, id)
}

func (c *Client) listed(ctx context.Context, s slipway.ForgeScope, id int64) (string, error) {
	all, err := c.Runners(ctx, s)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range all {
		if r.ID == id {
			return c.uuids[id], nil
		}
	}
	delete(c.uuids, id)
	return "", forge.Fail(forge.NotFound, "Bitbucket has no such runner", "", nil)
}

// Unregister removes a registration, unless its runner has a step. It is disabled first, and
// from then on gets none; one that was handed out just before may show late, so it is looked
// at twice. Refused as busy, it stays disabled.
func (c *Client) Unregister(ctx context.Context, s slipway.ForgeScope, id int64) error {
	err := c.manage(ctx, s, id, rest.Request{Doing: "disable a runner", Method: http.MethodPut, Body: map[string]string{"status": "DISABLED"}}, "/state")
	if err != nil {
		return err
	}
	for look := range 2 {
		if look > 0 {
			if err := rest.Sleep(ctx, c.settle); err != nil {
				return fmt.Errorf("remove a runner: %w", err)
			}
		}
		var r runner
		if err := c.manage(ctx, s, id, rest.Request{Doing: "read a runner", Method: http.MethodGet, Into: &r}, ""); err != nil {
			return err
		}
		switch {
		case r.busy():
			return forge.Fail(forge.Busy, "the runner has a step", "", nil)
		case r.State.Status == "UNHEALTHY": // it gets no step either
		case r.State.Status != "DISABLED":
			return forge.Fail(forge.Away, "Bitbucket did not disable a runner that is to go", "", fmt.Errorf("it is %q", r.State.Status))
		}
	}
	return c.Discard(ctx, s, id)
}

// Discard removes a registration whatever Bitbucket says of its step. It is for a runner that
// has ended.
func (c *Client) Discard(ctx context.Context, s slipway.ForgeScope, id int64) error {
	err := c.manage(ctx, s, id, rest.Request{Doing: "remove a runner", Method: http.MethodDelete}, "")
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.uuids, id)
	}
	return err
}
