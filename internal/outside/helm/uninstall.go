package helm

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"helm.sh/helm/v4/pkg/action"
	helmkube "helm.sh/helm/v4/pkg/kube"

	"slipway.dev/slipway/internal/slipway"
)

// UninstallRequest asks for the end of a release.
type UninstallRequest struct {
	App     slipway.Application
	Release string
	Timeout time.Duration // until every object is gone; 10 min
	Redact  Redactor
}

// Uninstall removes the release and its history, and waits until its objects are gone.
// One that is gone already is no error. Objects that the chart marks to be kept are kept,
// and named in a note.
func (c *Client) Uninstall(ctx context.Context, r UninstallRequest) (Result, error) {
	var res Result
	doing := "remove the release " + r.Release
	cfg := c.configuration(ctx, r.App.Namespace)
	logs := &hookLogs{}
	cfg.HookOutputFunc = logs.writer
	last, err := newest(cfg, r.Release)
	if err != nil {
		return res, r.Redact.told(err, doing)
	}
	if last == nil {
		return res, nil
	}
	res.Revision = last.Version
	un := action.NewUninstall(cfg)
	un.IgnoreNotFound = true
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
		res.Notes = append(res.Notes, got.Info)
	}
	return res, nil
}
