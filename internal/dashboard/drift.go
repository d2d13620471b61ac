package dashboard

import (
	"strconv"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// pageDrift is how many differences a page shows.
const pageDrift = 50

func shownDrift(d slipway.Drift) []slipway.Difference { return d.Found[:min(len(d.Found), pageDrift)] }

// driftWhat says in what an object differs.
func driftWhat(d slipway.Difference) string {
	switch d.Kind {
	case slipway.DiffMissing:
		return "it is missing"
	case slipway.DiffExtra:
		return "no change made it"
	case slipway.DiffChanged:
	}
	return d.Path
}

// driftAside stands where there are no values to show.
func driftAside(d slipway.Difference) string {
	switch {
	case d.Kind == slipway.DiffMissing:
		return "a repair makes it again"
	case d.Kind == slipway.DiffExtra:
		return "it carries the application's labels; a repair leaves it alone"
	}
	return "the values are not shown"
}

// driftSign is a list's word for an application's drift.
func driftSign(a view.ApplicationRow) (sign, bool) {
	if a.Drift.State() != slipway.Drifted {
		return sign{}, false
	}
	return sign{"Drifted: " + count(len(a.Drift.Found), "difference"), "off", "is-warn"}, true
}

// doRepair puts back what drifted, and shows the task that does it.
func (s *site) doRepair(r *request) error {
	m, err := s.applicationOf(r)
	if err != nil {
		return err
	}
	revision, err := strconv.ParseInt(r.form("revision"), 10, 64)
	if err != nil {
		return slipway.Errorf(slipway.Invalid, "the form does not say which revision was seen").WithHint("reload the page")
	}
	done, err := s.Change.Repair(r.Context(), r.caller, change.RepairInput{
		ApplicationID: m.Application.ID, ExpectedRevision: &revision, IdempotencyKey: r.form("key"),
	})
	if err != nil {
		f := r.fault(err)
		return s.showApplication(r, &f)
	}
	r.redirect(taskAddress(done.Task.ID))
	return nil
}
