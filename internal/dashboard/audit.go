package dashboard

import (
	"net/http"

	"slipway.dev/slipway/internal/view"
)

func (s *site) audit(r *request) error {
	q := r.URL.Query()
	filter := view.AuditFilter{User: q.Get("user"), Action: q.Get("action")}
	l, err := s.View.Audit(r.Context(), r.caller, filter, r.pageOf(pageRows))
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, auditPage(r.frame("Audit", "/audit"), l, filter))
}
