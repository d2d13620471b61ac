package application

import (
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// World: pure.
func TestNextBackup(t *testing.T) {
	t.Parallel()
	const app = 7
	at := func(text string) time.Time {
		v, err := time.Parse("2006-01-02 15:04", text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	late := spread(app)
	nightly := slipway.BackupConfig{Schedule: "0 3 * * *"}
	rome := slipway.BackupConfig{Schedule: "0 3 * * *", TimeZone: "Europe/Rome"}
	have := func(c slipway.BackupConfig, next string) store.BackupSchedule {
		return store.BackupSchedule{ApplicationID: app, Schedule: c.Schedule, TimeZone: c.TimeZone, NextAt: at(next).Add(late)}
	}
	for _, tc := range []struct {
		name   string
		config slipway.BackupConfig
		have   store.BackupSchedule
		now    time.Time
		begin  bool
		next   time.Time
	}{
		{"a new schedule begins with its next time", nightly, store.BackupSchedule{}, at("2026-03-10 12:00"), false, at("2026-03-11 03:00").Add(late)},
		{"before its time nothing is due", nightly, have(nightly, "2026-03-11 03:00"), at("2026-03-11 02:59"), false, at("2026-03-11 03:00").Add(late)},
		{"at its time one is due", nightly, have(nightly, "2026-03-11 03:00"), at("2026-03-11 03:00").Add(late), true, at("2026-03-12 03:00").Add(late)},
		{"days that were missed are made up for once", nightly, have(nightly, "2026-03-11 03:00"), at("2026-03-15 12:00"), true, at("2026-03-16 03:00").Add(late)},
		{"another schedule begins anew", rome, have(nightly, "2026-03-11 03:00"), at("2026-03-11 12:00"), false, at("2026-03-12 02:00").Add(late)},
		{"in winter three o'clock of Rome is two o'clock UTC", rome, have(rome, "2026-01-11 02:00"), at("2026-01-11 02:30"), true, at("2026-01-12 02:00").Add(late)},
		{"and in summer one o'clock", rome, have(rome, "2026-07-11 01:00"), at("2026-07-11 01:30"), true, at("2026-07-12 01:00").Add(late)},
	} {
		got, err := NextBackup(app, tc.config, tc.have, tc.now)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got.Begin != tc.begin || !got.Next.Equal(tc.next) || !got.Keep.NextAt.Equal(tc.next) {
			t.Errorf("%s: NextBackup() = begin %v, next %s; want %v, %s", tc.name, got.Begin, got.Next, tc.begin, tc.next)
		}
		if tc.begin != got.Keep.LastAt.Equal(tc.now) {
			t.Errorf("%s: the last one is %s", tc.name, got.Keep.LastAt)
		}
	}
	never, err := NextBackup(app, slipway.BackupConfig{Schedule: "0 3 30 2 *"}, store.BackupSchedule{}, at("2026-03-10 12:00"))
	if err != nil || !never.Next.IsZero() {
		t.Errorf("the 30th of February is %s: %v", never.Next, err)
	}
}
