package change

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

// Who may do what, function by function; a new one must be added here.
func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	app := w.installed().Application
	open := w.mustDeploy(1, toml("1.1.0", "1.0.0"))
	one := int64(1)
	spec := production(toml("1.1.0", "1.0.0"))
	covered := map[string]bool{
		"Prune": true, // nobody asks for it
		// The door of deliveries and the look at forges call these; a signature and a credential
		// have spoken before.
		"Hook": true, "TakeDeliveries": true, "TakeJobs": true,
	}
	const nobody slipway.Role = "" // actions only
	for _, f := range []struct {
		name string
		role slipway.Role
		wide bool // not for a caller who is confined to another environment; else it is not found
		call func(c slipway.Caller) error
	}{
		{"CreateProject", slipway.Administrator, true, func(c slipway.Caller) error {
			_, err := w.s.CreateProject(ctx, c, CreateProjectInput{Name: "x!"})
			return err
		}},
		{"DeleteProject", slipway.Administrator, true, func(c slipway.Caller) error { return w.s.DeleteProject(ctx, c, "shop") }},
		{"CreateEnvironment", slipway.Administrator, true, func(c slipway.Caller) error {
			_, err := w.s.CreateEnvironment(ctx, c, CreateEnvironmentInput{Project: "shop", Name: "x!"})
			return err
		}},
		{"SetEnvironmentSettings", slipway.Administrator, false, func(c slipway.Caller) error {
			_, err := w.s.SetEnvironmentSettings(ctx, c, "shop", "production", nil)
			return err
		}},
		{"DeleteEnvironment", slipway.Administrator, true, func(c slipway.Caller) error { return w.s.DeleteEnvironment(ctx, c, "shop", "production") }},
		{"SetSecret", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.SetSecret(ctx, c, SetSecretInput{Project: "shop", Environment: "production", Name: "x", Value: []byte("v")})
			return err
		}},
		{"DeleteSecret", slipway.ReadWrite, false, func(c slipway.Caller) error { return w.s.DeleteSecret(ctx, c, "shop", "production", "not-there") }},
		{"CreateUser", slipway.Administrator, true, func(c slipway.Caller) error {
			_, err := w.s.CreateUser(ctx, c, CreateUserInput{Name: "x", Role: slipway.ReadOnly, Password: "short"})
			return err
		}},
		{"UpdateUser", slipway.Administrator, true, func(c slipway.Caller) error {
			_, err := w.s.UpdateUser(ctx, c, UpdateUserInput{Name: "zoe", Active: ptr(true)})
			return err
		}},
		{"LoadDriver", slipway.Administrator, true, func(c slipway.Caller) error {
			_, err := w.s.LoadDriver(ctx, c, LoadDriverInput{Archive: []byte("x")})
			return err
		}},
		{"DeleteDriver", slipway.Administrator, true, func(c slipway.Caller) error { return w.s.DeleteDriver(ctx, c, "guestbook", "1.0.0") }},
		{"Validate", slipway.ReadOnly, false, func(c slipway.Caller) error { _, err := w.s.Validate(ctx, c, spec); return err }},
		{"Plan", slipway.ReadOnly, false, func(c slipway.Caller) error { _, err := w.s.Plan(ctx, c, spec); return err }},
		{"Deploy", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.Deploy(ctx, c, DeployInput{SpecInput: spec, ExpectedRevision: &one})
			return err
		}},
		{"CreateBackupLocation", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.CreateBackupLocation(ctx, c, CreateBackupLocationInput{Project: "shop", Environment: "production", Name: "disk",
				Kind: slipway.LocationVolume, Volume: slipway.VolumeLocation{Claim: "backups"}})
			return err
		}},
		{"DeleteBackupLocation", slipway.ReadWrite, false, func(c slipway.Caller) error {
			return w.s.DeleteBackupLocation(ctx, c, "shop", "production", "not-there")
		}},
		{"Backup", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.Backup(ctx, c, BackupInput{ApplicationID: app.ID})
			return err
		}},
		{"DeleteBackup", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.DeleteBackup(ctx, c, DeleteBackupInput{BackupID: 4711})
			return err
		}},
		{"PlanRestore", slipway.ReadOnly, false, func(c slipway.Caller) error { _, err := w.s.PlanRestore(ctx, c, app.ID, 4711); return err }},
		{"Restore", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.Restore(ctx, c, RestoreInput{ApplicationID: app.ID, BackupID: 4711})
			return err
		}},
		{"StopComponents", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.StopComponents(ctx, c, ComponentsInput{ApplicationID: app.ID})
			return err
		}},
		{"StartComponents", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.StartComponents(ctx, c, ComponentsInput{ApplicationID: app.ID})
			return err
		}},
		{"CheckDrift", slipway.ReadOnly, false, func(c slipway.Caller) error { _, err := w.s.CheckDrift(ctx, c, app.ID); return err }},
		{"Repair", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.Repair(ctx, c, RepairInput{ApplicationID: app.ID, ExpectedRevision: &one})
			return err
		}},
		{"CancelTask", slipway.ReadWrite, false, func(c slipway.Caller) error { _, err := w.s.CancelTask(ctx, c, open.Task.ID); return err }},
		{"PlanRollback", slipway.ReadOnly, false, func(c slipway.Caller) error {
			_, err := w.s.PlanRollback(ctx, c, RollbackInput{ApplicationID: app.ID})
			return err
		}},
		{"OfferRollback", slipway.ReadOnly, false, func(c slipway.Caller) error {
			_, err := w.s.OfferRollback(ctx, c, app.ID)
			return err
		}},
		{"Rollback", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.Rollback(ctx, c, RollbackInput{ApplicationID: app.ID, ExpectedRevision: &one})
			return err
		}},
		{"PlanRetry", slipway.ReadOnly, false, func(c slipway.Caller) error {
			_, err := w.s.PlanRetry(ctx, c, RetryInput{TaskID: open.Task.ID})
			return err
		}},
		{"RetryTask", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.RetryTask(ctx, c, RetryInput{TaskID: open.Task.ID})
			return err
		}},
		{"Delete", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.Delete(ctx, c, DeleteInput{ApplicationID: app.ID})
			return err
		}},
		{"PausePools", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.PausePools(ctx, c, PoolsInput{ApplicationID: app.ID})
			return err
		}},
		{"ResumePools", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.ResumePools(ctx, c, PoolsInput{ApplicationID: app.ID})
			return err
		}},
		{"ForgetRunners", slipway.Administrator, false, func(c slipway.Caller) error {
			_, err := w.s.ForgetRunners(ctx, c, PoolsInput{ApplicationID: app.ID})
			return err
		}},
		{"CreateConnection", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.CreateConnection(ctx, c, CreateConnectionInput{Name: "x", Project: "shop", Environment: "production"})
			return err
		}},
		{"RotateConnectionSecret", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.RotateConnectionSecret(ctx, c, RotateSecretInput{Name: "not-there"})
			return err
		}},
		{"BeginApp", slipway.ReadWrite, false, func(c slipway.Caller) error {
			c.SessionID = "a session"
			_, err := w.s.BeginApp(ctx, c, BeginAppInput{Connection: "not-there", Organization: "acme"})
			return err
		}},
		{"FinishApp", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.FinishApp(ctx, c, FinishAppInput{Connection: "not-there", Code: "0123456789"})
			return err
		}},
		{"TakeApp", slipway.ReadWrite, false, func(c slipway.Caller) error {
			_, err := w.s.TakeApp(ctx, c, TakeAppInput{Connection: "not-there", Code: "0123456789"})
			return err
		}},
		{"DeleteConnection", slipway.ReadWrite, false, func(c slipway.Caller) error { return w.s.DeleteConnection(ctx, c, "not-there") }},
		{"CreateToken", slipway.ReadOnly, true, func(c slipway.Caller) error {
			_, err := w.s.CreateToken(ctx, c, CreateTokenInput{Name: "x", Project: "shop"})
			return err
		}},
		{"RevokeToken", slipway.ReadOnly, false, func(c slipway.Caller) error { return w.s.RevokeToken(ctx, c, 4711) }},
		{"ActionCall", nobody, true, func(c slipway.Caller) error {
			_, err := w.s.ActionCall(ctx, c, ActionCallInput{})
			return err
		}},
		{"AddStepNote", nobody, true, func(c slipway.Caller) error { return w.s.AddStepNote(ctx, c, open.Task.ID, 1, "x") }},
	} {
		covered[f.name] = true
		w.refused(f.call(slipway.Caller{}), slipway.Unauthenticated, "you are not signed in")
		elsewhere := w.admin
		elsewhere.Project, elsewhere.Environment = "shop", "staging"
		if f.wide {
			w.refused(f.call(elsewhere), slipway.Forbidden, "")
		} else {
			w.refused(f.call(elsewhere), slipway.NotFound, "there is no ")
		}
		before := w.dump()
		for _, c := range []slipway.Caller{w.reader, w.writer} {
			if f.role == nobody || !c.Role.Allows(f.role) {
				w.refused(f.call(c), slipway.Forbidden, "")
			}
		}
		if d := cmp.Diff(before, w.dump()); d != "" {
			t.Errorf("%s: refusals wrote (-before +after):\n%s", f.name, d)
		}
		if f.role == nobody {
			w.refused(f.call(w.admin), slipway.Forbidden, "")
			continue
		}
		for _, c := range []slipway.Caller{w.reader, w.writer, w.admin} {
			if c.Role.Allows(f.role) {
				if err := f.call(c); slipway.Is(err, slipway.Forbidden) || slipway.Is(err, slipway.Unauthenticated) {
					t.Errorf("%s as %s: %v", f.name, c.Role, err)
				}
				break // once is enough: it may have changed what stands
			}
		}
		if t.Failed() {
			t.Fatal(f.name)
		}
	}
	for m := range reflect.TypeFor[*Service]().Methods() {
		if !covered[m.Name] {
			t.Errorf("who may call %s is not tested", m.Name)
		}
	}
}
