package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// pod is one runner pod of the simulated cluster, and the program in it.
type pod struct {
	namespace, name, uid string
	pool, slot           int64
	config               string // what its Secret holds
	life                 time.Duration
	node                 string
	phase                phase
	why                  string // beside failed
	host                 *host
	runner               int64 // the forge's number, once its program runs
	stray                bool  // a process made it that had been given up
	made, started, ended time.Time
	leaving              bool // deletion was asked for
}

type phase string

const (
	pending   phase = "Pending"
	running   phase = "Running"
	succeeded phase = "Succeeded"
	failed    phase = "Failed"
)

func (p *pod) over() bool { return p.phase == succeeded || p.phase == failed }

// nodes are the machines of the simulated cluster.
var nodes = []string{"node-a", "node-b"}

// launch makes a pod and its Secret, once by its name.
func (w *World) launch(p pod) string {
	for _, have := range w.pods {
		if have.name == p.name && have.namespace == p.namespace {
			return have.uid
		}
	}
	w.made++
	p.uid, p.phase, p.made, p.node = fmt.Sprintf("uid-%d", w.made), pending, w.now, nodes[w.made%len(nodes)]
	w.pods = append(w.pods, &p)
	w.Count.Pods++
	return p.uid
}

// end asks for the end of a pod. It is gone when its node says so. A runner that has a job
// may be ended in this way only when its pool is being deleted.
func (w *World) end(ctx context.Context, namespace, name string) error {
	for _, p := range w.pods {
		if p.name != name || p.namespace != namespace || p.leaving {
			continue
		}
		if r, ok := w.runner(name); ok && r.Busy && !p.over() && !w.lostNode[p.node] {
			deleting, err := w.beingDeleted(ctx, p.pool)
			if err != nil {
				return err
			}
			if !deleting {
				w.violate("the pod of runner %s, which has a job, was deleted", name)
			}
		}
		p.leaving = true
		w.stop(p, failed, "it was deleted")
	}
	return nil
}

// stop ends the program of a pod. The forge sees it go offline.
func (w *World) stop(p *pod, how phase, why string) {
	if p.over() {
		return
	}
	p.phase, p.why, p.ended = how, why, w.now
	if p.runner != 0 {
		p.host.Offline(p.runner)
	}
}

// move lets every pod move on: a new one starts its program, which takes its configuration
// up; one whose deletion was asked for vanishes; one whose job has ended is over.
func (w *World) move(p *pod) {
	if w.lostNode[p.node] {
		return
	}
	switch {
	case p.leaving:
		w.pods = slices.DeleteFunc(w.pods, func(q *pod) bool { return q == p })
	case p.phase == pending:
		p.host = w.registrations[strings.ToLower(p.name)].host
		id, err := p.host.Online(p.config)
		p.started = w.now
		if err != nil {
			w.stop(p, failed, "the runner's configuration was refused")
			return
		}
		p.phase, p.runner = running, id
	case p.phase == running:
		r, registered := w.runner(p.name)
		switch {
		case !registered:
			w.stop(p, succeeded, "")
		case p.life > 0 && w.now.Sub(p.made) > p.life:
			w.stop(p, failed, "DeadlineExceeded")
		case !r.Busy && !r.Online:
			w.stop(p, failed, "the runner was disconnected")
		}
	}
}

// jobsOfTheLost end as failed some time after their runners went silent.
const lostAfter = 10 * time.Minute

// settle is what time does in the world: jobs whose runner is gone fail, and those that
// nobody took for a day are given up.
func (w *World) settle() {
	for _, at := range w.jobs {
		j, ok := w.job(at)
		if !ok {
			continue
		}
		switch silent := at.host.silent; {
		case j.State == slipway.JobQueued && w.now.Sub(j.QueuedAt) >= slipway.MaxQueued:
			at.finish("cancelled")
		case j.State == slipway.JobRunning:
			if !w.isSilent(at, j) {
				delete(silent, at.id)
				continue
			}
			if since, ok := silent[at.id]; !ok {
				silent[at.id] = w.now
			} else if w.now.Sub(since) >= lostAfter {
				at.finish("failure")
			}
		}
	}
	for _, p := range slices.Clone(w.pods) {
		if p.phase == running {
			w.move(p)
		}
	}
}
