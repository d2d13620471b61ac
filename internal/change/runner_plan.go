package change

import (
	"fmt"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// PoolFate is what becomes of a pool.
type PoolFate string

const (
	PoolNew     PoolFate = "new"
	PoolSame    PoolFate = "same"    // nothing of it changes
	PoolTuned   PoolFate = "tuned"   // how many runners there are and when; those that are there stay
	PoolRenewed PoolFate = "renewed" // its runners are replaced
	PoolGone    PoolFate = "gone"
)

// PlannedPool says what a change does to one pool and to its runners.
type PlannedPool struct {
	Service string
	Fate    PoolFate
	Runners slipway.RunnerCount // that there are now
	Most    int                 // runners at once, afterwards
	Sleeps  bool                // afterwards: it keeps no runner while no job waits
}

func (p *prepared) plannedPools() []PlannedPool {
	var out []PlannedPool
	for _, change := range p.pools {
		one := PlannedPool{Service: change.service, Runners: slipway.CountRunners(change.slots), Fate: PoolTuned}
		switch {
		case change.wanted == nil && change.old.Deleting:
			continue // an earlier change has taken it away
		case change.wanted == nil:
			one.Fate = PoolGone
		case change.old.ID == 0:
			one.Fate = PoolNew
		case change.same():
			one.Fate = PoolSame
		case change.replaces():
			one.Fate = PoolRenewed
		}
		if w := change.wanted; w != nil {
			one.Most, one.Sleeps = w.Replicas, !w.Fixed() && w.Minimum == 0 && w.Spare == 0
		}
		out = append(out, one)
	}
	return out
}

// String says it as the plan shows it: "runner: 2 free runners are replaced, 1 busy one
// ends its job first".
func (p PlannedPool) String() string {
	n := p.Runners
	switch p.Fate {
	case PoolNew:
		if p.Sleeps {
			return fmt.Sprintf("%s: new, asleep until a job waits, then up to %s", p.Service, count(p.Most, "runner"))
		}
		return fmt.Sprintf("%s: new, up to %s", p.Service, count(p.Most, "runner"))
	case PoolSame:
		return p.Service + ": stays as it is"
	case PoolTuned:
		return p.Service + ": no runner is replaced"
	case PoolGone:
		what := []string{p.Service + ": goes"}
		if n.Free > 0 {
			what = append(what, count(n.Free, "free runner")+" with it")
		}
		if n.Busy > 0 {
			what = append(what, fmt.Sprintf("%s %s cancelled", count(n.Busy, "running job"), isAre(n.Busy)))
		}
		return strings.Join(what, ", ")
	}
	var parts []string
	if n.Free > 0 {
		parts = append(parts, fmt.Sprintf("%s %s replaced", count(n.Free, "free runner"), isAre(n.Free)))
	}
	if n.Busy == 1 {
		parts = append(parts, "1 busy one ends its job first")
	} else if n.Busy > 1 {
		parts = append(parts, fmt.Sprintf("%d busy ones end their jobs first", n.Busy))
	}
	if len(parts) == 0 {
		parts = []string{"the next runners are others"}
	}
	return p.Service + ": " + strings.Join(parts, ", ")
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// runnerWarnings are what a person should know beyond the diff.
func (p *prepared) runnerWarnings() []string {
	var out []string
	if p.app.ID != 0 && len(spec.Diff(p.wanted.Spec, p.spec)) == 0 {
		out = append(out, fmt.Sprintf("nothing differs from revision %d", p.app.Revision))
	}
	for _, change := range p.pools {
		n := slipway.CountRunners(change.slots)
		if change.wanted == nil && !change.old.Deleting && n.Busy > 0 {
			out = append(out, fmt.Sprintf("the pool %s goes, and its %s %s cancelled", change.service, count(n.Busy, "running job"), isAre(n.Busy)))
		}
		if old := change.old; change.wanted != nil && old.ID != 0 && old.Spec.Credential != change.wanted.Credential && len(change.slots) > 0 {
			out = append(out, fmt.Sprintf("keep the secret %s until the runners that were registered with it are gone", old.Spec.Credential))
		}
	}
	return out
}
