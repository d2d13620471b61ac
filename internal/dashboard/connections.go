package dashboard

import (
	"net/http"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// connections lists from which forges deliveries come, and whether they do.
func (s *site) connections(r *request) error {
	all, err := s.View.Connections(r.Context(), r.caller, view.ConnectionFilter{})
	if err != nil {
		return err
	}
	page := r.frame("Connections", "/runners")
	page.Crumbs = []crumb{{"Runners", "/runners"}}
	return r.render(http.StatusOK, connectionsPage(page, all))
}

type connectionModel struct {
	slipway.Connection
	Renamed    bool                // the App's credential is not under the name that was asked for
	Begun      slipway.AppCreation // an App that is being made; zero: none is
	Deliveries []slipway.Delivery  // the newest
}

// shownDeliveries is how many deliveries a page lists.
const shownDeliveries = 100

func (s *site) connection(r *request) error {
	name := r.PathValue("name")
	n, err := s.View.Connection(r.Context(), r.caller, name)
	if err != nil {
		return err
	}
	m := connectionModel{Connection: n, Renamed: r.URL.Query().Has("renamed")}
	if m.Deliveries, err = s.View.Deliveries(r.Context(), r.caller, name); err != nil {
		return err
	}
	if m.Begun, err = s.View.AppCreation(r.Context(), r.caller, name); err != nil && !slipway.Is(err, slipway.NotFound) {
		return err
	}
	m.Deliveries = m.Deliveries[:min(len(m.Deliveries), shownDeliveries)]
	page := r.frame("Connection "+name, "/runners")
	page.Crumbs = []crumb{{"Runners", "/runners"}, {"Connections", "/connections"}}
	return r.render(http.StatusOK, connectionPage(page, m))
}

// connectionScope names whose pools a connection may wake.
func connectionScope(c slipway.Connection) string {
	if c.EnvironmentID == 0 {
		return "the whole installation"
	}
	return slipway.EnvironmentRef(c.Project, c.Environment)
}

// connectionSign says whether deliveries come.
func connectionSign(c slipway.Connection) sign {
	switch {
	case c.RecoverError != "":
		return sign{"Lost deliveries cannot be looked for", "warn", "is-warn"}
	case c.LastDelivery.IsZero():
		return sign{"No delivery yet", "clock", "is-idle"}
	}
	return sign{"Receiving", "ok", "is-ok"}
}

var deliverySigns = map[slipway.DeliveryOutcome]sign{
	slipway.DeliveryTaken:   {"Taken", "ok", "is-ok"},
	slipway.DeliveryOld:     {"Old news", "off", "is-idle"},
	slipway.DeliveryIgnored: {"Ignored", "off", "is-idle"},
	slipway.DeliveryInvalid: {"Not understood", "bad", "is-bad"},
}

func deliverySign(o slipway.DeliveryOutcome) sign { return lookUp(deliverySigns, o) }

// deliveryJob is the job that a delivery is about.
func deliveryJob(c slipway.Connection, d slipway.Delivery) slipway.Job {
	return slipway.Job{Host: slipway.ForgeHost(c.BaseURL), ID: d.JobID}
}
