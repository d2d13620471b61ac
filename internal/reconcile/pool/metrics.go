package pool

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slipway.dev/slipway/internal/slipway"
)

// Metrics are what this package counts as it acts. What can be read from rows is counted
// where metrics are asked for.
type Metrics struct {
	phases   *prometheus.HistogramVec
	launches *prometheus.CounterVec
}

// NewMetrics returns metrics that nobody reads yet: they are a Collector.
func NewMetrics() *Metrics {
	return &Metrics{
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "slipway_runner_start_seconds",
			Help:    "Time that a phase of a runner's start took: registered (the forge's answer), launched (the cluster's), online (from launch to a runner that waits), busy (from online to a job).",
			Buckets: []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600},
		}, []string{"phase"}),
		launches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_runner_launches_total", Help: "Launches of runners by outcome: launched, or what stood in the way.",
		}, []string{"outcome"}),
	}
}

// Describe and Collect make a Collector of them.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.phases.Describe(ch)
	m.launches.Describe(ch)
}

// Collect sends what was counted.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.phases.Collect(ch)
	m.launches.Collect(ch)
}

func (m *Metrics) phase(name string, took time.Duration) {
	m.phases.WithLabelValues(name).Observe(took.Seconds())
}

func (m *Metrics) launch(outcome string) { m.launches.WithLabelValues(outcome).Inc() }

// moved counts what a look found new.
func (m *Metrics) moved(before, after slipway.Slot) {
	if before.OnlineAt.IsZero() && !after.OnlineAt.IsZero() && !after.StartedAt.IsZero() {
		m.phase("online", max(0, after.OnlineAt.Sub(after.StartedAt)))
	}
	if before.BusyAt.IsZero() && !after.BusyAt.IsZero() && !after.OnlineAt.IsZero() {
		m.phase("busy", max(0, after.BusyAt.Sub(after.OnlineAt)))
	}
}
