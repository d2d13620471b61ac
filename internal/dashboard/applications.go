package dashboard

import (
	"crypto/rand"
	"net/http"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// pageRows is how many lines a page lists at once: enough for most, small enough for the
// page to stay light.
const pageRows = 100

func (s *site) applications(r *request) error {
	m := applicationsModel{In: r.URL.Query().Get("in")}
	m.Filter.Project, m.Filter.Environment = splitScope(m.In)
	m.Filter.State = slipway.ApplicationState(r.URL.Query().Get("state"))
	var err error
	if m.Environments, err = s.environments(r.Context(), r.caller); err != nil {
		return err
	}
	if m.List, err = s.View.Applications(r.Context(), r.caller, m.Filter, r.pageOf(pageRows)); err != nil {
		return err
	}
	return r.render(http.StatusOK, applicationsPage(r.liveFrame("Applications", "/applications", m.In), m))
}

func (s *site) application(r *request) error { return s.showApplication(r, nil) }

// showApplication answers with an application's page, with what went wrong if something
// did.
func (s *site) showApplication(r *request, f *fault) error {
	m, err := s.applicationOf(r)
	if err != nil {
		return err
	}
	if after := r.URL.Query().Get("after"); after != "" {
		m.Revisions, err = s.View.Revisions(r.Context(), r.caller, m.Application.ID, view.Page{Limit: 50, After: after})
		if err != nil {
			return err
		}
	}
	a := m.Application
	var offer change.RollbackOffer
	if a.State != slipway.AppDeleted && !a.Deleting && len(m.Open) == 0 {
		if offer, err = s.Change.OfferRollback(r.Context(), r.caller, a.ID); err != nil {
			return err
		}
	}
	page := r.liveFrame(a.Name, applicationAddress(a), slipway.EnvironmentRef(a.Project, a.Environment))
	page.Nav, page.Crumbs, page.Moving = "/applications", environmentCrumbs(a), len(m.Open) > 0
	page.Key = rand.Text()
	status := http.StatusOK
	if f != nil {
		status = f.Status
	}
	if a.Kind == slipway.RunnerApplication {
		actions, err := s.View.Actions(r.Context(), r.caller, a.ID, runnersSize)
		if err != nil {
			return err
		}
		return r.render(status, runnersPage(page, runnersModel{m, actions}, offer, f))
	}
	return r.render(status, applicationPage(page, m, offer, f))
}

func (s *site) applicationOf(r *request) (view.ApplicationPage, error) {
	return s.View.ApplicationByName(r.Context(), r.caller, r.PathValue("project"), r.PathValue("environment"), r.PathValue("name"))
}

func environmentCrumbs(a slipway.Application) []crumb {
	in := slipway.EnvironmentRef(a.Project, a.Environment)
	return []crumb{
		{"Applications", "/applications"},
		{in, applicationsQuery(view.ApplicationFilter{Project: a.Project, Environment: a.Environment}, "")},
	}
}

func applicationCrumbs(a slipway.Application) []crumb {
	if a.ID == 0 || a.State == slipway.AppDeleted {
		return []crumb{{"Tasks", "/tasks"}}
	}
	return append(environmentCrumbs(a), crumb{a.Name, applicationAddress(a)})
}

// doStart starts a component that is stopped, and shows the task that does it.
func (s *site) doStart(r *request) error {
	m, err := s.applicationOf(r)
	if err != nil {
		return err
	}
	done, err := s.Change.StartComponents(r.Context(), r.caller, change.ComponentsInput{
		ApplicationID: m.Application.ID, Components: []string{r.form("component")}, IdempotencyKey: r.form("key"),
	})
	if err != nil {
		f := r.fault(err)
		return s.showApplication(r, &f)
	}
	r.redirect(taskAddress(done.Task.ID))
	return nil
}

func (s *site) revision(r *request) error {
	number, err := r.number("number")
	if err != nil {
		return err
	}
	m, err := s.applicationOf(r)
	if err != nil {
		return err
	}
	p, err := s.View.Revision(r.Context(), r.caller, m.Application.ID, number)
	if err != nil {
		return err
	}
	page := r.frame("Revision "+id(number)+" of "+p.Application.Name, "/applications")
	page.Crumbs = applicationCrumbs(p.Application)
	return r.render(http.StatusOK, revisionPage(page, p))
}
