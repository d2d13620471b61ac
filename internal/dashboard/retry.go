package dashboard

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"slipway.dev/slipway/internal/change"
)

// retryModel is what a retry would repeat, and from where else it could begin.
type retryModel struct {
	Plan    change.RetryPlan
	From    string             // the step that was chosen; empty: the one that failed
	Earlier []change.RetryStep // done steps of hooks that could be repeated too
}

func newRetryModel(p change.RetryPlan, from string) retryModel {
	m := retryModel{Plan: p, From: from}
	for _, s := range p.Steps {
		if s.Fate == change.RetryKept && s.Hook != "" {
			m.Earlier = append(m.Earlier, s)
		}
	}
	return m
}

// still says what stands still meanwhile, and what does so already.
func (m retryModel) still() string {
	var parts []string
	if len(m.Plan.Stops) > 0 {
		parts = append(parts, "stops meanwhile: "+strings.Join(m.Plan.Stops, ", "))
	}
	for _, c := range m.Plan.Stopped {
		parts = append(parts, fmt.Sprintf("%s is stopped since task %d", c.Component, c.StoppedByTask))
	}
	return strings.Join(parts, " · ")
}

// runningActions are those of a step's actions that run.
func runningActions(s change.RetryStep) []string {
	if s.Fate == change.RetryKept {
		return nil
	}
	var out []string
	for _, a := range s.Actions {
		if s.KeptActions[a] == 0 {
			out = append(out, a)
		}
	}
	return out
}

func fateWord(s change.RetryStep) string {
	switch {
	case s.Fate == change.RetryKept:
		return fmt.Sprintf("stays done, by task %d", s.DoneIn)
	case s.Maybe:
		return "only if needed"
	case s.Fate == change.RetryRepeated:
		return "again"
	}
	return "follows"
}

func retryAddress(task int64, from string) string {
	q := url.Values{}
	set(q, "from", from)
	return withQuery(taskAddress(task)+"/retry", q)
}

// retry shows what a retry of a task would repeat.
func (s *site) retry(r *request) error {
	n, err := r.number("id")
	if err != nil {
		return err
	}
	return s.showRetry(r, n, r.URL.Query().Get("from"))
}

func (s *site) showRetry(r *request, n int64, from string) error {
	p, err := s.Change.PlanRetry(r.Context(), r.caller, change.RetryInput{TaskID: n, From: from})
	if err != nil {
		f := r.fault(err)
		return s.showTask(r, &f)
	}
	page := r.frame(fmt.Sprintf("Retry task %d", n), "/tasks")
	page.Crumbs, page.Key = []crumb{{"Tasks", "/tasks"}, {fmt.Sprintf("Task %d", n), taskAddress(n)}}, rand.Text()
	return r.render(http.StatusOK, retryPage(page, newRetryModel(p, from)))
}

// doRetry asks for another attempt at a task, and shows the task that makes it.
func (s *site) doRetry(r *request) error {
	n, err := r.number("id")
	if err != nil {
		return err
	}
	done, err := s.Change.RetryTask(r.Context(), r.caller, change.RetryInput{TaskID: n, From: r.form("from"), IdempotencyKey: r.form("key")})
	if err != nil {
		f := r.fault(err)
		return s.showTask(r, &f)
	}
	r.redirect(taskAddress(done.Task.ID))
	return nil
}
