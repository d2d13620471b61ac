package pool

import (
	"cmp"
	"slices"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Load is how much of a pool's limit cannot take one more job: its runners that are busy or
// on their way out, and what it cannot launch.
type Load map[int64]int

// Job is a queued job with where it may run.
type Job struct {
	slipway.Job
	// Environments are those through whose connections it was heard of; 0 stands for all.
	Environments []int64
}

// reaches reports whether a job may be demand of a pool.
func (j Job) reaches(p slipway.RunnerPool) bool {
	return slices.Contains(j.Environments, 0) || slices.Contains(j.Environments, p.EnvironmentID)
}

// Assigned is which queued jobs fall to which pool.
type Assigned struct {
	Jobs map[int64][]Job // by pool, the longest waiting first
	None []Job           // jobs that no pool serves
}

// Assign says which pool's demand each queued job is. A job binds no runner: the forge may
// give it to any, and the next snapshot counts anew.
//
// Of several pools that could serve a job the first by slipway.PoolOrder is chosen. When it
// has no runner left within its limit the next one is taken; when none has, the job waits
// for the first.
func Assign(jobs []Job, pools []slipway.RunnerPool, load Load, now time.Time) Assigned {
	out := Assigned{Jobs: map[int64][]Job{}}
	order := slices.SortedFunc(slices.Values(pools), slipway.PoolOrder)
	queued := slices.DeleteFunc(slices.Clone(jobs), func(j Job) bool {
		return j.State != slipway.JobQueued || now.Sub(j.QueuedAt) >= slipway.MaxQueued
	})
	slices.SortFunc(queued, func(a, b Job) int {
		return cmp.Or(a.QueuedAt.Compare(b.QueuedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, j := range queued {
		var first, chosen int64
		for _, p := range order {
			if p.Paused || p.Deleting || !j.reaches(p) || !p.Spec.Serves(j.Job) {
				continue
			}
			if first == 0 {
				first = p.ID
			}
			if load[p.ID]+len(out.Jobs[p.ID]) < p.Spec.Replicas {
				chosen = p.ID
				break
			}
		}
		if first == 0 {
			out.None = append(out.None, j)
			continue
		}
		id := cmp.Or(chosen, first)
		out.Jobs[id] = append(out.Jobs[id], j)
	}
	return out
}

// Ask is how many more runners a pool would launch under a ceiling that it shares.
type Ask struct {
	Pool     int64
	Priority int
	Runners  int
}

// Divide shares what a ceiling still allows. Higher priorities are served first; within one
// the pools take turns, one runner each, so that a pool with a thousand jobs does not keep
// its neighbour from its first.
func Divide(room int, asks []Ask) map[int64]int {
	given := map[int64]int{}
	order := slices.SortedFunc(slices.Values(asks), func(a, b Ask) int {
		return cmp.Or(-cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Pool, b.Pool))
	})
	for len(order) > 0 && room > 0 {
		same := 1
		for same < len(order) && order[same].Priority == order[0].Priority {
			same++
		}
		room = turns(room, order[:same], given)
		order = order[same:]
	}
	return given
}

func turns(room int, asks []Ask, given map[int64]int) int {
	for progress := true; progress && room > 0; {
		progress = false
		for _, a := range asks {
			if room > 0 && given[a.Pool] < a.Runners {
				given[a.Pool]++
				room--
				progress = true
			}
		}
	}
	return room
}
