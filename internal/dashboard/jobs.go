package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"slipway.dev/slipway/internal/joblog"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

const (
	// logLines is how many lines of a log one page shows, and logWithin how long the forge
	// may take to give them.
	logLines, logWithin = 500, 20 * time.Second
	maxSearch           = 200
)

// job shows one job: why it waits, and who serves it. It asks no forge.
func (s *site) job(r *request) error {
	p, err := s.jobOf(r)
	if err != nil {
		return err
	}
	page := r.liveFrame("Job "+id(p.ID), jobAddress(p.Job), joinScope(p.Pool.Project, p.Pool.Environment))
	page.Nav, page.Crumbs = "/runners", jobCrumbs(p)
	return r.render(http.StatusOK, jobPage(page, p))
}

func (s *site) jobOf(r *request) (view.JobPage, error) {
	number, err := r.number("job")
	if err != nil {
		return view.JobPage{}, err
	}
	return s.View.Job(r.Context(), r.caller, slipway.ForgeHost(r.PathValue("host")), number)
}

func jobCrumbs(p view.JobPage) []crumb {
	out := []crumb{{"Runners", "/runners"}}
	if p.Pool.ID != 0 {
		out = append(out, crumb{p.Pool.Application, address("applications", p.Pool.Project, p.Pool.Environment, p.Pool.Application)})
	}
	return out
}

type jobLogModel struct {
	view.JobPage
	Log    joblog.Log
	Search string
	After  int
	Fault  *fault // why there is no log
}

// jobLog fetches a part of a job's log from its forge, and shows it. It is not kept.
func (s *site) jobLog(r *request) error {
	p, err := s.jobOf(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	m := jobLogModel{JobPage: p, Search: q.Get("search")}
	if after := q.Get("after"); after != "" {
		if m.After, err = strconv.Atoi(after); err != nil || m.After < 0 {
			return slipway.Errorf(slipway.Invalid, "%q is not the number of a line", after)
		}
	}
	page := r.frame("Log of job "+id(p.ID), "/runners")
	page.Crumbs = append(jobCrumbs(p), crumb{"Job " + id(p.ID), jobAddress(p.Job)})
	status := http.StatusOK
	if m.Log, err = s.fetchLog(r.Context(), m); err != nil {
		f := r.fault(err)
		m.Fault, status = &f, f.Status
	}
	return r.render(status, jobLogPage(page, m))
}

func (s *site) fetchLog(ctx context.Context, m jobLogModel) (joblog.Log, error) {
	switch {
	case !m.Known:
		return joblog.Log{}, slipway.Errorf(slipway.NotFound, "there is no job %d of %s, or you may not see it", m.ID, m.Host)
	case m.Pool.ID == 0:
		return joblog.Log{}, slipway.Errorf(slipway.Conflict, "no pool that you see runs this job, and so there is no credential to read it with").
			WithHint("its page at the forge has the log")
	case s.Jobs == nil:
		return joblog.Log{}, slipway.Errorf(slipway.Unavailable, "this server does not reach the forge")
	case len(m.Search) > maxSearch:
		return joblog.Log{}, slipway.Errorf(slipway.Invalid, "a text to search for has at most %d bytes", maxSearch)
	}
	ctx, stop := context.WithTimeout(ctx, logWithin)
	defer stop()
	return joblog.Fetch(ctx, s.Jobs, m.Pool, m.Job, joblog.Query{Search: m.Search, After: m.After, Limit: logLines})
}

func (m jobLogModel) next() string {
	if m.Log.Next == 0 {
		return ""
	}
	q := url.Values{"after": {strconv.Itoa(m.Log.Next)}}
	set(q, "search", m.Search)
	return withQuery(jobAddress(m.Job)+"/log", q)
}

// forgePage is the address of a job's page at its forge, as far as it is one.
func forgePage(j slipway.Job) string { return webAddress(j.URL) }

// whyClass colours an answer by what it asks of its reader.
func whyClass(w view.Why) string {
	switch w.Code {
	case view.WhyRuns, view.WhyStarting, view.WhyLaunching, view.WhyHandingOver:
		return "is-busy"
	case view.WhyEnded:
		return ""
	case view.WhyHeld, view.WhyUnwatched, view.WhyUnexplained:
		return "is-bad"
	}
	return "is-warn"
}
