package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

// The tests of this file stand in the pure world.

var (
	t0       = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	replicas = slipway.Difference{Object: "Deployment web", Kind: slipway.DiffChanged, Path: "replicas", Applied: "2", Live: "5"}
	service  = slipway.Difference{Object: "Service web", Kind: slipway.DiffMissing}
)

func at(minute int) time.Time { return t0.Add(time.Duration(minute) * time.Minute) }

func TestJudge(t *testing.T) {
	t.Parallel()
	six := replicas
	six.Live = "6"
	list := func(ds ...slipway.Difference) []slipway.Difference { return ds }
	for _, tc := range []struct {
		name string
		was  slipway.Drift
		seen Sight
		want slipway.Drift
	}{
		{
			"the first look, and nothing differs", slipway.Drift{}, Sight{Began: at(1), Revision: 3},
			slipway.Drift{Revision: 3, LookedAt: at(1), CheckedAt: at(1)},
		},
		{
			"seen once is suspected, and no check", slipway.Drift{Revision: 3, LookedAt: at(1), CheckedAt: at(1)},
			Sight{Began: at(2), Revision: 3, Differences: list(replicas)},
			slipway.Drift{Revision: 3, LookedAt: at(2), CheckedAt: at(1), Suspected: list(replicas)},
		},
		{
			"seen twice is found, whatever the value is by now", slipway.Drift{Revision: 3, LookedAt: at(2), CheckedAt: at(1), Suspected: list(replicas)},
			Sight{Began: at(3), Revision: 3, Differences: list(six)},
			slipway.Drift{Revision: 3, LookedAt: at(3), CheckedAt: at(3), Found: list(six), Since: at(3)},
		},
		{
			"gone at the second look", slipway.Drift{Revision: 3, LookedAt: at(2), CheckedAt: at(1), Suspected: list(replicas)},
			Sight{Began: at(3), Revision: 3}, slipway.Drift{Revision: 3, LookedAt: at(3), CheckedAt: at(3)},
		},
		{
			"one more beside what was found", slipway.Drift{Revision: 3, LookedAt: at(3), CheckedAt: at(3), Found: list(replicas), Since: at(3)},
			Sight{Began: at(4), Revision: 3, Differences: list(replicas, service)},
			slipway.Drift{Revision: 3, LookedAt: at(4), CheckedAt: at(3), Found: list(replicas), Suspected: list(service), Since: at(3)},
		},
		{
			"all is well again", slipway.Drift{Revision: 3, LookedAt: at(3), CheckedAt: at(3), Found: list(replicas), Since: at(3)},
			Sight{Began: at(4), Revision: 3}, slipway.Drift{Revision: 3, LookedAt: at(4), CheckedAt: at(4)},
		},
		{
			"the cluster is away: what was found stays", slipway.Drift{Revision: 3, LookedAt: at(3), CheckedAt: at(3), Found: list(replicas), Since: at(3)},
			Sight{Began: at(4), Revision: 3, Missed: "no answer"},
			slipway.Drift{Revision: 3, LookedAt: at(4), CheckedAt: at(3), Missed: "no answer", Found: list(replicas), Since: at(3)},
		},
		{
			"two sightings with a failed look between", slipway.Drift{Revision: 3, LookedAt: at(2), CheckedAt: at(1), Suspected: list(replicas)},
			Sight{Began: at(3), Revision: 3, Missed: "no answer"}, slipway.Drift{Revision: 3, LookedAt: at(3), CheckedAt: at(1), Missed: "no answer"},
		},
		{
			"another revision begins anew", slipway.Drift{Revision: 3, LookedAt: at(3), CheckedAt: at(3), Found: list(replicas), Since: at(3)},
			Sight{Began: at(4), Revision: 4, Differences: list(replicas)},
			slipway.Drift{Revision: 4, LookedAt: at(4), CheckedAt: at(3), Suspected: list(replicas)},
		},
		{
			"what cannot be compared is no drift", slipway.Drift{}, Sight{Began: at(1), Revision: 3, Unable: []string{"Widget w"}},
			slipway.Drift{Revision: 3, LookedAt: at(1), CheckedAt: at(1), Unable: []string{"Widget w"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, Judge(tc.was, tc.seen)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestSettled(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		d    slipway.Drift
		want bool
	}{
		{"never looked at", slipway.Drift{}, false},
		{"a look that began before it was asked for", slipway.Drift{LookedAt: at(1), CheckedAt: at(1)}, false},
		{"a look with a suspicion", slipway.Drift{LookedAt: at(3), Suspected: []slipway.Difference{replicas}}, false},
		{"a look that told nothing", slipway.Drift{LookedAt: at(3), Missed: "no"}, true},
		{"a whole look", slipway.Drift{LookedAt: at(2), CheckedAt: at(2)}, true},
	} {
		if got := tc.d.Settled(at(2)); got != tc.want {
			t.Errorf("%s: settled %v, want %v", tc.name, got, tc.want)
		}
	}
}
