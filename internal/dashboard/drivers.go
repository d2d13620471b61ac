package dashboard

import "net/http"

func (s *site) drivers(r *request) error {
	l, err := s.View.Drivers(r.Context(), r.caller, r.pageOf(pageRows))
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, driversPage(r.frame("Drivers", "/drivers"), l))
}

func (s *site) driver(r *request) error {
	p, err := s.View.Driver(r.Context(), r.caller, r.PathValue("name"), r.PathValue("version"))
	if err != nil {
		return err
	}
	page := r.frame("Driver "+p.Driver.Name+" "+p.Driver.Version, "/drivers")
	page.Crumbs = []crumb{{"Drivers", "/drivers"}}
	return r.render(http.StatusOK, driverPage(page, p))
}
