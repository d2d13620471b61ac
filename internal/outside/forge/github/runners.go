package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v92/github"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// maxLabels is GitHub's own limit.
const maxLabels = 100

// repositoryGroup is the only group that runners of a repository can be in.
const repositoryGroup = 1

func (c *Client) scoped(ctx context.Context, s slipway.ForgeScope, doing string) (*github.Client, context.Context, context.CancelFunc, request, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	g, err := c.of(s.Owner)
	return g, ctx, cancel, request{doing: doing + " of " + name(s), permission: runnersPermission(s), absent: forge.Refused}, err
}

func name(s slipway.ForgeScope) string {
	if s.Repository == "" {
		return s.Owner
	}
	return s.Owner + "/" + s.Repository
}

// DefaultGroup finds the group that GitHub calls the default one. A plan without groups
// has a default one all the same, and lists no other.
func (c *Client) DefaultGroup(ctx context.Context, s slipway.ForgeScope) (int64, error) {
	if s.Repository != "" {
		return 0, nil
	}
	g, ctx, cancel, what, err := c.scoped(ctx, s, "list the runner groups")
	defer cancel()
	if err != nil {
		return 0, err
	}
	found := int64(0)
	err = pages(func(o github.ListOptions) (*github.Response, error) {
		groups, res, err := g.Actions.ListOrganizationRunnerGroups(ctx, s.Owner, &github.ListOrgRunnerGroupOptions{ListOptions: o})
		if err != nil {
			return res, c.explain(what, res, err)
		}
		for _, x := range groups.RunnerGroups {
			if x.GetDefault() && found == 0 {
				found = x.GetID()
			}
		}
		return res, nil
	})
	if err == nil && found == 0 {
		err = forge.Fail(forge.Invalid, "GitHub shows no default runner group of "+s.Owner, "name one by runner_group_id", nil)
	}
	return found, err
}

// Register asks for the configuration of one runner. The request is never repeated here:
// when its answer is lost, only the name tells whether it was carried out.
func (c *Client) Register(ctx context.Context, s slipway.ForgeScope, r forge.Registration) (forge.Configured, error) {
	g, ctx, cancel, what, err := c.scoped(ctx, s, "register a runner")
	defer cancel()
	switch {
	case err != nil:
		return forge.Configured{}, err
	case r.Name == "" || len(r.Labels) == 0 || len(r.Labels) > maxLabels:
		return forge.Configured{}, forge.Fail(forge.Invalid, fmt.Sprintf("a runner needs a name and 1 to %d labels", maxLabels), "", nil)
	}
	body := github.CreateJITConfigRequest{Name: r.Name, RunnerGroupID: r.Group, Labels: r.Labels}
	var out *github.JITRunnerConfig
	var res *github.Response
	if s.Repository != "" {
		body.RunnerGroupID = repositoryGroup
		out, res, err = g.Actions.CreateRepoJITConfig(ctx, s.Owner, s.Repository, body)
	} else {
		if body.RunnerGroupID == 0 {
			if body.RunnerGroupID, err = c.knownGroup(ctx, s); err != nil {
				return forge.Configured{}, err
			}
		}
		if out, res, err = g.Actions.CreateOrgJITConfig(ctx, s.Owner, body); err != nil {
			c.remember(s.Owner, 0) // the organization may have got another one
		}
	}
	switch {
	case said(err, http.StatusConflict):
		return forge.Configured{}, forge.Fail(forge.Taken, fmt.Sprintf("GitHub has a runner of the name %s already", r.Name), "", err)
	case err != nil:
		return forge.Configured{}, c.explain(what, res, err)
	case out.GetEncodedJITConfig() == "" || out.GetRunner().GetID() == 0:
		return forge.Configured{}, forge.Fail(forge.Away, "GitHub answered to "+what.doing+" without a configuration", "", nil)
	}
	return forge.Configured{Runner: runner(out.GetRunner()), Config: out.GetEncodedJITConfig()}, nil
}

// knownGroup is DefaultGroup, asked once: a registration should cost one request.
func (c *Client) knownGroup(ctx context.Context, s slipway.ForgeScope) (int64, error) {
	c.mu.Lock()
	id := c.groups[strings.ToLower(s.Owner)]
	c.mu.Unlock()
	if id != 0 {
		return id, nil
	}
	id, err := c.DefaultGroup(ctx, s)
	if err == nil {
		c.remember(s.Owner, id)
	}
	return id, err
}

func (c *Client) remember(owner string, group int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.groups[strings.ToLower(owner)] = group
}

// Runners lists all runners of a scope, or fails: a list that is shorter than GitHub says
// it is was changed under our hands, and proves nothing.
func (c *Client) Runners(ctx context.Context, s slipway.ForgeScope) ([]forge.Runner, error) {
	return c.list(ctx, s, "")
}

// RunnerNamed asks for the name, and looks at all that comes: a server that does not know
// the filter sends its whole list.
func (c *Client) RunnerNamed(ctx context.Context, s slipway.ForgeScope, name string) (forge.Runner, error) {
	all, err := c.list(ctx, s, name)
	if err != nil {
		return forge.Runner{}, err
	}
	for _, r := range all {
		if strings.EqualFold(r.Name, name) {
			return r, nil
		}
	}
	return forge.Runner{}, forge.Fail(forge.NotFound, "GitHub has no runner of the name "+name, "", nil)
}

func (c *Client) list(ctx context.Context, s slipway.ForgeScope, name string) ([]forge.Runner, error) {
	g, err := c.of(s.Owner)
	if err != nil {
		return nil, err
	}
	var out []forge.Runner
	seen := map[int64]bool{}
	total := 0
	err = pages(func(o github.ListOptions) (*github.Response, error) {
		_, ctx, cancel, what, err := c.scoped(ctx, s, "list the runners")
		defer cancel()
		if err != nil {
			return nil, err
		}
		opts := &github.ListRunnersOptions{ListOptions: o}
		if name != "" {
			opts.Name = &name
		}
		var page *github.Runners
		var res *github.Response
		if s.Repository != "" {
			page, res, err = g.Actions.ListRunners(ctx, s.Owner, s.Repository, opts)
		} else {
			page, res, err = g.Actions.ListOrganizationRunners(ctx, s.Owner, opts)
		}
		if err != nil {
			return res, c.explain(what, res, err)
		}
		total = page.TotalCount
		for _, r := range page.Runners {
			if !seen[r.GetID()] { // a list that grows while it is read shows some twice
				seen[r.GetID()] = true
				out = append(out, runner(r))
			}
		}
		return res, nil
	})
	if err == nil && len(out) < total {
		err = forge.Fail(forge.Away, fmt.Sprintf("GitHub says that there are %d runners and lists %d", total, len(out)), "it is read again", nil)
	}
	return out, err
}

// Runner returns one registration.
func (c *Client) Runner(ctx context.Context, s slipway.ForgeScope, id int64) (forge.Runner, error) {
	g, ctx, cancel, what, err := c.scoped(ctx, s, "read a runner")
	defer cancel()
	if err != nil {
		return forge.Runner{}, err
	}
	what.absent = forge.NotFound
	var r *github.Runner
	var res *github.Response
	if s.Repository != "" {
		r, res, err = g.Actions.GetRunner(ctx, s.Owner, s.Repository, id)
	} else {
		r, res, err = g.Actions.GetOrganizationRunner(ctx, s.Owner, id)
	}
	if err != nil {
		return forge.Runner{}, c.absent(ctx, s, c.explain(what, res, err))
	}
	return runner(r), nil
}

// Unregister removes a registration, unless its runner has a job.
func (c *Client) Unregister(ctx context.Context, s slipway.ForgeScope, id int64) error {
	g, ctx, cancel, what, err := c.scoped(ctx, s, "remove a runner")
	defer cancel()
	if err != nil {
		return err
	}
	what.absent = forge.NotFound
	var res *github.Response
	if s.Repository != "" {
		res, err = g.Actions.RemoveRunner(ctx, s.Owner, s.Repository, id)
	} else {
		res, err = g.Actions.RemoveOrganizationRunner(ctx, s.Owner, id)
	}
	if said(err, http.StatusUnprocessableEntity) {
		return forge.Fail(forge.Busy, "the runner has a job", "", err)
	}
	return c.absent(ctx, s, c.explain(what, res, err))
}

// absent makes sure that "not found" is said of the runner, and not of an organization that
// the credential may no longer see: GitHub answers both with 404, and believing the wrong
// one would leave a registration behind.
func (c *Client) absent(ctx context.Context, s slipway.ForgeScope, err error) error {
	if !forge.Is(err, forge.NotFound) {
		return err
	}
	g, ctx, cancel, what, fault := c.scoped(ctx, s, "list the runners")
	defer cancel()
	if fault != nil {
		return fault
	}
	opts := &github.ListRunnersOptions{ListOptions: github.ListOptions{PerPage: 1}}
	var res *github.Response
	if s.Repository != "" {
		_, res, fault = g.Actions.ListRunners(ctx, s.Owner, s.Repository, opts)
	} else {
		_, res, fault = g.Actions.ListOrganizationRunners(ctx, s.Owner, opts)
	}
	if fault != nil {
		return c.explain(what, res, fault)
	}
	return err
}

func runner(r *github.Runner) forge.Runner {
	out := forge.Runner{
		ID: r.GetID(), Name: r.GetName(), Online: r.GetStatus() == "online", Busy: r.GetBusy(), Group: r.GetRunnerGroupID(), Version: r.GetVersion(),
	}
	for _, l := range r.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	return out
}
