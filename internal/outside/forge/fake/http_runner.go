package fake

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
)

// maxWait is how long a runner's question for work stays open, as GitHub's does.
const maxWait = 50 * time.Second

// RunnerHandler is what runners speak with, below /runner/.
func (g *GitHub) RunnerHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /runner/session", func(w http.ResponseWriter, r *http.Request) {
		var in Greeting
		if !take(w, r, &in) {
			return
		}
		s, err := g.Greet(in)
		answer(w, r, err, http.StatusCreated, s)
	})
	mux.HandleFunc("DELETE /runner/session", func(w http.ResponseWriter, r *http.Request) {
		g.Leave(token(r))
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /runner/job", func(w http.ResponseWriter, r *http.Request) {
		wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
		if err != nil || wait < 0 || wait > maxWait {
			wait = maxWait
		}
		ctx, cancel := context.WithTimeout(r.Context(), wait)
		defer cancel()
		work, err := g.Ask(ctx, token(r))
		if err == nil && work == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer(w, r, err, http.StatusOK, work)
	})
	mux.HandleFunc("POST /runner/jobs/{id}", func(w http.ResponseWriter, r *http.Request) {
		var in Progress
		if !take(w, r, &in) {
			return
		}
		orders, err := g.Report(token(r), number(r, "id"), in)
		answer(w, r, err, http.StatusOK, orders)
	})
	return g.weather(mux)
}

func token(r *http.Request) string {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// take reads a body, or answers that it cannot be read.
func take(w http.ResponseWriter, r *http.Request, into any) bool {
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err == nil && len(raw) > 0 {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		answer(w, r, forge.Fail(forge.Invalid, "no JSON of the form that is asked for", "", err), 0, nil)
	}
	return err == nil
}

// weather is what the whole forge suffers from: it answers late, or not at all.
func (g *GitHub) weather(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		late, away := g.latency, g.away
		g.mu.Unlock()
		if late > 0 {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(late):
			}
		}
		if away {
			answer(w, r, forge.Fail(forge.Away, "the forge is away", "", nil), 0, nil)
			return
		}
		next.ServeHTTP(w, r)
	})
}
