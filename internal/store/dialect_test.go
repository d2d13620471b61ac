package store

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// World of these tests: pure.

func TestRebind(t *testing.T) {
	t.Parallel()
	numbered, plain := Dialect{Numbered: true}, Dialect{}
	for query, want := range map[string]string{
		`SELECT 1`:           `SELECT 1`,
		`UPDATE t SET a = ?`: `UPDATE t SET a = $1`,
		`(?, ?) AND x = ?`:   `($1, $2) AND x = $3`,
		`?,?,?,?,?,?,?,?,?,?,? — more than ten`: `$1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11 — more than ten`,
	} {
		if got := numbered.rebind(query); got != want {
			t.Errorf("rebind(%q) = %q, want %q", query, got, want)
		}
		if got := plain.rebind(query); got != query {
			t.Errorf("rebind(%q) = %q, want it as it was", query, got)
		}
	}
}

func TestTextsOfTimesCompareAsTheTimesDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		moment := func(name string) time.Time {
			zone := time.FixedZone("", rapid.IntRange(-14, 14).Draw(t, name+" zone")*3600)
			return time.Unix(rapid.Int64Range(0, 250_000_000_000).Draw(t, name), rapid.Int64Range(0, 999_999_999).Draw(t, name+" ns")).In(zone)
		}
		a, b := cut(moment("a")), cut(moment("b"))
		x, y := a.Format(TimeFormat), b.Format(TimeFormat)
		if (x < y) != a.Before(b) || (x == y) != a.Equal(b) || len(x) != len(y) {
			t.Fatalf("%s and %s do not compare as the times do", x, y)
		}
		var back time.Time
		if err := at(&back).Scan(x); err != nil || back != a {
			t.Fatalf("%s came back as %s, %v", x, back, err)
		}
	})
}
