package dashboard

import (
	"net/url"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// frame is what every page has around its content.
type frame struct {
	Title   string
	Nav     string // the address of the menu's current entry
	Crumbs  []crumb
	Caller  slipway.Caller // nobody on the pages before sign-in
	Theme   string         // "", light or dark
	Path    string         // of this page, with its query
	Live    string         // the event stream that wakes this page; empty: it stays as it is
	Moving  bool           // something on it is under way: reload it where no script does
	Key     string         // makes the repeat of a form on it harmless
	Now     time.Time
	Version string
}

// crumb is one step of the way to a page.
type crumb struct{ Text, Href string }

func (f frame) may(r slipway.Role) bool { return f.Caller.Role.Allows(r) }

// address joins path elements that come from data into a path of ours.
func address(elements ...string) string {
	out := ""
	for _, e := range elements {
		out += "/" + url.PathEscape(e)
	}
	return out
}

func applicationAddress(a slipway.Application) string {
	return address("applications", a.Project, a.Environment, a.Name)
}

// refAddress is the page of the application of a reference: shop/production/guestbook.
func refAddress(ref string) string {
	return address(append([]string{"applications"}, strings.SplitN(ref, "/", 3)...)...)
}

// webAddress returns s when it is an address on the web, and nothing for any other text
// that stands where one should: a driver's author wrote it.
func webAddress(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

func taskAddress(n int64) string { return "/tasks/" + id(n) }
