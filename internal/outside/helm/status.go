package helm

import (
	"context"
	"time"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
)

// Status is what Helm's storage says of a release.
type Status struct {
	Revision    int // 0: there is none
	State       string
	Chart       string
	Version     string // of the chart
	Description string
	Updated     time.Time
	// Objects are those of the revision but for the chart's hooks, in order: what was
	// applied, and is to be waited for after a restart.
	Objects []kube.Object
}

// Status reads the newest revision of the release; none is no error.
func (c *Client) Status(ctx context.Context, app slipway.Application, release string) (Status, error) {
	past, err := history(c.configuration(ctx, app.Namespace), release)
	rel := newest(past)
	if err != nil || rel == nil {
		return Status{}, Redactor(nil).told(err, "read the release "+release)
	}
	s := Status{Revision: rel.Version, State: rel.Info.Status.String(), Description: rel.Info.Description, Updated: rel.Info.LastDeployed}
	if rel.Chart != nil && rel.Chart.Metadata != nil {
		s.Chart, s.Version = rel.Chart.Metadata.Name, rel.Chart.Metadata.Version
	}
	s.Objects, err = objectsOf(rel)
	return s, err
}
