package spec

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// weekdays are the days as schedules name them, in the order of the week.
var weekdays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

var clockText = regexp.MustCompile(`^([01][0-9]|2[0-3]):[0-5][0-9]$`)

// schedules reads the windows of the week that have numbers of their own. Where several
// cover a moment the highest number counts.
func (r *reader) schedules(n *node, path string, replicas int64) []slipway.RunnerSchedule {
	if !r.shaped(n, path, listShape, "write it as ["+"["+path+"]]") {
		return nil
	}
	if len(n.list) > maxSchedules {
		r.fault(n.pos, path, "join those with the same numbers", "has %d windows; at most %d are allowed", len(n.list), maxSchedules)
		return nil
	}
	var out []slipway.RunnerSchedule
	for i, v := range n.list {
		at := item(path, i)
		if r.table(v, at, "days", "from", "to", "time_zone", "min_replicas", "spare") {
			out = append(out, r.schedule(v, at, replicas))
		}
	}
	return out
}

func (r *reader) schedule(n *node, path string, replicas int64) (s slipway.RunnerSchedule) {
	s.Days = slices.Clone(weekdays)
	if days := n.get("days"); days != nil {
		s.Days = r.days(days, path+".days")
	}
	s.From = r.clock(r.need(n, path, "from", `write from = "08:00"`), path+".from")
	s.To = r.clock(r.need(n, path, "to", `write to = "18:00"`), path+".to")
	s.TimeZone = "UTC"
	if zone := n.get("time_zone"); zone != nil {
		s.TimeZone = r.filled(zone, path+".time_zone", "leave it out for UTC")
		if _, err := time.LoadLocation(s.TimeZone); s.TimeZone != "" && (err != nil || s.TimeZone == "Local") {
			r.fault(zone.pos, path+".time_zone", `write a name of the time zone database: "Europe/Rome"`, "%q is no time zone", cut(s.TimeZone, 60))
		}
	}
	number := func(key string) *int {
		v := n.get(key)
		if v == nil {
			return nil
		}
		count := int(r.atMost(v, path+"."+key, replicas))
		return &count
	}
	s.MinReplicas, s.Spare = number("min_replicas"), number("spare")
	if s.MinReplicas == nil && s.Spare == nil {
		r.fault(n.pos, path, "write min_replicas, spare or both", "changes nothing")
	}
	return s
}

// days reads days of the week and puts them in its order.
func (r *reader) days(n *node, path string) []string {
	if !r.shaped(n, path, listShape, `write days = ["mon", "tue"]`) {
		return nil
	}
	if len(n.list) == 0 {
		r.fault(n.pos, path, "leave it out for every day", "is empty")
	}
	given := map[string]bool{}
	for i, v := range n.list {
		at := item(path, i)
		if !r.shaped(v, at, textShape, "") {
			continue
		}
		day := strings.ToLower(v.text())
		switch {
		case !slices.Contains(weekdays, day):
			r.fault(v.pos, at, "write "+listOf(weekdays, "or"), "%q is no day", cut(v.text(), 20))
		case given[day]:
			r.fault(v.pos, at, "keep one", "%s is there already", day)
		}
		given[day] = true
	}
	return slices.DeleteFunc(slices.Clone(weekdays), func(d string) bool { return !given[d] })
}

func (r *reader) clock(n *node, path string) string {
	if !r.shaped(n, path, textShape, `write "08:00"`) {
		return ""
	}
	if !clockText.MatchString(n.text()) {
		r.fault(n.pos, path, `write hours and minutes: "08:00"`, "%q is no time of the day", cut(n.text(), 20))
		return ""
	}
	return n.text()
}
