package change

import "github.com/Masterminds/semver/v3"

// way is where a move between two versions leads.
type way int

const (
	nowhere way = iota // both versions stay
	back               // one is earlier, and none later
	forward            // anything else
)

// direction compares the versions of the application and of its driver. Versions that have
// no order lead forward, which is the way with more checks.
func direction(from, to version) way {
	if from == to {
		return nowhere
	}
	for _, pair := range [][2]string{{from.app, to.app}, {from.driver, to.driver}} {
		if pair[0] == pair[1] {
			continue
		}
		a, err1 := semver.NewVersion(pair[0])
		b, err2 := semver.NewVersion(pair[1])
		if err1 != nil || err2 != nil || !b.LessThan(a) {
			return forward
		}
	}
	return back
}
