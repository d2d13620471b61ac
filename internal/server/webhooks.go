package server

import (
	"cmp"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"slipway.dev/slipway/internal/observe"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/webhook"
)

// openWebhooks makes the door of the forges. It stands beside the API and the pages, for
// it knows neither sessions nor tokens.
func (s *Server) openWebhooks() {
	s.webhooks = webhook.New(webhook.Config{
		Change: s.Change, Memory: int64(s.Config.Limits.Deliveries), Log: s.log,
		Count:  func(result string) { s.metrics.deliveries.WithLabelValues(result).Inc() },
		Unseen: s.metrics.unseen.Inc,
	})
}

func (s *Server) mountWebhooks(mux *http.ServeMux) { mux.Handle("/webhooks/", s.webhooks) }

// webhookURL is the address below which forges reach the webhooks.
func (s *Server) webhookURL() string {
	own := ""
	if s.public != nil {
		own = s.public.url
	}
	return strings.TrimSuffix(cmp.Or(s.Config.URL, own), "/")
}

// handleRecovery gives the search for what deliveries did not tell to the queue.
func (s *Server) handleRecovery() {
	r := observe.NewRecovery(observe.RecoveryConfig{
		Store: s.Store, Queue: s.Queue, Box: s.box, Installation: s.Installation, TakeJobs: s.Change.TakeJobs, Log: s.log,
		Forge: func(baseURL, credential string) (observe.Forge, error) { return s.forges.For(baseURL, credential) },
	})
	s.Queue.Handle(slipway.WakeRecover, r.Recover)
	s.Queue.Handle(slipway.WakeLook, r.Look)
	s.Queue.Handle(observe.NounRecoveryRound, r.Round)
	s.Queue.Periodic(observe.NounRecoveryRound, 1, observe.RecoveryEvery)
}

func newDeliveryMetrics() (*prometheus.CounterVec, prometheus.Counter) {
	results := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "slipway_webhook_deliveries_total",
		Help: "Deliveries of forges by what became of them: taken, old, ignored, invalid, again, unsigned, refused, too_large, slow, busy, failed.",
	}, []string{"result"})
	// So that a rate can be told from the first one on.
	for _, r := range []string{"taken", "old", "ignored", "invalid", "again", "unsigned", "refused", "too_large", "slow", "busy", "failed"} {
		results.WithLabelValues(r)
	}
	return results, prometheus.NewCounter(prometheus.CounterOpts{
		Name: "slipway_webhook_unseen_jobs_total", Help: "Jobs of which the first word was not that they are queued: earlier deliveries were lost.",
	})
}
