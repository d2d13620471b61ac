package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure.
func TestAsideOf(t *testing.T) {
	t.Parallel()
	const inline = poolHead + "services = { runner = { actions = { organization = \"acme\", credential = \"token\", labels = [\"slipway\"] } } }\n"
	const dotted = poolHead + "services.runner.actions.organization = \"acme\"\nservices.runner.actions.credential = \"token\"\nservices.runner.actions.labels = [\"slipway\"]\n"
	const owner = "services.runner.actions.x-owner"
	for _, tc := range []struct {
		name, src string
		want      Aside
	}{
		{"nothing", pool, Aside{}},
		{"nothing in one line", inline, Aside{}},
		{"signs that are in texts", pool + "x-note = \"# \\\" # x-b = 1\"\n", Aside{Keys: []string{"services.runner.actions.x-note"}}},
		{"a comment first", "# why\n" + pool, Aside{Comments: true}},
		{"behind a byte order mark", "\ufeff# why\n" + pool, Aside{Comments: true}},
		{"a comment last, without an end of line", pool + "# why", Aside{Comments: true}},
		{"behind a table's name", strings.Replace(pool, "actions]", "actions] # why", 1), Aside{Comments: true}},
		{"behind a value", strings.Replace(pool, `"acme"`, `"acme"# why`, 1), Aside{Comments: true}},
		{"behind a text that ends with a backslash", pool + "x-owner = \"n\\\\\" # why\n", Aside{Comments: true, Keys: []string{owner}}},
		{"behind a text of several lines", strings.Replace(pool, `"acme"`, "\"\"\"\nacme\"\"\" # why", 1), Aside{Comments: true}},
		{"first in a list", strings.Replace(pool, `["slipway"]`, "[ # why\n\"slipway\"]", 1), Aside{Comments: true}},
		{"last in a list", strings.Replace(pool, `["slipway"]`, "[\"slipway\",\n# why\n]", 1), Aside{Comments: true}},
		{"in a table in a line", strings.Replace(inline, "{ organization", "{ # why\n organization", 1), Aside{Comments: true}},
		{"in a list in a table in a line", strings.Replace(inline, `["slipway"]`, "[\"slipway\" # why\n]", 1), Aside{Comments: true}},
		{"lines of carriage return and line feed", strings.ReplaceAll(pool+"# why\n", "\n", "\r\n"), Aside{Comments: true}},
		{"a key of the file", "x-owner = 1\n" + pool, Aside{Keys: []string{"x-owner"}}},
		{"of a table", pool + "x-owner = 1\n", Aside{Keys: []string{owner}}},
		{"of a service in a line", strings.Replace(inline, "{ actions", `{ x-owner = "ada", actions`, 1), Aside{Keys: []string{"services.runner.x-owner"}}},
		{"of actions in a line", strings.Replace(inline, `"token"`, `"token", x-owner = "ada"`, 1), Aside{Keys: []string{owner}}},
		{"in quotes", pool + "'x-owner' = 1\n", Aside{Keys: []string{owner}}},
		{"with an escape", pool + "\"\\u0078-owner\" = 1\n", Aside{Keys: []string{owner}}},
		{"with dots and spaces", "services.runner.actions . x-owner.name = 1\n" + dotted, Aside{Keys: []string{owner}}},
		{"a table", pool + "[services.runner.resources.\"x-owner\"]\nname = 1\n", Aside{Keys: []string{"services.runner.resources.x-owner"}}},
		{"a list of tables", pool + "[[x-owner]]\nname = 1\n[[x-owner]]\n", Aside{Keys: []string{"x-owner"}}},
		{"of a window", pool + "idle_seconds = 60\nschedules = [{ from = \"08:00\", to = \"18:00\", spare = 1, x-owner = 1 }]\n", Aside{Keys: []string{"services.runner.actions.schedules[0].x-owner"}}},
		{"no key of a pool that is named so", strings.ReplaceAll(pool, "runner", "x-linux"), Aside{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := ParseApplication([]byte(tc.src), ""); err != nil {
				t.Fatalf("the file is wrong: %v\n%s", err, tc.src)
			}
			got, err := AsideOf([]byte(tc.src), "")
			if diff := cmp.Diff(got, tc.want); err != nil || diff != "" {
				t.Errorf("%v; got, want (-, +):\n%s\n%s", err, diff, tc.src)
			}
		})
	}
	for _, bad := range []string{"", "x-owner = ", pool + "nonsense = 1\n"} {
		if got, err := AsideOf([]byte(bad), ""); !slipway.Is(err, slipway.Invalid) {
			t.Errorf("AsideOf(%q) = %+v, %v; want its faults", bad, got, err)
		}
	}
}
