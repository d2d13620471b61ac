package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// file is the application.toml of a team, as it is wanted now. Without services there is
// no such application.
type file struct {
	environment string
	name        string
	services    []service
}

// service is one pool of a file.
type service struct {
	name                              string
	base, credential, scope           string // owner, or owner/repository
	labels                            []string
	replicas, idle, minimum, spare    int
	priority, workspace, timeoutHours int
	windows                           []window
}

// window is a schedule: from and to are hours of the day, there.
type window struct {
	zone           string
	days           []string
	from, to       int
	minimum, spare int
}

// hour writes an hour half past, so that no window begins with the clocks' own changes.
func hour(h int) string { return fmt.Sprintf("%02d:30", h) }

var everyDay = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// menu is what teams may ask for: pools of an organization and of a repository that serve
// the same jobs, one with a rare label, one with a minimum, one of fixed size, one with
// spare runners that goes before the others, one that follows the clocks of two places,
// and one of the same names at another forge.
var menu = []struct {
	environment int
	service     service
}{
	{0, service{name: "linux", scope: "acme", labels: []string{"slipway"}, replicas: 2, idle: 60}},
	{0, service{name: "big", scope: "acme", labels: []string{"slipway", "big"}, replicas: 1, idle: 60}},
	{1, service{name: "repo", scope: "acme/shop", labels: []string{"slipway"}, replicas: 2, idle: 60, minimum: 1}},
	{1, service{name: "fixed", scope: "other", labels: []string{"fixed"}, replicas: 1}},
	{1, service{name: "spare", scope: "acme", labels: []string{"slipway"}, replicas: 3, idle: 60, spare: 1, priority: 5}},
	{0, service{name: "night", scope: "acme", labels: []string{"slipway"}, replicas: 2, idle: 60, priority: -1, windows: []window{
		{"Europe/Berlin", []string{"sun"}, 0, 5, 1, 0}, {"Asia/Tokyo", everyDay, 6, 14, 0, 2},
	}}},
	{0, service{name: "enterprise", base: "https://ghe.example.com", credential: "ghe-runner-token", scope: "acme", labels: []string{"slipway"}, replicas: 2, idle: 60}},
}

// toml writes the file as its team would.
func (f *file) toml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "schema_version = 1\nname = %q\n", f.name)
	for i := range f.services {
		f.services[i].write(&b)
	}
	return b.String()
}

func (s *service) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n[services.%s]\nreplicas = %d\n[services.%s.actions]\n", s.name, s.replicas, s.name)
	scope := "organization"
	if strings.Contains(s.scope, "/") {
		scope = "repository"
	}
	fmt.Fprintf(b, "%s = %q\ncredential = %q\nlabels = [\"%s\"]\n", scope, s.scope, orElse(s.credential, "github-runner-token"), strings.Join(s.labels, `", "`))
	fmt.Fprintf(b, "timeout_minutes = %d\nworkspace_size_gib = %d\npriority = %d\n", 60*orElse(s.timeoutHours, 2), orElse(s.workspace, 2), s.priority)
	if s.base != "" {
		fmt.Fprintf(b, "base_url = %q\n", s.base)
	}
	if s.idle > 0 {
		fmt.Fprintf(b, "idle_seconds = %d\nmin_replicas = %d\nspare = %d\n", s.idle, s.minimum, s.spare)
	}
	for _, x := range s.windows {
		fmt.Fprintf(b, "[[services.%s.actions.schedules]]\ndays = [\"%s\"]\nfrom = %q\nto = %q\ntime_zone = %q\nmin_replicas = %d\nspare = %d\n",
			s.name, strings.Join(x.days, `", "`), hour(x.from), hour(x.to), x.zone, min(x.minimum, s.replicas), min(x.spare, s.replicas))
	}
}

func orElse[T comparable](v, other T) T {
	var none T
	if v == none {
		return other
	}
	return v
}

// keeps is how many runners a pool keeps without demand, by the clocks on the walls. It is
// written anew here, and not asked of the product.
func keeps(p slipway.PoolSpec, now time.Time) int {
	minimum, spare, open := p.Minimum, p.Spare, false
	for _, s := range p.Schedules {
		zone, err := time.LoadLocation(s.TimeZone)
		if err != nil {
			panic(err) // ours are known
		}
		wall := now.In(zone)
		clock, day := wall.Format("15:04"), wall.Weekday()
		in := s.From <= clock && clock < s.To && slices.Contains(s.Days, day)
		if s.To <= s.From { // it ends on the next day
			in = clock >= s.From && slices.Contains(s.Days, day) || clock < s.To && slices.Contains(s.Days, (day+6)%7)
		}
		switch {
		case in && open:
			minimum, spare = max(minimum, s.Minimum), max(spare, s.Spare)
		case in:
			minimum, spare, open = s.Minimum, s.Spare, true
		}
	}
	if p.Fixed() {
		return p.Replicas
	}
	return min(max(minimum, spare), p.Replicas)
}
