package dashboard

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strconv"

	"slipway.dev/slipway/internal/slipway"
)

func (s *site) tasks(r *request) error {
	q := r.URL.Query()
	m := tasksModel{In: q.Get("in")}
	m.Filter.Project, m.Filter.Environment = splitScope(m.In)
	m.Filter.State = slipway.TaskState(q.Get("state"))
	if a := q.Get("application"); a != "" {
		n, err := strconv.ParseInt(a, 10, 64)
		if err != nil {
			return slipway.Errorf(slipway.NotFound, "there is no such application")
		}
		m.Filter.ApplicationID = n
	}
	var err error
	if m.Environments, err = s.environments(r.Context(), r.caller); err != nil {
		return err
	}
	if m.List, err = s.View.Tasks(r.Context(), r.caller, m.Filter, r.pageOf(pageRows)); err != nil {
		return err
	}
	return r.render(http.StatusOK, tasksPage(r.liveFrame("Tasks", "/tasks", m.In), m))
}

func (s *site) task(r *request) error { return s.showTask(r, nil) }

func (s *site) showTask(r *request, f *fault) error {
	n, err := r.number("id")
	if err != nil {
		return err
	}
	p, err := s.View.Task(r.Context(), r.caller, n)
	if err != nil {
		return err
	}
	a := p.Application
	page := r.liveFrame(fmt.Sprintf("Task %d: %s", n, p.Task.Title), taskAddress(n), joinScope(a.Project, a.Environment))
	page.Nav, page.Crumbs, page.Moving = "/tasks", applicationCrumbs(a), !p.Task.State.Over()
	page.Key = rand.Text()
	status := http.StatusOK
	if f != nil {
		status = f.Status
	}
	return r.render(status, taskPage(page, newTaskModel(p, s.prefectUI()), f))
}

// doCancel asks for the end of a task. One that ended meanwhile is shown as it is.
func (s *site) doCancel(r *request) error {
	n, err := r.number("id")
	if err != nil {
		return err
	}
	if _, err := s.Change.CancelTask(r.Context(), r.caller, n); err != nil {
		f := r.fault(err)
		return s.showTask(r, &f)
	}
	r.redirect(taskAddress(n))
	return nil
}

// stepOutput serves all that was kept of a step's output, as plain text.
func (s *site) stepOutput(r *request) error {
	n, err := r.number("id")
	if err != nil {
		return err
	}
	number, err := r.number("step")
	if err != nil {
		return err
	}
	step, err := s.View.Step(r.Context(), r.caller, n, number)
	if err != nil {
		return err
	}
	text := plain(step.Output)
	if step.OutputCut {
		text = "[earlier output was cut]\n" + text
	}
	h := r.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	// It may hold anything that a command printed: even opened by itself it is only text.
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Content-Disposition", fmt.Sprintf(`inline; filename="task-%d-step-%d.txt"`, n, step.Seq))
	h.Set("Content-Length", strconv.Itoa(len(text)))
	r.w.WriteHeader(http.StatusOK)
	_, _ = r.w.Write([]byte(text)) // a reader that went away needs no answer
	return nil
}

func (s *site) prefectUI() string {
	if s.PrefectUI == nil {
		return ""
	}
	return s.PrefectUI()
}
