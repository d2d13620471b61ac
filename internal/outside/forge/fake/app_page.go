package fake

import (
	"bytes"
	"html/template"
	"net/http"
	"net/url"
)

var appPage = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<title>{{.Title}}</title>
<main id="content">
<h1>{{.Title}}</h1>
{{with .Form}}
<form method="post" action="{{.Action}}">
<label>App name <input name="name" value="{{.Name}}"></label>
<input type="hidden" name="manifest" value="{{.Manifest}}">
<input type="hidden" name="state" value="{{.State}}">
<button id="create">Create GitHub App for {{.Owner}}</button>
</form>
{{end}}
</main>
</html>
`))

// appForm is the form on which a person says yes to an App.
type appForm struct{ Action, Name, Manifest, State, Owner string }

func show(w http.ResponseWriter, status int, title string, form *appForm) {
	var b bytes.Buffer
	if err := appPage.Execute(&b, struct {
		Title string
		Form  *appForm
	}{title, form}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a reader that has gone needs no answer
}

// pageManifest is the first page: another site has a browser post a manifest to it.
func (g *GitHub) pageManifest(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	raw, owner := r.PostFormValue("manifest"), r.PathValue("owner")
	m, err := readManifest(raw)
	if err != nil {
		show(w, http.StatusUnprocessableEntity, "Invalid GitHub App configuration: "+err.Error(), nil)
		return
	}
	show(w, http.StatusOK, "Create GitHub App for "+owner, &appForm{
		Action: "/organizations/" + url.PathEscape(owner) + "/settings/apps", Name: m.Name, Manifest: raw, State: r.URL.Query().Get("state"), Owner: owner,
	})
}

// pageMade makes the App, and sends the browser back with a code and what it brought.
func (g *GitHub) pageMade(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	m, err := readManifest(r.PostFormValue("manifest"))
	if err != nil {
		show(w, http.StatusUnprocessableEntity, "Invalid GitHub App configuration: "+err.Error(), nil)
		return
	}
	if name := r.PostFormValue("name"); name != "" {
		m.Name = name
	}
	a, err := g.makeApp(r.PathValue("owner"), m)
	if err != nil {
		show(w, http.StatusUnprocessableEntity, "The App was not made: "+err.Error(), nil)
		return
	}
	back, err := url.Parse(a.back)
	if err != nil {
		show(w, http.StatusInternalServerError, err.Error(), nil)
		return
	}
	q := back.Query()
	q.Set("code", a.code)
	if state := r.PostFormValue("state"); state != "" {
		q.Set("state", state)
	}
	back.RawQuery = q.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}
