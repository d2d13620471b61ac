package pool

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// describe fills in what people read of the pool.
func (w *run) describe(d *decision, in rows, seen world, slots []slipway.Slot) {
	s := &d.status
	s.PoolID, s.State, s.Why, s.Demand, s.CheckedAt = in.pool.ID, d.next.State, d.next.Why, len(in.demand), in.now
	if !seen.own.At.IsZero() {
		s.ListedAt = seen.own.At
	}
	switch {
	case seen.own.Failed != nil:
		s.ListError = sentence(seen.own.Failed)
	case !seen.own.At.IsZero():
		s.ListError = ""
	}
	oldest := ""
	for _, slot := range slots {
		if slot.Version != "" && slot.State != slipway.SlotClosed && (oldest == "" || olderVersion(slot.Version, oldest)) {
			oldest = slot.Version
		}
	}
	if oldest != "" {
		s.Version = oldest
	}
	if seen.newest != "" && seen.newest != s.Newest {
		s.Newest, s.NewestAt = seen.newest, in.now
	}
	s.Warning = versionWarning(*s, in.now)
	s.Ledger = ledger(in, seen, d.strays, slots)
}

const (
	// supportedFor is how long GitHub takes a runner program after a newer one came out.
	supportedFor = 30 * 24 * time.Hour
	// warnWithin is how many days before the end of that people hear of it.
	warnWithin = 20 * 24 * time.Hour
)

// versionWarning says for how long the forge will take the runner program: it updates
// itself nowhere, because each runner has one job only.
func versionWarning(s slipway.PoolStatus, now time.Time) string {
	if s.Version == "" || s.Newest == "" || s.NewestAt.IsZero() || !olderVersion(s.Version, s.Newest) {
		return ""
	}
	left := s.NewestAt.Add(supportedFor).Sub(now)
	switch {
	case left > warnWithin:
		return ""
	case left < 24*time.Hour:
		return fmt.Sprintf("the runner program %s is older than GitHub's %s by a month: GitHub may refuse it at any time; set runners.image to a newer image", s.Version, s.Newest)
	}
	return fmt.Sprintf("the runner program %s is older than GitHub's %s: GitHub refuses it in about %d days; set runners.image to a newer image", s.Version, s.Newest, left/(24*time.Hour))
}

// olderVersion compares 2.300.1 and 2.337.0 by their numbers.
func olderVersion(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		if c := cmp.Compare(number(x, i), number(y, i)); c != 0 {
			return c < 0
		}
	}
	return false
}

func number(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, err := strconv.Atoi(parts[i])
	if err != nil {
		return 0
	}
	return n
}
