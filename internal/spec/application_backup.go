package spec

import (
	"time"

	"github.com/robfig/cron/v3"

	"slipway.dev/slipway/internal/slipway"
)

// Limits of retention. Beyond them a number is a slip of the hand.
const (
	maxKeepLast = 10_000
	maxKeepDays = 36_500
)

// backup reads the [backup] table. Whether the environment has such a location is not the
// file's question.
func (r *reader) backup(n *node) *slipway.BackupConfig {
	if !r.table(n, "backup", "location", "schedule", "time_zone", "keep_last", "keep_days", "before_upgrade") {
		return nil
	}
	var b slipway.BackupConfig
	b.Location = r.name(r.need(n, "backup", "location", `write location = "…", one of: slipway backup location list`), "backup.location", "a backup location")
	if schedule := n.get("schedule"); schedule != nil {
		b.Schedule = r.filled(schedule, "backup.schedule", "leave it out to back up only when asked")
		if b.Schedule != "" {
			if _, err := ParseSchedule(b.Schedule, ""); err != nil {
				r.fault(schedule.pos, "backup.schedule", `write five fields, minute hour day month weekday: "0 3 * * *" is every day at 3:00`,
					"%q is no schedule: %v", cut(b.Schedule, 60), err)
			}
		}
	}
	if zone := n.get("time_zone"); zone != nil {
		b.TimeZone = r.filled(zone, "backup.time_zone", "leave it out for UTC")
		if _, err := time.LoadLocation(b.TimeZone); b.TimeZone != "" && (err != nil || b.TimeZone == "Local") {
			r.fault(zone.pos, "backup.time_zone", `write a name of the time zone database: "Europe/Rome"`, "%q is no time zone", cut(b.TimeZone, 60))
		}
		if n.get("schedule") == nil {
			r.fault(zone.pos, "backup.time_zone", "leave it out, or write a schedule", "has no effect without a schedule")
		}
	}
	b.KeepLast = int(r.whole(n.get("keep_last"), "backup.keep_last", 1, maxKeepLast))
	b.KeepDays = int(r.whole(n.get("keep_days"), "backup.keep_days", 1, maxKeepDays))
	b.BeforeUpgrade = r.boolean(n.get("before_upgrade"), "backup.before_upgrade")
	return &b
}

// ParseSchedule reads the five fields of cron in a time zone; an empty one is UTC.
func ParseSchedule(schedule, zone string) (cron.Schedule, error) {
	place := time.UTC
	if zone != "" {
		var err error
		if place, err = time.LoadLocation(zone); err != nil {
			return nil, err
		}
	}
	// Only the fields: a descriptor such as @every counts from the start of a process, and a
	// zone inside of the text would be a second way to say the same.
	p := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	s, err := p.Parse(schedule)
	if err != nil {
		return nil, err
	}
	if fields, ok := s.(*cron.SpecSchedule); ok {
		fields.Location = place
	}
	return s, nil
}
