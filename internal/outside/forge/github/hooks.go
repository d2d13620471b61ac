package github

import (
	"context"
	"errors"
	"time"

	"github.com/google/go-github/v92/github"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// Hooks lists the hooks of an organization or repository.
func (c *Client) Hooks(ctx context.Context, s slipway.ForgeScope) ([]forge.Hook, error) {
	var out []forge.Hook
	err := pages(func(o github.ListOptions) (*github.Response, error) {
		g, ctx, cancel, what, err := c.hooked(ctx, forge.Hook{Scope: s}, "list the webhooks of "+name(s))
		defer cancel()
		if err != nil {
			return nil, err
		}
		var page []*github.Hook
		var res *github.Response
		if s.Repository != "" {
			page, res, err = g.Repositories.ListHooks(ctx, s.Owner, s.Repository, &o)
		} else {
			page, res, err = g.Organizations.ListHooks(ctx, s.Owner, &o)
		}
		if err != nil {
			return res, c.explain(what, res, err)
		}
		for _, h := range page {
			out = append(out, forge.Hook{Scope: s, ID: h.GetID(), URL: h.GetConfig().GetURL(), Active: h.GetActive(), Events: h.Events})
		}
		return res, nil
	})
	return out, err
}

// hooked returns the client that a hook is asked about with: an App's own hook only
// answers to the App itself.
func (c *Client) hooked(ctx context.Context, h forge.Hook, doing string) (*github.Client, context.Context, context.CancelFunc, request, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	what := request{doing: doing, permission: hooksPermission(h.Scope), absent: forge.Refused}
	if h.App {
		what.permission = "App's own key"
		if c.app == nil {
			return nil, ctx, cancel, what, forge.Fail(forge.Invalid, "only a GitHub App's credential can ask for the App's deliveries", "save the App as the credential", nil)
		}
		return c.app, ctx, cancel, what, nil
	}
	g, err := c.of(h.Scope.Owner)
	return g, ctx, cancel, what, err
}

// Deliveries lists what a hook sent. GitHub remembers three days, an Enterprise Server
// seven.
func (c *Client) Deliveries(ctx context.Context, h forge.Hook, since time.Time) ([]forge.Delivery, error) {
	var out []forge.Delivery
	o := &github.ListCursorOptions{PerPage: perPage}
	for range maxPages {
		page, res, err := c.deliveries(ctx, h, o)
		if err != nil {
			return nil, err
		}
		for _, d := range page {
			at := d.GetDeliveredAt().UTC()
			if at.Before(since) {
				return out, nil // the newest come first
			}
			out = append(out, forge.Delivery{
				ID: d.GetID(), GUID: d.GetGUID(), At: at, Event: d.GetEvent(), Action: d.GetAction(), Code: d.GetStatusCode(), Redelivery: d.GetRedelivery(),
			})
		}
		if res.Cursor == "" {
			return out, nil
		}
		o.Cursor = res.Cursor
	}
	return nil, forge.Fail(forge.TooLarge, "GitHub's list of deliveries has more than 20,000 entries", "ask for a shorter time", nil)
}

func (c *Client) deliveries(ctx context.Context, h forge.Hook, o *github.ListCursorOptions) ([]*github.HookDelivery, *github.Response, error) {
	g, ctx, cancel, what, err := c.hooked(ctx, h, "list the deliveries of a webhook")
	defer cancel()
	if err != nil {
		return nil, nil, err
	}
	var page []*github.HookDelivery
	var res *github.Response
	switch {
	case h.App:
		page, res, err = g.Apps.ListHookDeliveries(ctx, o)
	case h.Scope.Repository != "":
		page, res, err = g.Repositories.ListHookDeliveries(ctx, h.Scope.Owner, h.Scope.Repository, h.ID, o)
	default:
		page, res, err = g.Organizations.ListHookDeliveries(ctx, h.Scope.Owner, h.ID, o)
	}
	if err != nil {
		return nil, nil, c.explain(what, res, err)
	}
	return page, res, nil
}

// Redeliver asks for a delivery once more. GitHub answers that it will.
func (c *Client) Redeliver(ctx context.Context, h forge.Hook, id int64) error {
	g, ctx, cancel, what, err := c.hooked(ctx, h, "repeat a delivery of a webhook")
	defer cancel()
	if err != nil {
		return err
	}
	what.absent = forge.NotFound
	var res *github.Response
	switch {
	case h.App:
		_, res, err = g.Apps.RedeliverHookDelivery(ctx, id)
	case h.Scope.Repository != "":
		_, res, err = g.Repositories.RedeliverHookDelivery(ctx, h.Scope.Owner, h.Scope.Repository, h.ID, id)
	default:
		_, res, err = g.Organizations.RedeliverHookDelivery(ctx, h.Scope.Owner, h.ID, id)
	}
	var accepted *github.AcceptedError
	if errors.As(err, &accepted) {
		return nil
	}
	if err = c.explain(what, res, err); forge.Is(err, forge.NotFound) {
		// A hook that the credential may not see is answered so too.
		if _, _, fault := c.deliveries(ctx, h, &github.ListCursorOptions{PerPage: 1}); fault != nil {
			return fault
		}
	}
	return err
}
