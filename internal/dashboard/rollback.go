package dashboard

import (
	"crypto/rand"
	"net/http"
	"strconv"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
)

// rollback shows what a rollback of an application would do.
func (s *site) rollback(r *request) error {
	m, err := s.applicationOf(r)
	if err != nil {
		return err
	}
	var to int64
	if q := r.URL.Query().Get("to"); q != "" {
		if to, err = strconv.ParseInt(q, 10, 64); err != nil || to < 1 {
			return slipway.Errorf(slipway.NotFound, "there is no such revision")
		}
	}
	p, err := s.Change.PlanRollback(r.Context(), r.caller, change.RollbackInput{ApplicationID: m.Application.ID, To: to})
	if err != nil {
		f := r.fault(err)
		return s.showApplication(r, &f)
	}
	page := r.frame("Roll "+p.Name+" back", "/applications")
	page.Crumbs, page.Key = applicationCrumbs(m.Application), rand.Text()
	return r.render(http.StatusOK, rollbackPage(page, m, p))
}

// doRollback asks for the content of an earlier revision, and shows the task that brings it.
func (s *site) doRollback(r *request) error {
	m, err := s.applicationOf(r)
	if err != nil {
		return err
	}
	to, err1 := strconv.ParseInt(r.form("to"), 10, 64)
	expected, err2 := strconv.ParseInt(r.form("expected"), 10, 64)
	if err1 != nil || err2 != nil {
		return slipway.Errorf(slipway.Invalid, "the form names no revision").WithHint("open the page again")
	}
	done, err := s.Change.Rollback(r.Context(), r.caller, change.RollbackInput{
		ApplicationID: m.Application.ID, To: to, ExpectedRevision: &expected, IdempotencyKey: r.form("key"),
	})
	if err != nil {
		f := r.fault(err)
		return s.showApplication(r, &f)
	}
	r.redirect(taskAddress(done.Task.ID))
	return nil
}
