package dashboard

import (
	"github.com/a-h/templ"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
)

func sampleNewPool() poolChange {
	return poolChange{
		In: "shop/production", Environments: sampleEnvironments, Form: typed(), Secrets: []string{"github-runner-token", "guestbook-db"},
		Servers: []string{"https://github.example.com"},
	}
}

func samplePoolPlan() poolPlan {
	m := sampleNewPool()
	const gib = slipway.GiB
	return poolPlan{m, change.Plan{
		Project: "shop", Environment: "production", Name: "team-ci", Kind: slipway.InstallChange, NewRevision: 1,
		Diff:   []change.DiffLine{{Path: "services.runner.replicas", New: "4"}, {Path: "services.runner.actions.credential", New: "secret github-runner-token"}},
		Pools:  []change.PlannedPool{{Service: "runner", Fate: change.PoolNew, Most: 4, Sleeps: true}},
		Places: []slipway.Place{{Service: "runner", Runners: 4, Requested: slipway.Capacity{CPU: 4000, Memory: 8 * gib, Disk: 14 * gib, Pods: 4}, Available: slipway.Capacity{CPU: 15000, Memory: 60 * gib, Disk: 180 * gib, Pods: 90}, Nodes: 2}},
	}, m.Form.TOML()}
}

func sampleWrongPool() (poolChange, fault) {
	m := sampleNewPool()
	m.Form = typed("replicas", "40", "priority", "x", "owner", "acme/shop")
	f := newFault(slipway.Errorf(slipway.Invalid, "the pool has 4 faults"), "req-4")
	m.At, f.Fields = m.Form.place([]slipway.FieldError{
		{Path: "services.runner.actions.organization", Msg: "names a repository", Hint: `write organization = "acme", or repository = "acme/shop"`},
		{Path: "services.runner.actions.priority", Msg: "must be a whole number"},
		{Path: "services.runner.replicas", Msg: "24 of 40 runners of runner have no place: they reserve 40000m CPU, 80Gi memory and 140Gi disk together, 16000m CPU, 64Gi memory and 200Gi disk are free, 24000m CPU and 16Gi memory are missing"},
		{Path: "driver", Msg: "is something else"},
	})
	return m, f
}

func samplePoolForms() map[string]templ.Component {
	f := sampleFrame("New runner pool", "/runners")
	f.Crumbs, f.Key = []crumb{{"Runners", "/runners"}}, "key"
	fresh, plan := sampleNewPool(), samplePoolPlan()
	wrong, refused := sampleWrongPool()
	changed, file, renewed := fresh, fresh, plan
	changed.App, changed.Base, changed.Lost = sampleCI, 3, "comments"
	file.App, file.Base, file.OnlyFile = sampleCI, 3, "it has 3 pools, and the form shows one"
	file.Form = poolForm{File: true, Source: plan.Source}
	renewed.poolChange, renewed.Plan.Revision, renewed.NewRevision, renewed.Base = changed, 4, 5, 3
	renewed.Pools = []change.PlannedPool{{Service: "runner", Fate: change.PoolRenewed, Runners: slipway.RunnerCount{Free: 2, Busy: 1}, Most: 4, Sleeps: true}}
	renewed.Places, renewed.Plan.Warnings = nil, []string{"task 41 (configure team-ci) has not ended; this change waits for it"}
	late := newFault(slipway.Errorf(slipway.Conflict, "revision 3 of shop/production/team-ci was expected, and revision 4 is wanted now"), "req-5")
	return map[string]templ.Component{
		"pool-where":      poolWherePage(f, fresh),
		"pool-nowhere":    poolWherePage(f, poolChange{}),
		"pool-new":        poolFormPage(f, fresh, nil),
		"pool-no-secrets": poolFormPage(f, poolChange{In: "shop/dev", Form: freshPool()}, nil),
		"pool-wrong":      poolFormPage(f, wrong, &refused),
		"pool-change":     poolFormPage(f, changed, nil),
		"pool-file":       poolFormPage(f, file, nil),
		"pool-plan":       poolPlanPage(f, plan, nil),
		"pool-plan-late":  poolPlanPage(f, renewed, &late),
	}
}
