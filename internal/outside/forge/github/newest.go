package github

import (
	"context"
	"regexp"

	"github.com/google/go-github/v92/github"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/slipway"
)

// archive is the name of a runner program that GitHub offers:
// actions-runner-linux-x64-2.337.0.tar.gz.
var archive = regexp.MustCompile(`^actions-runner-linux-[a-z0-9]+-(\d+\.\d+\.\d+)\.tar\.gz$`)

// NewestRunner is the version of the runner program that GitHub offers for Linux. GitHub
// refuses older ones about a month after a newer one came out.
func (c *Client) NewestRunner(ctx context.Context, s slipway.ForgeScope, a slipway.Architecture) (string, error) {
	g, ctx, cancel, what, err := c.scoped(ctx, s, "list the runner programs")
	defer cancel()
	if err != nil {
		return "", err
	}
	var all []*github.RunnerApplicationDownload
	var res *github.Response
	if s.Repository != "" {
		all, res, err = g.Actions.ListRunnerApplicationDownloads(ctx, s.Owner, s.Repository)
	} else {
		all, res, err = g.Actions.ListOrganizationRunnerApplicationDownloads(ctx, s.Owner)
	}
	if err != nil {
		return "", c.explain(what, res, err)
	}
	want := map[slipway.Architecture]string{slipway.AMD64: "x64", slipway.ARM64: "arm64"}[a]
	for _, d := range all {
		if d.GetOS() != "linux" || d.GetArchitecture() != want {
			continue
		}
		if m := archive.FindStringSubmatch(d.GetFilename()); m != nil {
			return m[1], nil
		}
	}
	return "", forge.Fail(forge.Invalid, "GitHub lists no runner program for linux and "+want, "", nil)
}
