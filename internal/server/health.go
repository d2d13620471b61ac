package server

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

// readiness is what /readyz answers: ready when this process can take requests. What
// changes of applications need beyond that is told beside it, and does not count: a load
// balancer must not take every API away because the cluster is down.
type readiness struct {
	Ready    bool   `json:"ready"`
	Database string `json:"database"`
	Cluster  string `json:"cluster,omitempty"`
	Actions  string `json:"actions,omitempty"`
}

func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	ctx, stop := context.WithTimeout(r.Context(), 5*time.Second)
	defer stop()
	now := readiness{Ready: true, Database: "ok"}
	if err := s.Store.Ping(ctx); err != nil {
		now.Ready, now.Database = false, "does not answer"
	}
	select {
	case <-s.stopping:
		now.Ready = false
	default:
	}
	if s.Config.Role.Works() {
		now.Cluster, now.Actions = "configured", "ready"
		if s.world.noCluster != nil {
			now.Cluster = "none is configured"
		}
		if s.world.noRunner != nil {
			now.Actions = "the Python environment is missing: slipway python install"
		} else if err := s.world.prefect.Health(ctx); err != nil {
			now.Actions = "Prefect does not answer yet"
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if !now.Ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(now) // the client is gone; there is nobody to tell
}
