package slipway

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// World: pure.
func TestExpired(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC)
	// One a day, the newest first; letters name the cause or the state of each.
	backups := func(days string) []Backup {
		var out []Backup
		for i, c := range days {
			b := Backup{ID: int64(100 - i), State: BackupComplete, Cause: BackupScheduled, TakenAt: now.AddDate(0, 0, -i)}
			switch c {
			case 'a':
				b.Cause = BackupAsked
			case 'u':
				b.Cause = BackupUpgrade
			case 'f':
				b.State = BackupFailed
			}
			out = append(out, b)
		}
		return out
	}
	for _, tc := range []struct {
		name     string
		days     string
		last     int
		keepDays int
		want     []int64
	}{
		{"no rule keeps everything", "sssss", 0, 0, nil},
		{"the newest two stay", "ssss", 2, 0, []int64{98, 97}},
		{"two days stay, and the newest whatever its age", "ssss", 0, 2, []int64{98, 97}},
		{"what either rule keeps stays", "sssss", 1, 3, []int64{97, 96}},
		{"what a person asked for stays, and does not count", "asas", 1, 0, []int64{97}},
		{"those before upgrades go like the others", "suu", 1, 0, []int64{99, 98}},
		{"a failed one counts for nothing", "ffss", 1, 0, []int64{97}},
		{"the last good one stays", "ffs", 0, 1, nil},
	} {
		var got []int64
		for _, b := range Expired(backups(tc.days), tc.last, tc.keepDays, now) {
			got = append(got, b.ID)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: Expired() = %v, want %v", tc.name, got, tc.want)
		}
	}
}

// World: pure. Whatever the rules and the backups, the newest complete one stays, and so
// does what a person asked for.
func TestExpiredKeepsTheNewest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(1_800_000_000, 0)
		var all []Backup
		for i := range rapid.IntRange(0, 20).Draw(t, "backups") {
			all = append(all, Backup{
				ID:      int64(i + 1),
				State:   rapid.SampledFrom([]BackupState{BackupTaking, BackupComplete, BackupFailed, BackupDeleting}).Draw(t, "state"),
				Cause:   rapid.SampledFrom([]BackupCause{BackupAsked, BackupScheduled, BackupUpgrade}).Draw(t, "cause"),
				TakenAt: now.Add(-time.Duration(rapid.IntRange(0, 100*24).Draw(t, "hours")) * time.Hour),
			})
		}
		last, days := rapid.IntRange(0, 5).Draw(t, "keep_last"), rapid.IntRange(0, 60).Draw(t, "keep_days")
		gone := Expired(all, last, days, now)
		var newest time.Time
		for _, b := range all {
			if b.State == BackupComplete && b.TakenAt.After(newest) {
				newest = b.TakenAt
			}
		}
		kept := 0
		for _, b := range all {
			isGone := slices.ContainsFunc(gone, func(g Backup) bool { return g.ID == b.ID })
			if b.State == BackupComplete && !isGone && b.TakenAt.Equal(newest) {
				kept++
			}
			if isGone && (b.State != BackupComplete || b.Cause == BackupAsked) {
				t.Fatalf("backup %d, %s and %s, is given up", b.ID, b.State, b.Cause)
			}
			if isGone && days > 0 && now.Sub(b.TakenAt) < time.Duration(days)*24*time.Hour {
				t.Fatalf("backup %d is younger than %d days, and given up", b.ID, days)
			}
		}
		if !newest.IsZero() && kept == 0 {
			t.Fatal("the newest complete backup is given up")
		}
	})
}
