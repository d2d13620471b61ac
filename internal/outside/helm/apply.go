package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v4/pkg/action"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	helmkube "helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	"helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	"helm.sh/helm/v4/pkg/storage/driver"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
)

// ApplyRequest asks for a release to become what a change wants.
type ApplyRequest struct {
	Chart       *Chart
	Values      map[string]any
	Release     string
	Patch       Patch         // its App's namespace is the release's
	Description string        // of the revision, for helm history: change 41
	HookTimeout time.Duration // of one hook of the chart; 10 min
	Redact      Redactor      // required
}

// Result is how an act of Helm's went. It is filled as far as known beside an error too.
type Result struct {
	Revision  int
	Installed bool            // no revision had ever been deployed, so the install hooks ran
	Objects   []kube.Object   // to be waited for: all but the chart's hooks
	Workloads []kube.Workload // as they were applied
	Notes     []string        // for the step
	Output    string          // of the chart's hooks that failed, redacted
	Cut       bool            // the start of Output was dropped
}

const (
	defaultHookTimeout = 10 * time.Minute
	maxHistory         = 10
)

// Apply installs or upgrades the release, by server-side apply that takes back what others
// have changed. It waits for the chart's hooks and for nothing else. A first install that
// failed is not uninstalled, because its pods are the evidence, but installed over what it
// made; its install hooks run again, for nobody knows how far they came. A release that a
// dead process left locked is unlocked, with a note; that no living one works on it is
// the caller's lock to ensure.
func (c *Client) Apply(ctx context.Context, r ApplyRequest) (Result, error) {
	var res Result
	if r.Redact == nil {
		return res, slipway.Errorf(slipway.Internal, "the chart of %s was to be applied without a redactor", r.Patch.App.Ref())
	}
	doing := "apply the chart " + r.Chart.Name
	ch, err := r.Chart.fresh()
	if err != nil {
		return res, err
	}
	values, err := copied(r.Values)
	if err != nil {
		return res, err
	}
	cfg := c.configuration(ctx, r.Patch.App.Namespace)
	logs := &hookLogs{}
	cfg.HookOutputFunc = logs.writer

	past, err := history(cfg, r.Release)
	if err != nil {
		return res, r.Redact.told(err, doing)
	}
	last, before := newest(past), deployed(past)
	if last != nil {
		note, err := unlock(cfg, last)
		if err != nil {
			return res, r.Redact.told(err, doing)
		}
		if note != "" {
			res.Notes = append(res.Notes, note)
			c.log.Warn("unlocked a Helm release", "release", r.Release, "namespace", r.Patch.App.Namespace, "revision", last.Version)
		}
	}
	if len(ch.CRDObjects()) == 0 {
		// With definitions of its own a chart must see what they add, so Helm asks itself.
		if cfg.Capabilities, err = c.capabilities(c.kube.Getter(ctx, r.Patch.App.Namespace)); err != nil {
			return res, r.Redact.told(err, doing)
		}
	}

	// Given a context, Helm comes back when it ends and goes on in the background. So it
	// gets one without an end: every request and every wait ends with ctx, and Helm comes
	// back by itself, with the release marked as failed.
	post := &postRenderer{patch: r.Patch}
	a := applying{cfg: cfg, r: r, ch: ch, values: values, post: post, waits: []helmkube.WaitOption{helmkube.WithWaitContext(ctx)}}
	a.timeout = cmp.Or(r.HookTimeout, defaultHookTimeout)
	res.Installed = before == 0 || last.Info.Status == common.StatusUninstalled
	got, err := post.run(ctx, func() (release.Releaser, error) {
		if res.Installed {
			return a.install(context.WithoutCancel(ctx))
		}
		return a.upgrade(context.WithoutCancel(ctx))
	})
	if post.stage.Load() != rendered {
		// It failed before there was anything to apply, or is left to itself.
		return res, r.Redact.told(err, doing)
	}
	if rel, ok := got.(*releasev1.Release); ok && rel != nil {
		res.Revision = rel.Version
	}
	res.Objects, res.Workloads = post.out.Objects, post.out.Workloads
	res.Notes = append(res.Notes, post.out.Notes...)
	if definesKinds(post.out.Objects) || len(ch.CRDObjects()) > 0 {
		c.forget()
	}
	if err == nil {
		notes, err := c.sweep(ctx, r.Release, r.Patch.App.Namespace, past, before, res.Objects)
		res.Notes = append(res.Notes, notes...)
		return res, r.Redact.told(err, "remove what failed revisions of the release "+r.Release+" have left")
	}
	if post.err != nil {
		return res, post.err
	}
	res.Output, res.Cut = logs.text(r.Redact)
	if cause := context.Cause(ctx); cause != nil {
		return res, &ended{fmt.Sprintf("%s: %v", doing, cause), cause}
	}
	return res, r.Redact.told(err, doing)
}

// applying is one run of Helm.
type applying struct {
	cfg     *action.Configuration
	r       ApplyRequest
	ch      *chartv2.Chart
	values  map[string]any
	post    *postRenderer
	waits   []helmkube.WaitOption
	timeout time.Duration
}

func (a applying) install(ctx context.Context) (release.Releaser, error) {
	in := action.NewInstall(a.cfg)
	in.ReleaseName, in.Namespace = a.r.Release, a.r.Patch.App.Namespace
	in.Description = a.r.Description
	in.Labels = kube.ApplicationLabels(a.r.Patch.App)
	in.Replace = true // of a revision that failed or was uninstalled; any other is in use
	in.ServerSideApply, in.ForceConflicts = true, true
	in.WaitStrategy, in.WaitOptions, in.Timeout = helmkube.HookOnlyStrategy, a.waits, a.timeout
	in.PostRenderer = a.post
	// The API server checks the fields of each object itself; Helm would first fetch the
	// whole OpenAPI document to find that out.
	in.DisableOpenAPIValidation = true
	return in.RunWithContext(ctx, a.ch, a.values)
}

func (a applying) upgrade(ctx context.Context) (release.Releaser, error) {
	up := action.NewUpgrade(a.cfg)
	up.Namespace = a.r.Patch.App.Namespace
	up.Description = a.r.Description
	up.Labels = kube.ApplicationLabels(a.r.Patch.App)
	up.ServerSideApply, up.ForceConflicts = "true", true
	up.WaitStrategy, up.WaitOptions, up.Timeout = helmkube.HookOnlyStrategy, a.waits, a.timeout
	up.PostRenderer = a.post
	up.DisableOpenAPIValidation = true
	up.ResetValues = true // without values of ours Helm would take the last ones again
	up.MaxHistory = maxHistory
	return up.RunWithContext(ctx, a.r.Release, a.ch, a.values)
}

// history returns the revisions of a release, the oldest first; none is no error.
func history(cfg *action.Configuration, name string) ([]*releasev1.Release, error) {
	got, err := cfg.Releases.History(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the release %s: %w", name, err)
	}
	out := make([]*releasev1.Release, 0, len(got))
	for _, one := range got {
		rel, ok := one.(*releasev1.Release)
		if !ok {
			return nil, slipway.Errorf(slipway.Conflict, "the release %s was written by another Helm, in a form that this one does not know", name)
		}
		out = append(out, rel)
	}
	slices.SortFunc(out, func(a, b *releasev1.Release) int { return cmp.Compare(a.Version, b.Version) })
	return out, nil
}

// newest returns the newest revision; nil when there is none.
func newest(past []*releasev1.Release) *releasev1.Release {
	if len(past) == 0 {
		return nil
	}
	return past[len(past)-1]
}

func definesKinds(objects []kube.Object) bool {
	for _, o := range objects {
		if o.Kind == "CustomResourceDefinition" {
			return true
		}
	}
	return false
}
