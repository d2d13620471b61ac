package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// poolMetrics counts the rows of runner pools when it is asked to, and tells what is left
// of the budgets of forges. A credential is named by a key that does not tell it.
type poolMetrics struct {
	store  *store.Store
	forges *forgeClients
	log    *slog.Logger
}

var (
	poolLabels    = []string{"project", "environment", "application", "pool"}
	slotsDesc     = prometheus.NewDesc("slipway_runner_slots", "Open slots of runner pools, by state.", append(poolLabels[:4:4], "state"), nil)
	demandDesc    = prometheus.NewDesc("slipway_runner_demand", "Queued jobs that fall to a runner pool.", poolLabels, nil)
	poolStateDesc = prometheus.NewDesc("slipway_runner_pool_state", "1 for the state that a runner pool is in.", append(poolLabels[:4:4], "state"), nil)
	strayDesc     = prometheus.NewDesc("slipway_runner_strays", "What a runner pool's ledger has outside without a slot, or as a slot without a pod.", append(poolLabels[:4:4], "kind"), nil)
	checkedDesc   = prometheus.NewDesc("slipway_runner_pool_checked_timestamp_seconds", "When a runner pool was last looked at.", poolLabels, nil)
	budgetDesc    = prometheus.NewDesc("slipway_forge_budget_remaining", "Requests that a credential may still make in this hour, as the forge told this process.", []string{"credential"}, nil)
	inFlightDesc  = prometheus.NewDesc("slipway_forge_requests_in_flight", "Requests of a credential that this process waits for.", []string{"credential"}, nil)
	awayDesc      = prometheus.NewDesc("slipway_forge_away_seconds", "For how long a credential makes no request because the forge asked for that.", []string{"credential"}, nil)
)

// Describe is part of a Collector.
func (p *poolMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{slotsDesc, demandDesc, poolStateDesc, strayDesc, checkedDesc, budgetDesc, inFlightDesc, awayDesc} {
		ch <- d
	}
}

// Collect is part of a Collector.
func (p *poolMetrics) Collect(ch chan<- prometheus.Metric) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Second)
	defer stop()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	var pools []slipway.RunnerPool
	var statuses map[int64]slipway.PoolStatus
	var counts map[int64]map[slipway.SlotState]int
	err := p.store.Read(ctx, func(tx *store.Tx) (err error) {
		if pools, err = tx.RunnerPools(ctx); err != nil {
			return err
		}
		if statuses, err = tx.PoolStatuses(ctx); err != nil {
			return err
		}
		counts, err = tx.OpenSlotCounts(ctx)
		return err
	})
	if err != nil {
		p.log.WarnContext(ctx, "runner pools could not be counted for the metrics", "error", err)
	}
	for _, r := range pools {
		name, s := []string{r.Project, r.Environment, r.Application, r.Service}, statuses[r.ID]
		for state, n := range counts[r.ID] {
			gauge(slotsDesc, float64(n), append(name[:4:4], string(state))...)
		}
		gauge(demandDesc, float64(s.Demand), name...)
		if s.CheckedAt.IsZero() {
			continue
		}
		gauge(poolStateDesc, 1, append(name[:4:4], string(s.State))...)
		gauge(checkedDesc, float64(s.CheckedAt.Unix()), name...)
		for kind, found := range map[string][]string{"pod": s.Ledger.Pods, "registration": s.Ledger.Registrations, "slot": s.Ledger.Slots} {
			gauge(strayDesc, float64(len(found)), append(name[:4:4], kind)...)
		}
	}
	for key, b := range p.forges.Budgets() {
		gauge(inFlightDesc, float64(b.InFlight), key)
		if b.Limit > 0 {
			gauge(budgetDesc, float64(b.Remaining), key)
		}
		gauge(awayDesc, max(0, time.Until(b.Until).Seconds()), key)
	}
}
