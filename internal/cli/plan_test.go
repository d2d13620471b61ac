package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"slipway.dev/slipway/internal/wire"
)

// These tests stand in the pure world.

func TestPrintPlan(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		plan wire.Plan
		want string
	}{
		{"an upgrade, as the design shows it", wire.Plan{
			Name: "guestbook", Revision: 3, NewRevision: 4,
			Diff: []wire.DiffLine{
				{Path: "app.version", Old: "1.0.0", New: "1.1.0"},
				{Path: "components.web.env.LOG_LEVEL", Old: "info", New: "debug"},
			},
			Summary: "runs: upgrade pre (backup), upgrade (migrate), upgrade post (check) · restarts: web · stops meanwhile: worker",
		}, `
guestbook  revision 3 → 4
  app.version                    1.0.0 → 1.1.0
  components.web.env.LOG_LEVEL   info  → debug
runs: upgrade pre (backup), upgrade (migrate), upgrade post (check) · restarts: web · stops meanwhile: worker
`},
		{"a new application", wire.Plan{
			Name: "guestbook", NewRevision: 1, Diff: []wire.DiffLine{{Path: "app.version", New: "1.0.0"}}, Summary: "runs: setup pre (check)",
		}, `
guestbook  new, revision 1
  app.version   + 1.0.0
runs: setup pre (check)
`},
		{"the same again", wire.Plan{Name: "guestbook", Revision: 4, NewRevision: 5}, "\nguestbook  revision 4 → 5, nothing differs\n"},
		{"values that are empty, gone or of several lines", wire.Plan{
			Name: "guestbook", Revision: 1, NewRevision: 2,
			Diff: []wire.DiffLine{{Path: "a", Old: `""`, New: "x\ny"}, {Path: "bb", Old: "z"}},
		}, `
guestbook  revision 1 → 2
  a    "" → "x\ny"
  bb   - z
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			printPlan(&out, tc.plan)
			if diff := cmp.Diff(strings.TrimPrefix(tc.want, "\n"), out.String()); diff != "" {
				t.Errorf("printPlan() (-want +got):\n%s", diff)
			}
		})
	}
}
