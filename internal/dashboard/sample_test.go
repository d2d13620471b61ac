package dashboard

import (
	"fmt"
	"maps"
	"time"

	"github.com/a-h/templ"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// The sample is one small installation at one moment, as the pages would find it: an
// upgrade that failed in its migration, and another that runs.

var sampleNow = time.Date(2026, 11, 30, 12, 3, 45, 0, time.UTC)

func before(d time.Duration) time.Time { return sampleNow.Add(-d) }

func sampleFrame(title, nav string) frame {
	return frame{
		Title: title, Nav: nav, Path: nav, Now: sampleNow, Version: "0.1.0",
		Caller: slipway.Caller{UserID: 1, UserName: "ada", Role: slipway.Administrator},
	}
}

var sampleApplication = slipway.Application{
	ID: 7, EnvironmentID: 3, Project: "shop", Environment: "production", Namespace: "shop-production",
	Name: "guestbook", Kind: slipway.DriverApplication, Revision: 4, Applied: 3, AppVersion: "1.2.0",
	DriverName: "guestbook", DriverVersion: "1.0.0", State: slipway.AppFailed,
	Message: "The upgrade to 1.2.0 failed in its migration; version 1.1.0 still serves.", LastChange: 4,
	CreatedAt: before(20 * 24 * time.Hour), UpdatedAt: before(3 * time.Minute),
}

var sampleDriver = slipway.Driver{
	ID: 2, Name: "guestbook", Version: "1.0.0", Size: 18_400, LoadedBy: "ada", LoadedAt: before(21 * 24 * time.Hour),
	Digest: "sha256:5f1c9e2ab0d47c1f36a1b58e0f7d92c4a6b3e8d1f0297c5e4b1a8d6f3c2e9b70", Source: "examples/drivers/guestbook",
	Warnings: []string{`driver.slipway.yml:41:7: actions.backup: the function names no parameter "context"; it is called without one`},
	Spec: slipway.DriverSpec{
		Name: "guestbook", Version: "1.0.0", SupportedVersions: ">=1.0.0 <2.0.0",
		Info:  slipway.DriverInfo{Description: "A guestbook with a web server, a worker and a store", Authors: []string{"Shop team"}, Homepage: "https://guestbook.example.com/"},
		Chart: slipway.ChartRef{Location: "chart", Version: "0.3.1"},
		Components: map[string]slipway.Component{
			"web":    {Selector: map[string]string{"app": "guestbook", "tier": "web"}, Container: "web", Scalable: true},
			"worker": {Selector: map[string]string{"app": "guestbook", "tier": "worker"}, Scalable: true},
			"store":  {Selector: map[string]string{"app": "guestbook", "tier": "store"}},
		},
		Services: map[string]slipway.Service{"page": {Component: "web", Kind: "http", Port: 8080, Scope: "cluster", Path: "/"}},
		Actions: []slipway.Action{
			{Name: "backup", Hook: slipway.Upgrade, Mode: slipway.Pre, File: "actions.py", Function: "backup", Description: "Copies the store before anything moves"},
			{Name: "migrate", Hook: slipway.Upgrade, Mode: slipway.Core, File: "actions.py", Function: "upgrade", Description: "Stops the worker, changes the version, migrates, starts again", Irreversible: true, Timeout: 2 * time.Hour},
			{Name: "check", Hook: slipway.Upgrade, Mode: slipway.Post, File: "actions.py", Function: "check"},
			{Name: "seed", Hook: slipway.Setup, Mode: slipway.Post, File: "actions.py", Function: "seed"},
		},
	},
}

func sampleTask(n int64, kind slipway.TaskKind, title string, state slipway.TaskState, started, ended time.Duration) slipway.Task {
	t := slipway.Task{
		ID: n, Kind: kind, Title: title, ApplicationID: 7, Application: sampleApplication.Ref(), RootID: n,
		State: state, RequestedBy: "ada", CreatedAt: before(started + 200*time.Millisecond), StartedAt: before(started),
	}
	if ended > 0 {
		t.EndedAt = before(ended)
	}
	return t
}

func child(t slipway.Task, of, step int64) slipway.Task {
	t.RootID, t.ParentStepID, t.ParentKind, t.RequestedBy = of, step, slipway.UpgradeTask, slipway.ActionsUser
	return t
}

var (
	sampleUpgrade = func() slipway.Task {
		t := sampleTask(41, slipway.UpgradeTask, "upgrade guestbook to 1.2.0", slipway.Failed, 200*time.Second, 180*time.Second)
		t.ChangeID, t.ChangeNumber = 9, 4
		t.Error = `the command "guestbook migrate" failed with exit code 1 (Job guestbook-action)`
		t.Hint = "read the output of the step “Run the upgrade hook”, mend the migration, and deploy again"
		t.Result = []byte(`{"failed_step":"hook.upgrade.core","tasks":[{"id":42,"result":"stopped worker"},{"id":43,"result":"changed to 1.2.0"}]}`)
		return t
	}()
	sampleStopWorker = child(sampleTask(42, slipway.StopTask, "stop worker of guestbook", slipway.Succeeded, 195*time.Second, 192*time.Second), 41, 3)
	sampleVersion    = child(sampleTask(43, slipway.VersionTask, "change guestbook to 1.2.0", slipway.Succeeded, 192*time.Second, 184*time.Second), 41, 3)
	sampleRunning    = func() slipway.Task {
		t := sampleTask(44, slipway.UpgradeTask, "upgrade guestbook to 1.2.1", slipway.Running, 8*time.Second, 0)
		t.ChangeID, t.ChangeNumber = 10, 5
		return t
	}()
)

const sampleOutput = "12:03:41 migrating the schema from 7 to 8\n12:03:41 column \"author\" already exists\n\x1b[31mTraceback\x1b[0m (most recent call last):\n\tat migrate/0008.sql:3\nexit status 1\n"

func sampleTaskPage() view.TaskPage {
	return view.TaskPage{
		Task: sampleUpgrade, Application: sampleApplication, Change: slipway.Change{ID: 9, Number: 4, Revision: 4, FromRevision: 3},
		Steps: []view.Step{
			{Step: slipway.Step{ID: 1, TaskID: 41, Seq: 1, Key: "check", Name: "Check the change", State: slipway.StepSucceeded, StartedAt: before(200 * time.Second), EndedAt: before(199800 * time.Millisecond)}},
			{Step: slipway.Step{ID: 2, TaskID: 41, Seq: 2, Key: "hook.upgrade.pre", Name: slipway.StepUpgradePre, State: slipway.StepSucceeded, StartedAt: before(199 * time.Second), EndedAt: before(195 * time.Second),
				Runs: []slipway.ActionRun{{Action: "backup", FlowRunID: "0b8f5a3e-1111-4222-8333-944455566677", State: "completed", StartedAt: before(199 * time.Second), EndedAt: before(195 * time.Second)}}}},
			{Step: slipway.Step{ID: 3, TaskID: 41, Seq: 3, Key: "hook.upgrade.core", Name: slipway.StepUpgradeCore, State: slipway.StepFailed, StartedAt: before(195 * time.Second), EndedAt: before(182200 * time.Millisecond),
				Error: sampleUpgrade.Error, Output: sampleOutput, OutputCut: true, Notes: []string{"Deleted the Job guestbook-action that task 38 left"},
				Runs: []slipway.ActionRun{{Action: "migrate", FlowRunID: "1b8f5a3e-1111-4222-8333-944455566677", State: "failed", StartedAt: before(195 * time.Second), EndedAt: before(182 * time.Second)}}},
				Children: []view.TaskRow{{Task: sampleStopWorker}, {Task: sampleVersion}}},
		},
		Stopped: []string{"worker"},
	}
}

func sampleRunningPage() view.TaskPage {
	return view.TaskPage{
		Task: sampleRunning, Application: sampleApplication, Change: slipway.Change{ID: 10, Number: 5, Revision: 5, FromRevision: 4},
		Steps: []view.Step{
			{Step: slipway.Step{ID: 11, TaskID: 44, Seq: 1, Key: "check", Name: "Check the change", State: slipway.StepSucceeded, StartedAt: before(8 * time.Second), EndedAt: before(7800 * time.Millisecond)}},
			{Step: slipway.Step{ID: 12, TaskID: 44, Seq: 2, Key: "hook.upgrade.pre", Name: slipway.StepUpgradePre, State: slipway.StepRunning, StartedAt: before(7 * time.Second),
				Runs: []slipway.ActionRun{{Action: "backup", FlowRunID: "2b8f5a3e-1111-4222-8333-944455566677", State: "running", StartedAt: before(6 * time.Second)}}}},
		},
		Planned: []view.PlannedStep{
			{Key: "hook.upgrade.core", Name: slipway.StepUpgradeCore, Actions: []string{"migrate"}},
			{Key: "apply", Name: "Install the chart", Maybe: true}, {Key: "ready", Name: "Wait until it is ready", Maybe: true},
			{Key: "hook.upgrade.post", Name: slipway.StepUpgradePost, Actions: []string{"check"}},
		},
	}
}

func sampleChildPage() view.TaskPage {
	return view.TaskPage{
		Task: sampleStopWorker, Application: sampleApplication, StartedBy: &view.TaskRow{Task: sampleUpgrade},
		Steps: []view.Step{{Step: slipway.Step{ID: 21, TaskID: 42, Seq: 1, Key: "stop", Name: "Stop worker", State: slipway.StepSucceeded, StartedAt: before(195 * time.Second), EndedAt: before(192 * time.Second)}}},
	}
}

func sampleApplicationPage() view.ApplicationPage {
	two := 2
	diff := []view.DiffLine{
		{Path: "app.version", Old: "1.1.0", New: "1.2.0"},
		{Path: "components.web.env.LOG_LEVEL", New: "debug"},
		{Path: "components.worker.replicas", Old: "1"},
	}
	driver := slipway.DriverRef{Name: "guestbook", Version: "1.0.0"}
	return view.ApplicationPage{
		Application: sampleApplication, Driver: sampleDriver, CanBackUp: true, NextBackup: sampleNow.Add(7 * time.Hour),
		Spec: slipway.ApplicationSpec{Backup: &slipway.BackupConfig{Location: "nightly", Schedule: "0 3 * * *", TimeZone: "Europe/Rome", KeepLast: 7, KeepDays: 30, BeforeUpgrade: true}},
		Backups: view.List[slipway.Backup]{Items: []slipway.Backup{
			{ID: 14, State: slipway.BackupTaking, Cause: slipway.BackupAsked, AppVersion: "1.2.0", TaskID: 43},
			{ID: 13, State: slipway.BackupFailed, Cause: slipway.BackupUpgrade, AppVersion: "1.1.0", TaskID: 40, Error: "write slipway/shop/production/guestbook in https://s3.example.com/backups: there is no such bucket"},
			{ID: 12, State: slipway.BackupComplete, Cause: slipway.BackupScheduled, AppVersion: "1.1.0", TaskID: 36, Size: 12_400_000, TakenAt: before(17 * time.Hour)},
		}},
		Components: []view.Component{
			{Name: "store", Declared: true},
			{Name: "web", Declared: true, Scalable: true, Image: "registry.example.com/guestbook:1.2.0-patched", Replicas: &two, Env: []view.Setting{{Name: "LOG_LEVEL", Value: "debug"}}, Secrets: []view.Setting{{Name: "DATABASE_URL", Value: "guestbook-db"}}},
			{Name: "worker", Declared: true, Scalable: true, Stopped: true, StoppedBy: &view.TaskRow{Task: sampleUpgrade}, StoppedAt: before(192 * time.Second)},
		},
		Drift:    sampleDrift,
		Services: []view.Service{{Name: "page", Service: sampleDriver.Spec.Services["page"]}},
		Revisions: view.List[view.RevisionRow]{Items: []view.RevisionRow{
			{Number: 4, AppVersion: "1.2.0", Driver: driver, CreatedBy: "ada", CreatedAt: before(201 * time.Second), Wanted: true, Change: 4, TaskID: 41, Diff: diff},
			{Number: 3, AppVersion: "1.1.0", Driver: driver, CreatedBy: "grace", CreatedAt: before(26 * time.Hour), Applied: true, Change: 3, TaskID: 30, Diff: diff[:1]},
			{Number: 2, AppVersion: "1.0.0", Driver: driver, CreatedBy: "ada", CreatedAt: before(9 * 24 * time.Hour), Change: 2, TaskID: 12},
			{Number: 1, AppVersion: "1.0.0", Driver: driver, CreatedBy: "ada", CreatedAt: before(20 * 24 * time.Hour), Change: 1, TaskID: 11},
		}},
		Tasks: view.List[view.TaskRow]{Items: []view.TaskRow{
			{Task: sampleUpgrade},
			{Task: sampleTask(30, slipway.UpgradeTask, "upgrade guestbook to 1.1.0", slipway.Succeeded, 26*time.Hour, 26*time.Hour-48*time.Second)},
			{Task: sampleTask(12, slipway.ConfigureTask, "configure guestbook", slipway.Cancelled, 9*24*time.Hour, 9*24*time.Hour-4*time.Second)},
		}},
	}
}

var sampleDrift = slipway.Drift{
	ApplicationID: 7, Revision: 3, LookedAt: before(40 * time.Second), CheckedAt: before(40 * time.Second), Since: before(20 * time.Minute),
	Found: []slipway.Difference{
		{Object: "Deployment guestbook-web", Component: "web", Kind: slipway.DiffChanged, Path: "replicas", Applied: "2", Live: "5", By: "kubectl"},
		{Object: "Deployment guestbook-web", Component: "web", Kind: slipway.DiffChanged, Path: "variable DEBUG of container web", Live: "1", By: "kubectl-edit"},
		{Object: "Secret guestbook-slipway", Kind: slipway.DiffChanged, Path: "key guestbook-db", Hidden: true},
		{Object: "Service guestbook-web", Kind: slipway.DiffMissing},
		{Object: "ConfigMap by-hand", Kind: slipway.DiffExtra},
	},
}

func sampleApplications(n int) applicationsModel {
	states := applicationStates
	m := applicationsModel{Environments: sampleEnvironments}
	for i := range n {
		a := sampleApplication
		a.ID, a.Name, a.State = int64(i+1), fmt.Sprintf("guestbook-%03d", i), states[(i+2)%len(states)]
		a.UpdatedAt = before(time.Duration(i*i) * time.Minute)
		row := view.ApplicationRow{Application: a}
		if i%7 == 3 {
			row.OpenTask = int64(40 + i)
		}
		if i%5 == 2 {
			row.Drift = sampleDrift
		}
		if i%11 == 1 {
			row.Stopped = []string{"worker"}
		}
		m.List.Items = append(m.List.Items, row)
	}
	return m
}

var sampleEnvironments = []slipway.Environment{{ID: 1, Project: "demo", Name: "dev"}, {ID: 2, Project: "shop", Name: "dev"}, {ID: 3, Project: "shop", Name: "production"}}

func sampleUsers() view.List[slipway.User] {
	return view.List[slipway.User]{Items: []slipway.User{
		{ID: 1, Name: "ada", Role: slipway.Administrator, Active: true, HasPassword: true, CreatedAt: before(40 * 24 * time.Hour), LastLoginAt: before(2 * time.Hour)},
		{ID: 3, Name: "grace", Role: slipway.ReadWrite, Active: true, HasPassword: true, CreatedAt: before(30 * 24 * time.Hour)},
		{ID: 4, Name: "kurt", Role: slipway.ReadOnly, Active: false, HasPassword: true, CreatedAt: before(30 * 24 * time.Hour), LastLoginAt: before(12 * 24 * time.Hour)},
		{ID: 2, Name: slipway.ActionsUser, Role: slipway.ReadWrite, Active: true, BuiltIn: true, CreatedAt: before(40 * 24 * time.Hour)},
	}}
}

func sampleTokens() tokensModel {
	return tokensModel{
		All: true, Environments: sampleEnvironments, Form: tokenForm{Role: string(slipway.ReadWrite), Days: 90},
		List: view.List[slipway.Token]{Items: []slipway.Token{
			{ID: 1, UserName: "ada", Name: "ci-shop", Hint: "slw_Ab3x…", Role: slipway.ReadWrite, Project: "shop", Environment: "dev", CreatedAt: before(10 * 24 * time.Hour), ExpiresAt: before(-80 * 24 * time.Hour), LastUsedAt: before(4 * time.Minute)},
			{ID: 2, UserName: "grace", Name: "laptop", Hint: "slw_9fQk…", Role: slipway.ReadOnly, CreatedAt: before(100 * 24 * time.Hour), ExpiresAt: before(10 * 24 * time.Hour)},
			{ID: 3, UserName: "grace", Name: "old", Hint: "slw_77ab…", Role: slipway.ReadOnly, CreatedAt: before(200 * 24 * time.Hour), RevokedAt: before(100 * 24 * time.Hour)},
		}},
	}
}

func sampleAudit() view.List[slipway.Audit] {
	return view.List[slipway.Audit]{Items: []slipway.Audit{
		{ID: 2, At: before(201 * time.Second), User: "ada", Remote: "192.0.2.7", RequestID: "req-8c1f", Action: "application.deploy", Noun: "application", NounID: 7, NounName: "shop/production/guestbook", Before: []byte(`{"revision":3}`), After: []byte(`{"revision":4,"app_version":"1.2.0"}`)},
		{ID: 1, At: before(3 * time.Hour), User: "grace", TokenID: 2, Remote: "192.0.2.9", Action: "secret.set", Noun: "secret", NounName: "shop/production/guestbook-db"},
	}}
}

// samplePages are all pages, each as one story: its name, and what it shows.
func samplePages() map[string]templ.Component {
	at := func(title, nav string, crumbs ...crumb) frame {
		f := sampleFrame(title, nav)
		f.Crumbs = crumbs
		return f
	}
	nobody := frame{Title: "Sign in", Path: "/sign-in", Now: sampleNow, Version: "0.1.0"}
	reader := at("Users", "/users")
	reader.Caller = slipway.Caller{UserID: 4, UserName: "kurt", Role: slipway.ReadOnly}
	app := []crumb{{"Applications", "/applications"}, {"shop/production", "/applications?in=shop%2Fproduction"}}
	refused := newFault(slipway.Errorf(slipway.Invalid, "the name or the password is wrong").WithHint("an administrator can set a new password"), "req-1")
	made := sampleTokens()
	made.New = &newTokenModel{"ci-shop", "slw_Ab3xK7p2Qm9Rt5Vw8Yz1Bc4Df6Gh0Jk2Ln5Mq7Ps93aT1x"}
	waiting := sampleRunningPage()
	waiting.Task.State, waiting.Task.StartedAt = slipway.Queued, time.Time{}
	waiting.Steps, waiting.Waiting = nil, []view.TaskRow{{Task: sampleRunning}}
	pages := map[string]templ.Component{
		"sign-in":              signInPage(nobody, signInForm{}, nil),
		"sign-in-refused":      signInPage(nobody, signInForm{Name: "ada"}, &refused),
		"setup":                setupPage(nobody, setupForm{}, nil),
		"applications":         applicationsPage(at("Applications", "/applications"), sampleApplications(24)),
		"applications-empty":   applicationsPage(at("Applications", "/applications"), applicationsModel{Environments: sampleEnvironments}),
		"applications-nothing": applicationsPage(at("Applications", "/applications"), applicationsModel{}),
		"application":          applicationPage(at("guestbook", "/applications", app...), sampleApplicationPage(), change.RollbackOffer{Target: 2, Version: "1.0.0"}, nil),
		"revision": revisionPage(at("Revision 4", "/applications", app...), view.RevisionPage{
			Application: sampleApplication, Revision: slipway.Revision{Number: 4, CreatedBy: "ada", CreatedAt: before(time.Hour)},
			Row: sampleApplicationPage().Revisions.Items[0], Lines: sampleApplicationPage().Revisions.Items[0].Diff[:2],
		}),
		"tasks":        tasksPage(at("Tasks", "/tasks"), tasksModel{Environments: sampleEnvironments, List: view.List[view.TaskRow]{Items: []view.TaskRow{{Task: sampleRunning}, {Task: sampleUpgrade}, {Task: sampleVersion}}}}),
		"tasks-empty":  tasksPage(at("Tasks", "/tasks"), tasksModel{}),
		"task-failed":  taskPage(at("Task 41", "/tasks", app...), newTaskModel(sampleTaskPage(), "http://127.0.0.1:4200"), nil),
		"task-running": taskPage(at("Task 44", "/tasks", app...), newTaskModel(sampleRunningPage(), ""), nil),
		"task-child":   taskPage(at("Task 42", "/tasks", app...), newTaskModel(sampleChildPage(), ""), nil),
		"task-queued":  taskPage(at("Task 45", "/tasks", app...), newTaskModel(waiting, ""), nil),
		"drivers":      driversPage(at("Drivers", "/drivers"), view.List[slipway.Driver]{Items: []slipway.Driver{sampleDriver}}),
		"retry": retryPage(at("Retry task 41", "/tasks"), newRetryModel(change.RetryPlan{
			Task: sampleUpgrade, Attempt: 2, Change: 4, Stops: []string{"worker"}, Stopped: []slipway.ComponentState{{Component: "worker", StoppedByTask: 41}},
			Warnings: []string{`what an action of "Run the upgrade hook" does cannot be undone`}, Steps: []change.RetryStep{
				{PlannedStep: slipway.PlannedStep{Key: "check", Name: "Check the change"}, Fate: change.RetryRepeated},
				{PlannedStep: slipway.PlannedStep{Key: "hook.upgrade.pre", Name: slipway.StepUpgradePre, Hook: slipway.Upgrade, Mode: slipway.Pre, Actions: []string{"backup"}}, Fate: change.RetryKept, DoneIn: 41},
				{PlannedStep: slipway.PlannedStep{Key: "hook.upgrade.core", Name: slipway.StepUpgradeCore, Hook: slipway.Upgrade, Mode: slipway.Core, Actions: []string{"migrate", "warm"}}, Fate: change.RetryRepeated, KeptActions: map[string]int64{"warm": 41}, Irreversible: true},
				{PlannedStep: slipway.PlannedStep{Key: "apply", Name: "Apply the configuration", Maybe: true}, Fate: change.RetryFollows},
			},
		}, "")),
		"rollback": rollbackPage(at("Roll guestbook back", "/applications", app...), sampleApplicationPage(), change.Plan{
			Name: "guestbook", Kind: slipway.RollbackChange, Revision: 4, NewRevision: 5, Target: 3, FromVersion: "1.1.0", Version: "1.0.0",
			Diff: []change.DiffLine{{Path: "app.version", Old: "1.1.0", New: "1.0.0"}}, RestartsKnown: true, Restarts: []string{"web"}, Stops: []string{"worker"},
			Hooks: []change.PlannedHook{{Hook: slipway.Rollback, Mode: slipway.Core, Actions: []string{"undo"}}},
		}),
		"drivers-empty": driversPage(at("Drivers", "/drivers"), view.List[slipway.Driver]{}),
		"driver":        driverPage(at("guestbook 1.0.0", "/drivers", crumb{"Drivers", "/drivers"}), view.DriverPage{Driver: sampleDriver, Versions: []slipway.Driver{sampleDriver}, Users: []slipway.Application{sampleApplication}, UsersAll: 1}),
		"users":         usersPage(at("Users", "/users"), sampleUsers(), userForm{}, nil),
		"users-reader":  usersPage(reader, sampleUsers(), userForm{}, nil),
		"tokens":        tokensPage(at("Tokens", "/tokens"), sampleTokens(), nil),
		"tokens-new":    tokensPage(at("Tokens", "/tokens"), made, nil),
		"audit":         auditPage(at("Audit", "/audit"), sampleAudit(), view.AuditFilter{}),
		"error":         errorPage(at("Not found", ""), newFault(slipway.Errorf(slipway.NotFound, "there is no task 99").WithHint("the list of tasks shows those that you may see"), "req-77")),
	}
	maps.Copy(pages, sampleRunnerPages())
	maps.Copy(pages, samplePoolForms())
	return pages
}
