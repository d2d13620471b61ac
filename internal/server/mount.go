package server

import (
	"context"
	"net/http"
	"strings"

	"slipway.dev/slipway/internal/api"
	"slipway.dev/slipway/internal/dashboard"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/task"
)

// mount puts the API and the pages under mux. A worker has neither, but for the API on the
// door of its own actions.
func (s *Server) mount(mux *http.ServeMux) {
	mux.Handle("/api/", api.Handler(api.Dependencies{
		Auth: s.Auth, Change: s.Change, View: s.View, Events: events{s.Events}, Jobs: s.jobForge(), Version: s.Version, PrefectUI: s.prefectUI, WebhookURL: s.webhookURL, Log: s.log,
		BundleBytes: int64(s.Config.Limits.DriverBundle), RequestBytes: int64(s.Config.Limits.Request), Stopping: s.stopping,
	}))
	if !s.Config.Role.ServesAPI() {
		return
	}
	s.mountWebhooks(mux)
	mux.Handle("/", dashboard.Handler(dashboard.Dependencies{
		Auth: s.Auth, Change: s.Change, View: s.View,
		Subscribe: func() (<-chan slipway.Event, func()) {
			sub := s.Events.Subscribe()
			return sub.C, sub.Close
		},
		Jobs: s.jobForge(), Version: s.Version, URL: s.webhookURL, PrefectUI: s.prefectUI, Log: s.log, Stopping: s.stopping,
	}))
}

// prefectUI is where people open Prefect's pages: as the operator says, or those of our own
// Prefect when people are on this machine, as they must be to open pages on loopback.
func (s *Server) prefectUI() string {
	if at := s.Config.Prefect.UIURL; at != "" {
		return at
	}
	own := s.world.ownPrefect
	if own == nil || !s.Config.OnLoopback() {
		return ""
	}
	return strings.TrimSuffix(own.Endpoint().API, "/api")
}

// events is package task's broadcaster as package api wants it.
type events struct{ *task.Events }

func (e events) Subscribe(ctx context.Context, after int64) (past []slipway.Event, next <-chan slipway.Event, stop func(), err error) {
	if after == 0 {
		sub := e.Events.Subscribe()
		return nil, sub.C, sub.Close, nil
	}
	sub, past, err := e.SubscribeAfter(ctx, after)
	if err != nil {
		return nil, nil, nil, err
	}
	return past, sub.C, sub.Close, nil
}
