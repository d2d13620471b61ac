package main

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// page is the book, for readers. Both shapes of an entry are known to it; which of them
// comes is the release's affair.
var page = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Guestbook</title>
<h1>{{.Greeting}}</h1>
<form method="post" action="/entries">
<label>Name <input name="name" required></label>
<label>Text <input name="text" required></label>
<button>Sign the book</button>
</form>
<ul>{{range .Rows}}
<li><b>{{or .Values.author .Values.name}}</b>: {{.Values.text}}{{with .Values.created_at}} <time>{{.}}</time>{{end}}</li>{{else}}
<li>Nobody has signed yet.</li>{{end}}
</ul>
<footer>guestbook {{.Version}}{{with .AdminEmail}} · questions to {{.}}{{end}}</footer>
</html>
`))

// about is what the web server says of itself; check reads it.
type about struct {
	Version    string `json:"version"`
	Schema     int    `json:"schema"` // that it serves
	AdminEmail string `json:"admin_email"`
	LogLevel   string `json:"log_level"`
	Greeting   string `json:"greeting"`
}

func runWeb(ctx context.Context, c configuration, _ []string, out io.Writer) error {
	log := newLog(c, out, "web")
	return serve(ctx, c.WebListen, webHandler(newClient(c, "web"), c, log), log)
}

func webHandler(store client, c configuration, log *slog.Logger) http.Handler {
	wanted := thisRelease()
	routes := http.NewServeMux()
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]string{"status": "ok"}, log)
	})
	routes.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := ready(r.Context(), store, wanted); err != nil {
			log.Info("not ready", "because", err)
			respond(w, http.StatusServiceUnavailable, map[string]string{"error": err.Error()}, log)
			return
		}
		respond(w, http.StatusOK, map[string]string{"status": "ready"}, log)
	})
	routes.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, about{
			Version: version, Schema: wanted.schema, AdminEmail: c.AdminEmail,
			LogLevel: strings.ToLower(c.LogLevel.String()), Greeting: c.Greeting,
		}, log)
	})
	routes.HandleFunc("GET /entries", func(w http.ResponseWriter, r *http.Request) {
		rows, err := store.rows(r.Context())
		if err != nil {
			fail(w, "reading the book", err, log)
			return
		}
		respond(w, http.StatusOK, rows, log)
	})
	routes.HandleFunc("POST /entries", func(w http.ResponseWriter, r *http.Request) { sign(w, r, store, log) })
	routes.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		rows, err := store.rows(r.Context())
		if err != nil {
			fail(w, "reading the book", err, log)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if err := page.Execute(w, map[string]any{"Greeting": c.Greeting, "Rows": rows, "Version": version, "AdminEmail": c.AdminEmail}); err != nil {
			log.Debug("the reader went away", "error", err)
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.Debug("asked", "request", r.Method+" "+r.URL.Path)
		routes.ServeHTTP(w, r)
	})
}

// ready tells whether the store has the shape this release reads. A store that was never
// used is given that shape.
func ready(ctx context.Context, store client, wanted release) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	found, err := store.status(ctx)
	if err != nil {
		return err
	}
	if found.Schema == 0 {
		return store.initialise(ctx, wanted)
	}
	if found.Schema != wanted.schema {
		return fmt.Errorf("the store has schema %d, and %s serves schema %d", found.Schema, version, wanted.schema)
	}
	return nil
}

// sign takes a message from a form or as JSON, and puts it into the queue.
func sign(w http.ResponseWriter, r *http.Request, store client, log *slog.Logger) {
	var given message
	form := !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json")
	if form {
		given.Name, given.Text = r.FormValue("name"), r.FormValue("text")
	} else if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&given); err != nil {
		respond(w, http.StatusBadRequest, map[string]string{"error": "the request is not the JSON it should be"}, log)
		return
	}
	if given.Name == "" || given.Text == "" {
		respond(w, http.StatusBadRequest, map[string]string{"error": "give a name and a text"}, log)
		return
	}
	queued, err := store.enqueue(r.Context(), given.Name, given.Text)
	if err != nil {
		fail(w, "taking the entry", err, log)
		return
	}
	if form {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	respond(w, http.StatusAccepted, queued, log)
}

// fail answers for the store. Its error may name addresses, which readers need not know.
func fail(w http.ResponseWriter, doing string, err error, log *slog.Logger) {
	log.Error("a request failed", "doing", doing, "error", err)
	respond(w, http.StatusBadGateway, map[string]string{"error": "the guestbook cannot reach its store"}, log)
}
