package dashboard

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/joblog"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// The sample's runner application: one pool that is full, one that is held, one that
// sleeps.

var sampleCI = slipway.Application{
	ID: 9, EnvironmentID: 3, Project: "shop", Environment: "production", Namespace: "slipway-runners-9",
	Name: "team-ci", Kind: slipway.RunnerApplication, Revision: 3, Applied: 3, State: slipway.AppRunning, LastChange: 3,
	CreatedAt: before(9 * 24 * time.Hour), UpdatedAt: before(3 * time.Hour),
}

func samplePool(id int64, service string, status slipway.PoolStatus, slots map[slipway.SlotState]int, labels ...string) view.PoolRow {
	status.PoolID, status.CheckedAt, status.ListedAt, status.Group = id, before(2*time.Second), before(9*time.Second), 1
	status.Version, status.Ledger.CheckedAt = "2.337.0", before(12*time.Second)
	return view.PoolRow{
		RunnerPool: slipway.RunnerPool{
			ID: id, ApplicationID: sampleCI.ID, EnvironmentID: 3, Project: "shop", Environment: "production", Application: "team-ci", Service: service,
			Spec: slipway.PoolSpec{
				Scope: slipway.ForgeScope{Owner: "acme"}, Labels: labels, Architecture: slipway.AMD64, Replicas: 4, Idle: 5 * time.Minute, Timeout: time.Hour,
			},
		},
		Status: status, Slots: slots,
	}
}

func sampleJob(id int64, name string, state slipway.JobState, queued time.Duration) slipway.Job {
	j := slipway.Job{
		Host: slipway.GitHubHost, ID: id, RunID: 7001, Attempt: 1, Owner: "acme", Repository: "shop", Name: name, Workflow: "CI", Branch: "main",
		URL:    fmt.Sprintf("https://github.com/acme/shop/actions/runs/7001/job/%d", id),
		Labels: []string{"self-hosted", "slipway"}, State: state, QueuedAt: before(queued), SeenAt: before(queued),
	}
	if state != slipway.JobQueued && state != slipway.JobWaiting {
		j.StartedAt = before(queued - 9*time.Second)
	}
	return j
}

func sampleSlot(id int64, state slipway.SlotState, age time.Duration, job slipway.Job) view.SlotRow {
	created := before(age)
	s := slipway.Slot{ID: id, PoolID: 1, Runner: fmt.Sprintf("slipway-1-k3x9q%d", id), State: state, CreatedAt: created, Since: created, Node: "node-1"}
	reached := func(st slipway.SlotState) bool {
		order := []slipway.SlotState{slipway.SlotWanted, slipway.SlotRegistering, slipway.SlotLaunching, slipway.SlotStarting, slipway.SlotIdle, slipway.SlotBusy, slipway.SlotDraining, slipway.SlotRemoving, slipway.SlotClosed}
		at := func(x slipway.SlotState) int {
			for i, o := range order {
				if o == x {
					return i
				}
			}
			return -1
		}
		return at(state) >= at(st)
	}
	for _, p := range []struct {
		from slipway.SlotState
		at   *time.Time
		d    time.Duration
	}{
		{slipway.SlotLaunching, &s.RegisteredAt, 400 * time.Millisecond}, {slipway.SlotStarting, &s.StartedAt, 700 * time.Millisecond},
		{slipway.SlotIdle, &s.OnlineAt, 9 * time.Second}, {slipway.SlotBusy, &s.BusyAt, 10 * time.Second}, {slipway.SlotRemoving, &s.EndedAt, age / 2}, {slipway.SlotClosed, &s.ClosedAt, age/2 + 3*time.Second},
	} {
		if reached(p.from) {
			*p.at = created.Add(p.d)
			s.Since = *p.at
		}
	}
	if job.ID != 0 {
		s.Job = job.ID
	}
	return view.SlotRow{Slot: s, Service: "runner", Runs: job}
}

func sampleRunners() runnersModel {
	unit, e2e, lint, deploy := sampleJob(9001, "unit tests", slipway.JobRunning, 6*time.Minute), sampleJob(9002, "end to end", slipway.JobRunning, 11*time.Minute),
		sampleJob(9003, "lint", slipway.JobQueued, 90*time.Second), sampleJob(9004, "deploy", slipway.JobWaiting, time.Hour)
	build := sampleJob(8990, "build", slipway.JobCompleted, 30*time.Minute)
	build.Conclusion, build.EndedAt, build.Runner = "success", before(20*time.Minute), "slipway-1-k3x9q3"
	broken := sampleJob(8989, "nightly", slipway.JobCompleted, 50*time.Minute)
	broken.Conclusion, broken.EndedAt, broken.Attempt = "timed_out", before(40*time.Minute), 2
	starting := sampleSlot(14, slipway.SlotStarting, 14*time.Second, slipway.Job{})
	starting.Seen = "it pulls the image of its Docker daemon"
	stuck := sampleSlot(11, slipway.SlotDraining, 25*time.Minute, slipway.Job{})
	stuck.Failure, stuck.RetryAt, stuck.Failures = "GitHub does not answer: HTTP 502", sampleNow.Add(40*time.Second), 3
	closed := sampleSlot(10, slipway.SlotClosed, 30*time.Minute, build)
	closed.Result = "its runner ended by itself"
	m := runnersModel{Actions: view.ActionsPage{
		Application: sampleCI,
		Pools: []view.PoolRow{
			samplePool(1, "runner", slipway.PoolStatus{State: slipway.PoolFull, Why: "1 job waits; all 4 runners are taken or on their way out", Demand: 1, Warning: "the runner program 2.337.0 is refused by GitHub from 2026-12-14 on, in 13 days"},
				map[slipway.SlotState]int{slipway.SlotBusy: 2, slipway.SlotStarting: 1, slipway.SlotDraining: 1}, "slipway"),
			samplePool(2, "arm", slipway.PoolStatus{State: slipway.PoolHeld, HoldWhy: "GitHub refused the secret github-runner-token: it lacks the permission Self-hosted runners: read and write", HoldUntil: sampleNow.Add(9 * time.Minute), Failures: 4, Demand: 2,
				Ledger: slipway.Ledger{Pods: []string{"slipway-2-stray"}}}, map[slipway.SlotState]int{}, "slipway-arm"),
			samplePool(3, "large", slipway.PoolStatus{State: slipway.PoolSleeping}, nil, "slipway-large"),
		},
		Open: []view.SlotRow{stuck, sampleSlot(12, slipway.SlotBusy, 11*time.Minute, e2e), sampleSlot(13, slipway.SlotBusy, 6*time.Minute, unit), starting}, OpenAll: 4,
		Closed:   []view.SlotRow{closed},
		QueueAll: 4,
		Recent:   []view.JobRow{{Job: build, Service: "runner", Slot: 10}, {Job: broken, Service: "runner"}},
	}}
	m.Application = sampleCI
	unit.Runner, e2e.Runner = "slipway-1-k3x9q13", "slipway-1-k3x9q12"
	s := view.Situation{Now: sampleNow, Scopes: []int64{0}, Slots: map[int64][]slipway.Slot{}, Statuses: map[int64]slipway.PoolStatus{}}
	for _, p := range m.Actions.Pools {
		s.Pools, s.Statuses[p.ID] = append(s.Pools, p.RunnerPool), p.Status
	}
	for _, slot := range m.Actions.Open {
		s.Slots[1] = append(s.Slots[1], slot.Slot)
	}
	s.Ahead = 1
	for _, j := range []slipway.Job{unit, e2e, lint, deploy} {
		m.Actions.Queue = append(m.Actions.Queue, view.JobRow{Job: j, Service: "runner", Why: view.WhyWaiting(j, s)})
	}
	for i := range 3 {
		m.Revisions.Items = append(m.Revisions.Items, view.RevisionRow{Number: int64(3 - i), CreatedBy: "ada", CreatedAt: before(time.Duration(i+3) * time.Hour)})
	}
	return m
}

func sampleJobPage(known bool) view.JobPage {
	m := sampleRunners()
	if !known {
		s := view.Situation{Now: sampleNow, Connections: []slipway.Connection{{ID: 1, Name: "acme", LastDelivery: before(12 * time.Minute), RecoveredAt: before(time.Minute)}}}
		return view.JobPage{Job: slipway.Job{Host: slipway.GitHubHost, ID: 9999}, Why: view.Unheard(slipway.GitHubHost, "", s)}
	}
	j := m.Actions.Queue[2]
	return view.JobPage{Job: j.Job, Known: true, Why: j.Why, Pool: m.Actions.Pools[0].RunnerPool}
}

func sampleLog() jobLogModel {
	p := sampleJobPage(true)
	p.State, p.Conclusion, p.EndedAt = slipway.JobCompleted, "failure", before(time.Minute)
	m := jobLogModel{JobPage: p, Log: joblog.Log{Read: 900, Next: 12}}
	for i, text := range []string{
		"##[group]Run go test ./...", "go test ./...", "##[endgroup]", "ok  \texample.com/shop/cart\t1.204s", "--- FAIL: TestPay (0.02s)",
		"    pay_test.go:41: Pay() = declined, want accepted, because the card of the fixture has not expired and the limit of the account is far from reached in this test",
		"FAIL", "##[error]Process completed with exit code 1.",
	} {
		m.Log.Lines = append(m.Log.Lines, joblog.Line{Number: i + 1, At: before(2*time.Minute - time.Duration(i)*time.Second), Text: text})
	}
	return m
}

// sampleRunnerPages are the stories of runner pools.
func sampleRunnerPages() map[string]templ.Component {
	at := func(title string, crumbs ...crumb) frame {
		f := sampleFrame(title, "/runners")
		f.Crumbs = crumbs
		return f
	}
	m := sampleRunners()
	empty := m
	empty.Actions = view.ActionsPage{Application: sampleCI, Pools: m.Actions.Pools[2:]}
	many := m
	for i := range 20 {
		many.Actions.Pools = append(many.Actions.Pools, samplePool(int64(10+i), fmt.Sprintf("pool-%d", i), slipway.PoolStatus{State: slipway.PoolReady}, map[slipway.SlotState]int{slipway.SlotIdle: i % 4}, "slipway"))
	}
	offer := change.RollbackOffer{Why: "revision 2 has nothing that revision 3 has not"}
	none := sampleLog()
	none.Log, none.Search = joblog.Log{Read: 900}, "panic"
	refused := newFault(slipway.Errorf(slipway.NotFound, "GitHub has no log of this job: it still runs, or the log was removed"), "req-9")
	missing := sampleLog()
	missing.Fault = &refused
	connections := []slipway.Connection{
		{ID: 1, Name: "acme", Forge: "github", LastDelivery: before(40 * time.Second), RecoveredAt: before(4 * time.Minute)},
		{ID: 2, Name: "ghes", Forge: "github", BaseURL: "https://github.example.com", EnvironmentID: 3, Project: "shop", Environment: "production", LastDelivery: before(26 * time.Hour), RecoveredAt: before(20 * time.Hour), RecoverError: "GitHub refused the App's key: HTTP 401"},
		{ID: 3, Name: "new", Forge: "github"},
	}
	one := connectionModel{Connection: connections[1], Deliveries: []slipway.Delivery{
		{GUID: "0b989ba4-242f-11e5-81e1-c7b6966d2516", Event: "workflow_job", Action: "queued", Outcome: slipway.DeliveryTaken, JobID: 9003, Size: 9131, ReceivedAt: before(40 * time.Second)},
		{GUID: "1c989ba4-242f-11e5-81e1-c7b6966d2516", Event: "workflow_job", Action: "completed", Outcome: slipway.DeliveryOld, Why: "the job had come further already", JobID: 9001, Size: 9812, ReceivedAt: before(time.Minute)},
		{GUID: "2d989ba4-242f-11e5-81e1-c7b6966d2516", Event: "ping", Outcome: slipway.DeliveryIgnored, Size: 7000, ReceivedAt: before(time.Hour)},
	}}
	return map[string]templ.Component{
		"connections":       connectionsPage(at("Connections", crumb{"Runners", "/runners"}), connections),
		"connections-empty": connectionsPage(at("Connections"), nil),
		"connection":        connectionPage(at("Connection ghes", crumb{"Connections", "/connections"}), one),
		"runners":           poolsPage(at("Runners"), poolsModel{Pools: m.Actions.Pools, Environments: sampleEnvironments}),
		"runners-empty":     poolsPage(at("Runners"), poolsModel{Environments: sampleEnvironments}),
		"runner":            runnersPage(at("team-ci", crumb{"Applications", "/applications"}), m, offer, nil),
		"runner-sleeps":     runnersPage(at("team-ci"), empty, offer, nil),
		"runner-many":       runnersPage(at("team-ci"), many, offer, nil),
		"job":               jobPage(at("Job 9003", crumb{"Runners", "/runners"}), sampleJobPage(true)),
		"job-unknown":       jobPage(at("Job 9999", crumb{"Runners", "/runners"}), sampleJobPage(false)),
		"job-log":           jobLogPage(at("Log of job 9003", crumb{"Runners", "/runners"}), sampleLog()),
		"job-log-none":      jobLogPage(at("Log of job 9003"), none),
		"job-log-absent":    jobLogPage(at("Log of job 9003"), missing),
	}
}
