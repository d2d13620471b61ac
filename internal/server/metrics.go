package server

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"slipway.dev/slipway/internal/reconcile/pool"
	"slipway.dev/slipway/internal/store"
)

// metrics is this process's registry. Names follow Prometheus's conventions.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.HistogramVec
	pools    *pool.Metrics

	deliveries *prometheus.CounterVec // by result
	unseen     prometheus.Counter
}

func newMetrics(s *store.Store, forges *forgeClients, version string, log *slog.Logger) *metrics {
	m := &metrics{
		pools:    pool.NewMetrics(),
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slipway_http_request_duration_seconds", Help: "Time to answer a request, by route and status.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 5, 30},
		}, []string{"method", "route", "status"}),
	}
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "slipway_build_info", Help: "The version that runs."}, []string{"version"})
	info.WithLabelValues(version).Set(1)
	m.deliveries, m.unseen = newDeliveryMetrics()
	m.registry.MustRegister(
		m.deliveries, m.unseen,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.pools, info, &rowMetrics{store: s, log: log}, &poolMetrics{store: s, forges: forges, log: log},
	)
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Timeout: 10 * time.Second})
}

// observe times the requests that next answers. The route is the pattern that matched, so
// that the number of series does not grow with the number of names.
func (m *metrics) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r)
		route := r.Pattern
		if route == "" {
			route = "other"
		}
		m.requests.WithLabelValues(r.Method, route, strconv.Itoa(seen.status)).Observe(time.Since(began).Seconds())
	})
}

// statusWriter remembers the status of an answer.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection, for streams.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// rowMetrics counts rows when it is asked to, so that every replica tells the same.
type rowMetrics struct {
	store *store.Store
	log   *slog.Logger
}

var (
	applicationsDesc = prometheus.NewDesc("slipway_applications", "Applications by state.", []string{"state"}, nil)
	tasksDesc        = prometheus.NewDesc("slipway_tasks", "Tasks that are not over, by state.", []string{"state"}, nil)
	driftedDesc      = prometheus.NewDesc("slipway_applications_drifted", "Applications of which the cluster differs from what was last applied.", nil, nil)
	unseenDesc       = prometheus.NewDesc("slipway_applications_drift_unknown", "Applications of which the last look at the cluster told nothing.", nil, nil)
	oldestCheckDesc  = prometheus.NewDesc("slipway_drift_oldest_check_timestamp_seconds", "When the application was compared whose comparison is the oldest.", nil, nil)
	lastBackupDesc   = prometheus.NewDesc("slipway_backup_last_success_timestamp_seconds",
		"When the last complete backup of an application was taken; 0: never. Only for those with a backup or a schedule.",
		[]string{"project", "environment", "application"}, nil)
	replicasDesc = prometheus.NewDesc("slipway_replicas", "Processes that beat.", nil, nil)
)

func (r *rowMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- applicationsDesc
	ch <- tasksDesc
	ch <- replicasDesc
	ch <- driftedDesc
	ch <- unseenDesc
	ch <- oldestCheckDesc
	ch <- lastBackupDesc
}

func (r *rowMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	err := r.store.Read(ctx, func(tx *store.Tx) error {
		counts, err := tx.Counts(ctx)
		if err != nil {
			return err
		}
		for state, n := range counts.Applications {
			ch <- prometheus.MustNewConstMetric(applicationsDesc, prometheus.GaugeValue, float64(n), string(state))
		}
		for state, n := range counts.OpenTasks {
			ch <- prometheus.MustNewConstMetric(tasksDesc, prometheus.GaugeValue, float64(n), string(state))
		}
		ch <- prometheus.MustNewConstMetric(replicasDesc, prometheus.GaugeValue, float64(counts.Replicas))
		ch <- prometheus.MustNewConstMetric(driftedDesc, prometheus.GaugeValue, float64(counts.Drifted))
		ch <- prometheus.MustNewConstMetric(unseenDesc, prometheus.GaugeValue, float64(counts.Unseen))
		if !counts.OldestCheck.IsZero() {
			ch <- prometheus.MustNewConstMetric(oldestCheckDesc, prometheus.GaugeValue, float64(counts.OldestCheck.Unix()))
		}
		backups, err := tx.LastBackups(ctx)
		if err != nil {
			return err
		}
		for _, b := range backups {
			taken := 0.0
			if !b.TakenAt.IsZero() {
				taken = float64(b.TakenAt.Unix())
			}
			ch <- prometheus.MustNewConstMetric(lastBackupDesc, prometheus.GaugeValue, taken, b.Project, b.Environment, b.Application)
		}
		return nil
	})
	if err != nil {
		r.log.WarnContext(ctx, "rows could not be counted for the metrics", "error", err)
	}
}
