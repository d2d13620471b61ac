package dashboard

import (
	"cmp"
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
	stepsWithin         = 15 * time.Second
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
	if err := s.readable(m.JobPage); err != nil {
		return joblog.Log{}, err
	}
	if len(m.Search) > maxSearch {
		return joblog.Log{}, slipway.Errorf(slipway.Invalid, "a text to search for has at most %d bytes", maxSearch)
	}
	ctx, stop := context.WithTimeout(ctx, logWithin)
	defer stop()
	return joblog.Fetch(ctx, s.Jobs, m.Pool, m.Job, joblog.Query{Search: m.Search, After: m.After, Limit: logLines})
}

// readable refuses what cannot be read at the forge, or is not the reader's to read.
func (s *site) readable(p view.JobPage) error {
	switch {
	case !p.Known:
		return slipway.Errorf(slipway.NotFound, "there is no job %d of %s, or you may not see it", p.ID, p.Host)
	case p.Pool.ID == 0:
		return slipway.Errorf(slipway.Conflict, "no pool that you see runs this job, and so there is no credential to read it with").
			WithHint("its page at the forge has it")
	case s.Jobs == nil:
		return slipway.Errorf(slipway.Unavailable, "this server does not reach the forge")
	}
	return nil
}

type jobStepsModel struct {
	view.JobPage
	Steps []joblog.Step
	Fault *fault // why there are none
}

// jobSteps fetches a job's steps from its forge, and shows them. The job's page asks for
// them when it stands, so that it does not wait for the forge.
func (s *site) jobSteps(r *request) error {
	p, err := s.jobOf(r)
	if err != nil {
		return err
	}
	m := jobStepsModel{JobPage: p}
	page := r.frame("Steps of job "+id(p.ID), "/runners")
	page.Crumbs = append(jobCrumbs(p), crumb{"Job " + id(p.ID), jobAddress(p.Job)})
	status := http.StatusOK
	if m.Steps, err = s.fetchSteps(r.Context(), p); err != nil {
		f := r.fault(err)
		m.Fault, status = &f, f.Status
	}
	return r.render(status, jobStepsPage(page, m))
}

func (s *site) fetchSteps(ctx context.Context, p view.JobPage) ([]joblog.Step, error) {
	if err := s.readable(p); err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, stepsWithin)
	defer stop()
	return s.Jobs.Steps(ctx, p.Pool, p.Job)
}

// hasSteps reports whether the forge can tell of a job's steps: it has begun, and there is a
// credential to ask with.
func hasSteps(p view.JobPage) bool {
	return p.Known && p.Pool.ID != 0 && (p.State == slipway.JobRunning || p.State == slipway.JobCompleted)
}

// stepsTrigger is when a job's page asks for the steps: once, and now and then while they
// move. How the job stands is part of the element's identity, so that the end of the job
// asks once more.
func stepsTrigger(p view.JobPage) string {
	if p.State == slipway.JobRunning {
		return "load, every 15s"
	}
	return "load"
}

var stepConclusions = map[string]sign{
	"success":   {"Done", "ok", "is-ok"},
	"failure":   {"Failed", "bad", "is-bad"},
	"timed_out": {"Timed out", "bad", "is-bad"},
	"cancelled": {"Cancelled", "off", "is-idle"},
	"skipped":   {"Skipped", "off", "is-idle"},
}

// jobStepSign is how a step of a job stands, in the forge's words where they are not known here.
func jobStepSign(st joblog.Step) sign {
	switch st.Status {
	case "completed":
		if known, ok := stepConclusions[st.Conclusion]; ok {
			return known
		}
		return sign{cmp.Or(plain(st.Conclusion), "Done"), "off", "is-idle"}
	case "in_progress":
		return sign{"Runs", "busy", "is-busy"}
	}
	return sign{"Waits", "clock", "is-idle"}
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
