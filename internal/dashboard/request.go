package dashboard

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// maxForm bounds what a form may send.
const maxForm = 64 << 10

// request is one request to a page, with who asks.
type request struct {
	*http.Request
	w      http.ResponseWriter
	site   *site
	caller slipway.Caller // nobody on the pages before sign-in
}

// handler answers a request. An error that it returns becomes the answer.
type handler func(*request) error

// open serves a page that needs no sign-in.
func (s *site) open(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.answer(&request{Request: r, w: w, site: s}, h)
	}
}

// signedIn serves a page to those who have signed in, and leads others to where they can.
func (s *site) signedIn(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := &request{Request: r, w: w, site: s}
		c, err := s.Auth.Authenticate(r.Context(), r)
		switch {
		case slipway.Is(err, slipway.Unauthenticated):
			s.answer(q, toSignIn)
			return
		case err != nil:
			s.answer(q, func(*request) error { return err })
			return
		}
		c.RequestID = aboutOf(r.Context()).id
		q.caller = c
		aboutOf(r.Context()).user = c.UserName
		s.answer(q, h)
	}
}

// toSignIn leads to the sign-in, or at the first start to the setup, and from there back.
func toSignIn(r *request) error {
	to := "/sign-in"
	if needed, err := r.site.Auth.SetupNeeded(r.Context()); err != nil {
		return err
	} else if needed {
		to = "/setup"
	} else if r.Method == http.MethodGet && r.URL.Path != "/" && r.URL.Path != "/live" {
		to = withQuery(to, url.Values{"next": {r.URL.RequestURI()}})
	}
	switch {
	case r.URL.Path == "/live":
		r.w.WriteHeader(http.StatusUnauthorized)
	case r.Header.Get("HX-Request") != "":
		// A script would follow a redirect and put the sign-in into the page.
		r.w.Header().Set("HX-Redirect", to)
		r.w.WriteHeader(http.StatusUnauthorized)
	default:
		r.redirect(to)
	}
	return nil
}

func (s *site) answer(r *request, h handler) {
	r.Body = http.MaxBytesReader(r.w, r.Body, maxForm)
	if err := h(r); err != nil {
		s.fail(r, err)
	}
}

// fail answers with an error's page.
func (s *site) fail(r *request, err error) {
	f := r.fault(err)
	page := r.frame(f.title(), "")
	if rerr := r.render(f.Status, errorPage(page, f)); rerr != nil {
		s.Log.ErrorContext(r.Context(), "an error's page broke", "request_id", f.RequestID, "error", rerr)
		http.Error(r.w, f.Msg, f.Status)
	}
}

// fault is what the reader of an error gets; the log gets the rest.
func (r *request) fault(err error) fault {
	f := newFault(err, aboutOf(r.Context()).id)
	if f.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
		r.site.Log.ErrorContext(r.Context(), "a page failed", "request_id", f.RequestID, "error", err)
	}
	if f.RetryAfter > 0 {
		r.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
	return f
}

// frame begins a page of that title under that entry of the menu.
func (r *request) frame(title, nav string) frame {
	f := frame{
		Title: title, Nav: nav, Caller: r.caller, Theme: themeOf(r.Request), Path: r.URL.RequestURI(),
		Now: r.site.Now(), Version: r.site.Version,
	}
	if r.Method != http.MethodGet {
		// The answer to a form cannot be asked for again; nav can.
		f.Path = nav
	}
	return f
}

// liveFrame begins a page that asks for itself again when something in a scope changes.
func (r *request) liveFrame(title, nav, scope string) frame {
	f := r.frame(title, nav)
	if r.site.Subscribe != nil && r.Method == http.MethodGet {
		q := url.Values{}
		set(q, "in", scope)
		f.Live = withQuery("/live", q)
	}
	return f
}

// render answers with a page. It is written to memory first, so that a page that breaks
// half way is an error's page and not half a page.
func (r *request) render(status int, page templ.Component) error {
	b, err := write(r.Context(), page)
	if err != nil {
		return err
	}
	h := r.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	r.w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = r.w.Write(b) // a reader that went away needs no answer
	}
	return nil
}

// write renders a page. Whatever a page shows, no control code reaches the reader: where
// text is known to come from a command it was freed of whole sequences before, and this is
// for all the rest.
func write(ctx context.Context, page templ.Component) ([]byte, error) {
	var b bytes.Buffer
	if err := page.Render(ctx, &b); err != nil {
		return nil, fmt.Errorf("render a page: %w", err)
	}
	if !bytes.ContainsFunc(b.Bytes(), isControl) {
		return b.Bytes(), nil
	}
	return bytes.Map(func(c rune) rune {
		if isControl(c) {
			return -1
		}
		return c
	}, b.Bytes()), nil
}

func (r *request) redirect(to string) { http.Redirect(r.w, r.Request, to, http.StatusSeeOther) }

// form reads one field of a form that was sent.
func (r *request) form(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }

// number reads a number of the path. Anything else there names nothing.
func (r *request) number(name string) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil || n <= 0 {
		return 0, slipway.Errorf(slipway.NotFound, "there is no such page")
	}
	return n, nil
}

// pageOf reads which part of a list is asked for.
func (r *request) pageOf(limit int) view.Page {
	return view.Page{Limit: limit, After: r.URL.Query().Get("after")}
}

// localPath returns p when it leads to a page of ours, and the front page when it might
// lead anywhere else: it comes from the address bar, where anyone can have put it.
func localPath(p string) string {
	u, err := url.Parse(p)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return "/applications"
	}
	path := u.EscapedPath()
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || strings.ContainsAny(p, "\\\t\r\n") {
		return "/applications"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return path
}

// environments lists what a filter can offer.
func (s *site) environments(ctx context.Context, c slipway.Caller) ([]slipway.Environment, error) {
	l, err := s.View.Environments(ctx, c, "", view.Page{Limit: 500})
	return l.Items, err
}
