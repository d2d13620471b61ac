package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/action"
	helmkube "helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release/common"
	"helm.sh/helm/v4/pkg/storage/driver"

	"slipway.dev/slipway/internal/slipway"
)

// UninstallRequest asks for the end of a release.
type UninstallRequest struct {
	App     slipway.Application
	Release string
	Timeout time.Duration // until every object is gone; 10 min
	Redact  Redactor      // required
}

// Uninstall removes the release and its history, and waits until its objects and the
// application's pods are gone.
// One that is gone already is no error. Objects that the chart marks to be kept are kept,
// and named in a note.
func (c *Client) Uninstall(ctx context.Context, r UninstallRequest) (Result, error) {
	var res Result
	if r.Redact == nil {
		return res, slipway.Errorf(slipway.Internal, "the release of %s was to be removed without a redactor", r.App.Ref())
	}
	doing := "remove the release " + r.Release
	cfg := c.configuration(ctx, r.App.Namespace)
	logs := &hookLogs{}
	cfg.HookOutputFunc = logs.writer
	past, err := history(cfg, r.Release)
	if err != nil {
		return res, r.Redact.told(err, doing)
	}
	last := newest(past)
	if last == nil {
		return res, nil
	}
	res.Revision = last.Version
	// The history goes last: it alone tells what else the release has made, so a crash
	// before must find it again.
	if last.Info.Status != common.StatusUninstalled {
		un := action.NewUninstall(cfg)
		un.IgnoreNotFound, un.KeepHistory = true, true
		un.WaitStrategy, un.WaitOptions = helmkube.StatusWatcherStrategy, []helmkube.WaitOption{helmkube.WithWaitContext(ctx)}
		un.DeletionPropagation = "foreground" // the pods too, before the release counts as gone
		un.Timeout = cmp.Or(r.Timeout, defaultHookTimeout)
		got, err := un.Run(r.Release)
		c.forget()
		if err != nil {
			res.Output, res.Cut = logs.text(r.Redact)
			if cause := context.Cause(ctx); cause != nil {
				return res, &ended{fmt.Sprintf("%s: %v", doing, cause), cause}
			}
			return res, r.Redact.told(err, doing)
		}
		if got != nil && got.Info != "" {
			res.Notes = append(res.Notes, strings.TrimSpace(got.Info))
		}
	}
	// Helm removes what its newest revision has. After a failed upgrade that is not all.
	made, err := strays(past, 0, nil)
	if err != nil {
		return res, r.Redact.told(err, doing)
	}
	for _, o := range made {
		if _, err := c.kube.DeleteOwned(ctx, o, r.Release, r.App.Namespace); err != nil {
			return res, r.Redact.told(err, doing)
		}
	}
	// Its wait takes an object that it has not seen yet for one that is gone.
	if err := c.kube.Gone(ctx, r.App, r.Release, made, cmp.Or(r.Timeout, defaultHookTimeout)); err != nil {
		return res, r.Redact.told(err, doing)
	}
	for _, rel := range past {
		if _, err := cfg.Releases.Delete(rel.Name, rel.Version); err != nil && !errors.Is(err, driver.ErrReleaseNotFound) {
			return res, r.Redact.told(err, doing)
		}
	}
	return res, nil
}
