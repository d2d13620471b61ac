package application

import (
	"context"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// A wait that ends in vain leaves on its step how the pods stand. World: fake, over a real
// SQLite database.
func TestWhatIsNotReadyShowsItsPods(t *testing.T) {
	t.Parallel()
	b := newRepair(t, true)
	f := drifted(1)
	f.notReady = slipway.Errorf(slipway.Unavailable, "Deployment web is not ready after 10m0s")
	b.run(f)
	var steps []slipway.Step
	b.must(b.store.Read(t.Context(), func(tx *store.Tx) (err error) {
		steps, err = tx.Steps(context.Background(), b.task.ID)
		return err
	}))
	last := steps[len(steps)-1]
	if last.Key != "ready" || last.State != slipway.StepFailed || last.Error != "Deployment web is not ready after 10m0s" {
		t.Errorf("the last step is %+v", last)
	}
	if last.Output != "pod web-1 cannot start: password=<redacted>\n" || !last.OutputCut {
		t.Errorf("its output is %q, cut %v", last.Output, last.OutputCut)
	}
	if !strings.HasPrefix(b.end(), "failed Deployment web is not ready") {
		t.Errorf("the end is\n%s", b.end())
	}
}
