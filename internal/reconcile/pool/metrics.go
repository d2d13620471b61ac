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
	queued   *prometheus.HistogramVec
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
		queued: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "slipway_runner_queue_seconds",
			Help:    "Time from when a job was queued to when a runner of the pool began it, by the forge's clock.",
			Buckets: []float64{1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600, 6 * 3600, 24 * 3600},
		}, []string{"project", "environment", "application", "pool"}),
		launches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "slipway_runner_launches_total", Help: "Launches of runners by outcome: launched, or what stood in the way.",
		}, []string{"outcome"}),
	}
}

// Describe and Collect make a Collector of them.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	m.phases.Describe(ch)
	m.queued.Describe(ch)
	m.launches.Describe(ch)
}

// Collect sends what was counted.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	m.phases.Collect(ch)
	m.queued.Collect(ch)
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

// began counts how long the job that a slot has just been found with was queued.
func (m *Metrics) began(p slipway.RunnerPool, before, after slipway.Slot, j *slipway.Job) {
	if j == nil || before.Job != 0 || after.Job == 0 || j.QueuedAt.IsZero() || j.StartedAt.IsZero() {
		return
	}
	m.queued.WithLabelValues(p.Project, p.Environment, p.Application, p.Service).Observe(max(0, j.StartedAt.Sub(j.QueuedAt)).Seconds())
}
