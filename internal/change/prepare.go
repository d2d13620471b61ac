package change

import (
	"context"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// parsed is an application.toml that is right in itself.
type parsed struct {
	in   SpecInput
	spec slipway.ApplicationSpec
	at   spec.Positions
}

func parse(in SpecInput) (parsed, error) {
	if in.File == "" {
		in.File = "application.toml"
	}
	s, err := spec.ParseApplication(in.Source, in.File)
	if err != nil {
		return parsed{}, err
	}
	return parsed{in: in, spec: s, at: spec.PositionsOf(in.Source, in.File)}, nil
}

// prepared is a spec that may be accepted, with all that accepting it needs to know.
type prepared struct {
	parsed
	env    slipway.Environment
	driver slipway.Driver
	app    slipway.Application // the zero value when there is none yet
	wanted slipway.Revision    // the zero value when there is none yet
	stand  standing
	kind   slipway.ChangeKind
	open   []slipway.Task  // root tasks of the application that have not ended
	target int64           // of a rollback: the revision whose content comes back
	ahead  string          // why the data may be ahead of the version that runs; empty: nothing tells so
	left   *slipway.Driver // of a rollback: the driver that is left behind, whose actions run
	pools  []poolChange    // of a runner application
	places []slipway.Place // what its runners reserve beyond those that are there
}

// acting is the driver whose actions the hooks of the change run.
func (p *prepared) acting() slipway.Driver {
	if p.left != nil {
		return *p.left
	}
	return p.driver
}

// prepare checks a spec against everything that stands. It writes nothing.
func prepare(ctx context.Context, tx *store.Tx, c slipway.Caller, p parsed) (prepared, error) {
	out := prepared{parsed: p}
	var err error
	if out.env, err = environment(ctx, tx, c, p.in.Project, p.in.Environment); err != nil {
		return out, err
	}
	if err := out.find(ctx, tx); err != nil {
		return out, err
	}
	if p.spec.Kind() == slipway.RunnerApplication {
		return out, out.prepareRunners(ctx, tx)
	}
	f, err := out.check(ctx, tx)
	if err != nil {
		return out, err
	}
	if len(f) > 0 {
		return out, refusal(p.in.File, f)
	}
	out.kind = out.stand.kind(version{p.spec.App.Version, p.spec.Driver.Version})
	out.ahead, err = out.beyond(ctx, tx)
	return out, err
}

// find reads the application as it stands, if there is one.
func (p *prepared) find(ctx context.Context, tx *store.Tx) (err error) {
	p.app, err = tx.ApplicationByName(ctx, p.env.ID, p.spec.Name)
	if slipway.Is(err, slipway.NotFound) {
		p.app = slipway.Application{}
		return nil
	} else if err != nil {
		return err
	}
	if p.open, err = openTasks(ctx, tx, p.app.ID); err != nil {
		return err
	}
	if p.app.Deleting {
		return beingDeleted(p.app, p.open)
	}
	if p.app.Kind != p.spec.Kind() {
		return slipway.Errorf(slipway.Conflict, "%s is a %s application, and cannot become a %s application", p.app.Ref(), p.app.Kind, p.spec.Kind()).
			WithHint("take another name")
	}
	if p.wanted, err = tx.Revision(ctx, p.app.ID, p.app.Revision); err != nil || p.app.Kind == slipway.RunnerApplication {
		return err
	}
	p.stand, err = standingOf(ctx, tx, p.app, p.wanted)
	return err
}

func beingDeleted(app slipway.Application, open []slipway.Task) error {
	e := slipway.Errorf(slipway.Conflict, "%s is being deleted", app.Ref())
	for _, t := range open {
		if t.Kind == slipway.DeleteTask {
			return e.WithHint("wait for task %d to end, then deploy it anew", t.ID)
		}
	}
	return e.WithHint("its deletion did not succeed: delete it again, then deploy it anew")
}

// openTasks lists the root tasks of an application that have not ended, the oldest first.
func openTasks(ctx context.Context, tx *store.Tx, appID int64) ([]slipway.Task, error) {
	tasks, err := tx.Tasks(ctx, store.TaskFilter{ApplicationID: appID, Open: true, Root: true}, store.Page{Limit: 100})
	if err != nil {
		return nil, err
	}
	for i, j := 0, len(tasks.Items)-1; i < j; i, j = i+1, j-1 {
		tasks.Items[i], tasks.Items[j] = tasks.Items[j], tasks.Items[i]
	}
	return tasks.Items, nil
}

// check finds the driver and lists every fault of the spec that the file alone cannot tell.
func (p *prepared) check(ctx context.Context, tx *store.Tx) (f faults, err error) {
	if f, err = p.unknownSecrets(ctx, tx); err != nil {
		return nil, err
	}
	p.driver, err = tx.Driver(ctx, p.spec.Driver.Name, p.spec.Driver.Version)
	if slipway.Is(err, slipway.NotFound) {
		missing, err := p.unknownDriver(ctx, tx)
		return append(f, missing), err
	} else if err != nil {
		return nil, err
	}
	if p.app.ID != 0 && p.wanted.Spec.Driver.Name != p.spec.Driver.Name {
		return append(f, p.at.Fault("the application runs on driver "+p.wanted.Spec.Driver.Name+", and cannot change to another one",
			"deploy it under another name", "driver", "name")), nil
	}
	f = append(f, spec.CheckAgainstDriver(p.spec, p.driver.Spec, p.at)...)
	backup, err := p.backup(ctx, tx)
	if err != nil {
		return nil, err
	}
	f = append(f, backup...)
	return append(f, p.moves()...), nil
}

// moves judges the way from where the application stands.
func (p *prepared) moves() (f faults) {
	from := p.stand.from
	if !p.stand.installed {
		return nil // CheckAgainstDriver has judged the version itself
	}
	// A version that the driver does not support at all is a fault already.
	if spec.VersionSupported(p.driver.Spec, p.spec.App.Version) == nil {
		if e, ok := errorOf(spec.UpgradeAllowed(p.driver.Spec, from.app, p.spec.App.Version)); ok {
			f = append(f, p.at.Fault(e.Msg, e.Hint, "app", "version"))
		}
	}
	older, err1 := semver.NewVersion(p.spec.Driver.Version)
	newer, err2 := semver.NewVersion(from.driver)
	if err1 == nil && err2 == nil && older.LessThan(newer) && !p.driver.Spec.AllowDowngrade {
		f = append(f, p.at.Fault(fmt.Sprintf("driver %s %s does not take over from the later %s", p.driver.Name, p.driver.Version, from.driver),
			"write version = \""+from.driver+"\" or later", "driver", "version"))
	}
	return f
}

func (p *prepared) unknownDriver(ctx context.Context, tx *store.Tx) (slipway.FieldError, error) {
	var versions []string
	names := map[string]bool{}
	for page := (store.Page{Limit: store.MaxLimit}); ; {
		list, err := tx.Drivers(ctx, page)
		if err != nil {
			return slipway.FieldError{}, err
		}
		for _, d := range list.Items {
			names[d.Name] = true
			if d.Name == p.spec.Driver.Name && len(versions) < 5 {
				versions = append(versions, d.Version)
			}
		}
		if page.After = list.Next; page.After == "" {
			break
		}
	}
	if len(versions) > 0 {
		return p.at.Fault(fmt.Sprintf("driver %s has no version %s here", p.spec.Driver.Name, p.spec.Driver.Version),
			"loaded are "+strings.Join(versions, ", ")+"; load another with: slipway driver load DIRECTORY", "driver", "version"), nil
	}
	hint := "load it with: slipway driver load DIRECTORY"
	if known := sorted(names); len(known) > 0 {
		hint = "loaded are " + strings.Join(known[:min(5, len(known))], ", ") + "; load another with: slipway driver load DIRECTORY"
	}
	return p.at.Fault("there is no driver "+p.spec.Driver.Name, hint, "driver", "name"), nil
}

// backup finds what the [backup] table asks for and cannot have.
func (p *prepared) backup(ctx context.Context, tx *store.Tx) (f faults, err error) {
	b := p.spec.Backup
	if b == nil {
		return nil, nil
	}
	if !p.driver.Spec.CanBackUp() {
		f = append(f, p.at.Fault(fmt.Sprintf("driver %s %s does not say how to back anything up", p.driver.Name, p.driver.Version),
			"leave [backup] out, or use a driver whose components have a backup", "backup"))
	}
	_, err = tx.BackupLocationByName(ctx, p.env.ID, b.Location)
	if slipway.Is(err, slipway.NotFound) {
		return append(f, p.at.Fault(fmt.Sprintf("there is no backup location %q in %s", b.Location, p.env.Ref()),
			"make it with: slipway backup location create "+b.Location+" -e "+p.env.Ref(), "backup", "location")), nil
	}
	return f, err
}

// unknownSecrets finds the names that stand for nothing.
func (p *prepared) unknownSecrets(ctx context.Context, tx *store.Tx) (f faults, err error) {
	secrets, err := tx.Secrets(ctx, p.env.ID)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, s := range secrets {
		known[s.Name] = true
	}
	fault := func(name string, path ...string) {
		if !known[name] {
			f = append(f, p.at.Fault(fmt.Sprintf("there is no secret %q in %s", name, p.env.Ref()),
				"store it with: slipway secrets set "+name+" -e "+p.env.Ref(), path...))
		}
	}
	for _, component := range sorted(p.spec.Components) {
		set := p.spec.Components[component].Secrets
		for _, variable := range sorted(set) {
			fault(set[variable], "components", component, "secrets", variable)
		}
	}
	for _, service := range sorted(p.spec.Services) {
		a := p.spec.Services[service].Actions
		fault(a.Credential, "services", service, "actions", "credential")
		if a.JobsCredential != "" {
			fault(a.JobsCredential, "services", service, "actions", "jobs_credential")
		}
	}
	for _, parameter := range sorted(p.spec.Parameters) {
		if name, ok := slipway.SecretParameter(p.spec.Parameters[parameter]); ok {
			fault(name, "parameters", parameter)
		}
	}
	return f, nil
}

// refusal is the error of a file with faults.
func refusal(file string, f faults) error {
	msg := fmt.Sprintf("%s cannot be deployed: it has %d faults", file, len(f))
	if len(f) == 1 {
		msg = fmt.Sprintf("%s cannot be deployed: %s: %s", file, f[0].Path, f[0].Msg)
	}
	return &slipway.Error{Kind: slipway.Invalid, Msg: msg, Hint: f[0].Hint, Fields: f}
}

// waiting warns of tasks that have not ended: an upgrade's hooks and a later change may
// meet.
func waiting(open []slipway.Task, overtake bool) []string {
	var out []string
	for _, t := range open {
		w := fmt.Sprintf("task %d (%s) has not ended; this change waits for it", t.ID, t.Title)
		if overtake {
			w = fmt.Sprintf("task %d (%s) has not ended, and this change does not wait for it: the hooks of both may run at once", t.ID, t.Title)
		}
		out = append(out, w)
	}
	return out
}
