package view

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// ApplicationFilter narrows the list of applications. Its zero value is all of them.
type ApplicationFilter struct {
	Project     string
	Environment string
	Kind        slipway.ApplicationKind
	State       slipway.ApplicationState
	Name        string
}

// ApplicationRow is one line of the list of applications.
type ApplicationRow struct {
	slipway.Application
	OpenTask int64    // the first root task that runs or waits; 0: none
	Stopped  []string // the components that are stopped
	Pools    int      // how many runner pools it has
	Drift    slipway.Drift
}

// ApplicationPage is everything about one application that its page shows.
type ApplicationPage struct {
	Application slipway.Application
	Spec        slipway.ApplicationSpec // of the wanted revision
	Driver      slipway.Driver          // that the wanted revision names; zero when it is gone
	Components  []Component
	Services    []Service
	Revisions   List[RevisionRow] // the newest ones
	Tasks       List[TaskRow]     // newest first, without those that a step shows
	Drift       slipway.Drift
	Open        []TaskRow // of them, those that run or wait, oldest first
	Backups     List[slipway.Backup]
	NextBackup  time.Time // when the schedule takes the next one; zero: it takes none
	CanBackUp   bool      // the driver says how
}

// Component is a component as the driver declares it, the team sets it and the record has
// it.
type Component struct {
	Name      string
	Declared  bool // false: something is set or recorded for it, but the driver knows it no more
	Selector  map[string]string
	Container string
	Scalable  bool
	Image     string // the override with the version filled in; empty: as the chart says
	Replicas  *int   // nil: as the chart says
	Env       []Setting
	Secrets   []Setting // the value is the name of a secret
	Stopped   bool
	StoppedBy *TaskRow // the root task in which it was stopped
	StoppedAt time.Time
	Starting  bool // a task that starts it again runs or waits
}

// Setting is an environment variable of a component. A value that looks like a secret is
// masked.
type Setting struct{ Name, Value string }

// Service is an endpoint that the application offers.
type Service struct {
	Name string
	slipway.Service
}

// How much of its lists an application's page holds.
const (
	pageRevisions = 10
	pageTasks     = 15
	pageBackups   = 10
)

// Applications lists the applications that the caller sees, by project, environment and
// name.
func (r *Reader) Applications(ctx context.Context, c slipway.Caller, f ApplicationFilter, p Page) (List[ApplicationRow], error) {
	return read(ctx, r, c, func(tx *store.Tx) (out List[ApplicationRow], err error) {
		var ok bool
		if f.Project, f.Environment, ok = confine(c, f.Project, f.Environment); !ok {
			return out, nil
		}
		list, err := applications(ctx, tx, f, p)
		if err != nil {
			return out, err
		}
		out.Next = list.Next
		place := make(map[int64]*ApplicationRow, len(list.Items))
		out.Items = make([]ApplicationRow, len(list.Items))
		for i, a := range list.Items {
			out.Items[i] = ApplicationRow{Application: a}
			place[a.ID] = &out.Items[i]
		}
		if err := addDrift(ctx, tx, out.Items); err != nil {
			return out, err
		}
		return out, addWhatGoesOn(ctx, tx, place)
	})
}

func applications(ctx context.Context, tx *store.Tx, f ApplicationFilter, p Page) (List[slipway.Application], error) {
	in := store.ApplicationFilter{Project: f.Project, Environment: f.Environment, Kind: f.Kind, State: f.State}
	if f.Name == "" {
		return tx.Applications(ctx, in, p)
	}
	// One name stands at most once in each environment, so that its list needs no pages.
	var out List[slipway.Application]
	var ids []int64
	err := each(ctx, tx, func(id int64, _ string) { ids = append(ids, id) },
		`SELECT a.id, a.name FROM applications a JOIN environments e ON e.id = a.environment_id JOIN projects p ON p.id = e.project_id
			WHERE a.name = $1 AND a.deleted_at IS NULL ORDER BY p.name, e.name`, f.Name)
	if err != nil {
		return out, fmt.Errorf("list the applications named %s: %w", f.Name, err)
	}
	for _, id := range ids {
		a, err := tx.Application(ctx, id)
		if err != nil {
			return out, err
		}
		found := ApplicationFilter{Project: a.Project, Environment: a.Environment, Kind: a.Kind, State: a.State, Name: a.Name}
		if f.matches(found) {
			out.Items = append(out.Items, a)
		}
	}
	return out, nil
}

// matches reports whether every field that f sets is the other's too.
func (f ApplicationFilter) matches(o ApplicationFilter) bool {
	return (f.Project == "" || f.Project == o.Project) && (f.Environment == "" || f.Environment == o.Environment) &&
		(f.Kind == "" || f.Kind == o.Kind) && (f.State == "" || f.State == o.State) && (f.Name == "" || f.Name == o.Name)
}

// addWhatGoesOn adds the open tasks and the stopped components of all lines by one query
// each, however many lines there are.
func addWhatGoesOn(ctx context.Context, tx *store.Tx, place map[int64]*ApplicationRow) error {
	if len(place) == 0 {
		return nil
	}
	ids := make([]string, 0, len(place))
	for id := range place {
		ids = append(ids, fmt.Sprint(id))
	}
	in := strings.Join(ids, ", ") // numbers of our own, so they may stand in the query
	err := each(ctx, tx, func(id, task int64) { place[id].OpenTask = task },
		`SELECT application_id, MIN(id) FROM tasks WHERE ended_at IS NULL AND root_id IS NULL
			AND application_id IN (`+in+`) GROUP BY application_id`)
	if err != nil {
		return fmt.Errorf("read the open tasks of applications: %w", err)
	}
	err = each(ctx, tx, func(id int64, name string) { place[id].Stopped = append(place[id].Stopped, name) },
		`SELECT application_id, component FROM component_states WHERE stopped
			AND application_id IN (`+in+`) ORDER BY component`)
	if err != nil {
		return fmt.Errorf("read the stopped components of applications: %w", err)
	}
	err = each(ctx, tx, func(id int64, n int) { place[id].Pools = n },
		`SELECT application_id, COUNT(*) FROM runner_pools WHERE NOT deleting AND application_id IN (`+in+`) GROUP BY application_id`)
	if err != nil {
		return fmt.Errorf("count the runner pools of applications: %w", err)
	}
	return nil
}

// each calls f with every row of a query of two columns.
func each[A, B any](ctx context.Context, tx *store.Tx, f func(A, B), query string, args ...any) error {
	rows, err := tx.SQL().QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var a A
		var b B
		if err := rows.Scan(&a, &b); err != nil {
			return err
		}
		f(a, b)
	}
	return rows.Err()
}

// Application returns the page of one application, also of a deleted one.
func (r *Reader) Application(ctx context.Context, c slipway.Caller, id int64) (ApplicationPage, error) {
	return read(ctx, r, c, func(tx *store.Tx) (ApplicationPage, error) {
		a, err := application(ctx, tx, c, id)
		if err != nil {
			return ApplicationPage{}, err
		}
		return applicationPage(ctx, tx, a)
	})
}

// ApplicationByName returns the page of the application that has this name now.
func (r *Reader) ApplicationByName(ctx context.Context, c slipway.Caller, project, environment, name string) (ApplicationPage, error) {
	return read(ctx, r, c, func(tx *store.Tx) (ApplicationPage, error) {
		a, err := applicationByName(ctx, tx, c, project, environment, name)
		if err != nil {
			return ApplicationPage{}, err
		}
		return applicationPage(ctx, tx, a)
	})
}

func application(ctx context.Context, tx *store.Tx, c slipway.Caller, id int64) (slipway.Application, error) {
	a, err := tx.Application(ctx, id)
	if err == nil && !c.Sees(a.Project, a.Environment) {
		return slipway.Application{}, missing("application %d", id)
	}
	return a, err
}

// applicationByName says one thing, whatever part of the name does not exist or is not
// the caller's to see.
func applicationByName(ctx context.Context, tx *store.Tx, c slipway.Caller, project, environment, name string) (a slipway.Application, err error) {
	none := missing("application %s/%s", slipway.EnvironmentRef(project, environment), name)
	if !c.Sees(project, environment) {
		return a, none
	}
	e, err := tx.EnvironmentByName(ctx, project, environment)
	if err == nil {
		a, err = tx.ApplicationByName(ctx, e.ID, name)
	}
	if slipway.Is(err, slipway.NotFound) {
		err = none
	}
	return a, err
}

func applicationPage(ctx context.Context, tx *store.Tx, a slipway.Application) (p ApplicationPage, err error) {
	p.Application = a
	if a.Revision > 0 {
		wanted, err := tx.Revision(ctx, a.ID, a.Revision)
		if err != nil {
			return p, err
		}
		p.Spec = wanted.Spec
		if p.Driver, err = driverOf(ctx, tx, wanted); err != nil {
			return p, err
		}
	}
	if p.Revisions, err = revisionRows(ctx, tx, a, Page{Limit: pageRevisions}); err != nil {
		return p, err
	}
	if p.Tasks, err = ownTasks(ctx, tx, store.TaskFilter{ApplicationID: a.ID}, Page{Limit: pageTasks}); err != nil {
		return p, err
	}
	if p.Backups, err = tx.Backups(ctx, store.BackupFilter{ApplicationID: a.ID}, Page{Limit: pageBackups}); err != nil {
		return p, err
	}
	schedule, _, err := tx.BackupSchedule(ctx, a.ID)
	if err != nil {
		return p, err
	}
	p.NextBackup, p.CanBackUp = schedule.NextAt, p.Driver.Spec.CanBackUp()
	open, err := tx.Tasks(ctx, store.TaskFilter{ApplicationID: a.ID, Open: true}, Page{Limit: store.MaxLimit})
	if err != nil {
		return p, err
	}
	if p.Drift, err = tx.Drift(ctx, a.ID); err != nil {
		return p, err
	}
	states, err := tx.ComponentStates(ctx, a.ID)
	if err != nil {
		return p, err
	}
	for _, t := range slices.Backward(open.Items) {
		if t.ParentStepID == 0 {
			p.Open = append(p.Open, TaskRow{t})
		}
	}
	p.Components = componentRows(p.Driver.Spec, p.Spec, states, rowsOf(open.Items))
	for i := range p.Components {
		if by := p.Components[i].StoppedBy; by != nil {
			if by.Task, err = tx.Task(ctx, by.ID); err != nil {
				return p, err
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Driver.Spec.Services)) {
		p.Services = append(p.Services, Service{Name: name, Service: p.Driver.Spec.Services[name]})
	}
	return p, nil
}

// driverOf returns the driver that a revision was made with, and the zero Driver when it
// has been deleted since.
func driverOf(ctx context.Context, tx *store.Tx, rev slipway.Revision) (slipway.Driver, error) {
	d, err := tx.DriverByDigest(ctx, rev.DriverDigest)
	if slipway.Is(err, slipway.NotFound) {
		return slipway.Driver{}, nil
	}
	return d, err
}

// componentRows joins what is declared, what is set and what is recorded, by name.
func componentRows(d slipway.DriverSpec, s slipway.ApplicationSpec, states []slipway.ComponentState, open []TaskRow) []Component {
	rows := map[string]*Component{}
	row := func(name string) *Component {
		if rows[name] == nil {
			rows[name] = &Component{Name: name}
		}
		return rows[name]
	}
	for name, declared := range d.Components {
		c := row(name)
		c.Declared, c.Selector, c.Container, c.Scalable = true, declared.Selector, declared.Container, declared.Scalable
	}
	for name, set := range s.Components {
		c := row(name)
		c.Image, c.Replicas = slipway.ExpandImage(set.Image, s.App.Version), set.Replicas
		c.Env, c.Secrets = maskedEnv(set.Env), settings(set.Secrets)
	}
	for _, st := range states {
		if st.Stopped {
			c := row(st.Component)
			c.Stopped, c.StoppedAt = true, st.StoppedAt
			if st.StoppedByTask != 0 {
				c.StoppedBy = &TaskRow{slipway.Task{ID: st.StoppedByTask}}
			}
		}
	}
	for _, t := range open {
		if t.Kind != slipway.StartTask {
			continue
		}
		for _, name := range t.Components() {
			if c := rows[name]; c != nil {
				c.Starting = true
			}
		}
	}
	out := make([]Component, 0, len(rows))
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		out = append(out, *rows[name])
	}
	return out
}

func settings(m map[string]string) []Setting {
	var out []Setting
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, Setting{k, m[k]})
	}
	return out
}

// maskedEnv hides what a difference of specs would hide too: spec.Diff alone knows what
// sounds like a secret.
func maskedEnv(env map[string]string) []Setting {
	out := settings(env)
	for i, s := range out {
		one := slipway.ApplicationSpec{Components: map[string]slipway.ComponentConfig{"c": {Env: map[string]string{s.Name: s.Value}}}}
		if lines := spec.Diff(slipway.ApplicationSpec{}, one); len(lines) == 1 && lines[0].New != s.Value && s.Value != "" {
			out[i].Value = lines[0].New
		}
	}
	return out
}
