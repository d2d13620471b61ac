package kube

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is how many objects one answer of the API server holds.
const pageSize = 500

// listAll reads a list to its end, page by page. It returns everything or an error: of a
// list that broke off in the middle nothing may be concluded. A list that took so long
// that the API server forgot its beginning is begun anew, whole.
func (c *Client) listAll(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	for try := 0; ; try++ {
		err := c.pages(ctx, list, opts)
		if err == nil || !apierrors.IsResourceExpired(err) || try == maxTries {
			return err
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

func (c *Client) pages(ctx context.Context, list client.ObjectList, opts []client.ListOption) error {
	var all []runtime.Object
	next := ""
	for {
		page := list.DeepCopyObject().(client.ObjectList) //nolint:forcetypeassert // a copy has the type of what it copies
		if err := meta.SetList(page, nil); err != nil {
			return err
		}
		page.SetContinue("")
		if err := c.api.List(ctx, page, append(opts[:len(opts):len(opts)], client.Limit(pageSize), client.Continue(next))...); err != nil {
			return err
		}
		items, err := meta.ExtractList(page)
		if err != nil {
			return err
		}
		all = append(all, items...)
		if next = page.GetContinue(); next == "" {
			return meta.SetList(list, all)
		}
	}
}
