package change

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func TestDeployWritesEverythingAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := toml("1.0.0", "1.0.0", "[components.web]", `env = { LOG_LEVEL = "info" }`)
	a := w.mustDeploy(0, source)

	if a.Application.Ref() != "shop/production/guestbook" || a.Application.Revision != 1 || a.Application.State != slipway.AppAccepted || a.Application.LastChange != 1 {
		t.Errorf("application = %+v", a.Application)
	}
	if c := a.Change; c.Number != 1 || c.Kind != slipway.InstallChange || c.Revision != 1 || c.FromRevision != 0 || c.TaskID != a.Task.ID || c.RequestedBy != "ben" || c.Overtake {
		t.Errorf("change = %+v", a.Change)
	}
	if k := a.Task; k.Kind != slipway.InstallTask || k.Title != "install guestbook 1.0.0" || k.State != slipway.Queued || !k.Root() || k.ChangeNumber != 1 || k.RequestedBy != "ben" {
		t.Errorf("task = %+v", a.Task)
	}
	if len(a.Warnings) > 0 || a.Replayed {
		t.Errorf("warnings = %q, replayed = %v", a.Warnings, a.Replayed)
	}
	if want := []string{fmt.Sprintf("task %d", a.Task.ID)}; !slices.Equal(w.woken, want) {
		t.Errorf("woken = %q, want %q", w.woken, want)
	}
	w.read(func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.Revision(ctx, a.Application.ID, 1)
		if r.Source != string(source) || r.DriverDigest != "sha256:guestbook1.0.0" || r.CreatedBy != "ben" || r.Spec.Components["web"].Env["LOG_LEVEL"] != "info" {
			t.Errorf("revision = %+v", r)
		}
		if err != nil {
			return err
		}
		events, err := tx.EventsAfter(ctx, 0, 100)
		var kinds []string
		for _, e := range events {
			if e.Project != "shop" || e.Environment != "production" {
				t.Errorf("event = %+v", e)
			}
			kinds = append(kinds, e.Kind)
		}
		if want := []string{"application.changed", "task.changed"}; !slices.Equal(kinds, want) {
			t.Errorf("events = %q, want %q", kinds, want)
		}
		return err
	})
	w.audited("application.install", "ben", "shop/production/guestbook", "",
		fmt.Sprintf(`{"change":1,"diff":[{"new":"1.0.0","old":"","path":"app.version"},{"new":"info","old":"","path":"components.web.env.LOG_LEVEL"},`+
			`{"new":"guestbook","old":"","path":"driver.name"},{"new":"1.0.0","old":"","path":"driver.version"}],`+
			`"driver":"guestbook 1.0.0","overtake":false,"revision":1,"task":%d,"version":"1.0.0"}`, a.Task.ID))
}

// What a change is depends on what came of those before it.
func TestWhatAChangeIs(t *testing.T) {
	t.Parallel()
	type step struct {
		app, driver string
		want        slipway.ChangeKind
		title       string
		end         slipway.TaskState // empty: the task stays open
		applied     bool              // the cluster got it
	}
	const good, bad, off = slipway.Succeeded, slipway.Failed, slipway.Cancelled
	const install, upgrade, configure = slipway.InstallChange, slipway.UpgradeChange, slipway.ConfigureChange
	for _, tc := range []struct {
		name  string
		steps []step
	}{
		{"the same again is a configuration", []step{
			{"1.0.0", "1.0.0", install, "install guestbook 1.0.0", good, true},
			{"1.0.0", "1.0.0", configure, "configure guestbook", good, true}}},
		{"another version is an upgrade", []step{
			{"1.0.0", "1.0.0", install, "", good, true},
			{"1.1.0", "1.0.0", upgrade, "upgrade guestbook to 1.1.0", good, true},
			{"1.1.0", "1.0.0", configure, "", good, true}}},
		{"another driver version alone is an upgrade", []step{
			{"1.0.0", "1.0.0", install, "", good, true},
			{"1.0.0", "1.1.0", upgrade, "upgrade guestbook to driver guestbook 1.1.0", good, true}}},
		{"both at once are one upgrade", []step{
			{"1.0.0", "1.0.0", install, "", good, true},
			{"1.1.0", "1.1.0", upgrade, "upgrade guestbook to 1.1.0", good, true}}},
		{"after a failed install it is an install again, with its setup hooks", []step{
			{"1.0.0", "1.0.0", install, "", bad, true},
			{"1.0.0", "1.0.0", install, "", off, false},
			{"1.1.0", "1.0.0", install, "install guestbook 1.1.0", good, true},
			{"1.1.0", "1.0.0", configure, "", good, true}}},
		{"a failed upgrade that moved nothing is an upgrade again", []step{
			{"1.0.0", "1.0.0", install, "", good, true},
			{"1.1.0", "1.0.0", upgrade, "", bad, false},
			{"1.1.0", "1.0.0", upgrade, "", good, true}}},
		{"going back after a failed upgrade that moved nothing is a configuration", []step{
			{"1.0.0", "1.0.0", install, "", good, true},
			{"1.1.0", "1.0.0", upgrade, "", bad, false},
			{"1.0.0", "1.0.0", configure, "", good, true}}},
		{"after an upgrade that failed when the cluster had moved its hooks run again", []step{
			{"1.0.0", "1.0.0", install, "", good, true},
			{"1.1.0", "1.0.0", upgrade, "", bad, true},
			{"1.1.0", "1.0.0", upgrade, "upgrade guestbook to 1.1.0", good, true},
			{"1.1.0", "1.0.0", configure, "", good, true}}},
		{"a configuration between does not hide the failed upgrade", []step{
			{"1.0.0", "1.0.0", install, "", good, true},
			{"1.1.0", "1.0.0", upgrade, "", off, false},
			{"1.0.0", "1.0.0", configure, "", good, true},
			{"1.0.0", "1.0.0", configure, "", good, true},
			{"1.1.0", "1.0.0", upgrade, "", good, true}}},
		{"one that has not ended counts as one that will succeed", []step{
			{"1.0.0", "1.0.0", install, "", "", false},
			{"1.1.0", "1.0.0", upgrade, "", "", false},
			{"1.1.0", "1.0.0", configure, "", "", false}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for i, st := range tc.steps {
				a := w.mustDeploy(int64(i), toml(st.app, st.driver))
				if a.Change.Kind != st.want || a.Change.Number != int64(i+1) || a.Change.FromRevision != int64(i) {
					t.Errorf("step %d: change = %+v, want %s", i+1, a.Change, st.want)
				}
				if a.Task.Kind != taskKind[st.want] || st.title != "" && a.Task.Title != st.title {
					t.Errorf("step %d: task = %s %q, want %q", i+1, a.Task.Kind, a.Task.Title, st.title)
				}
				switch {
				case st.end != "" && st.applied:
					w.end(a, st.end, st.app, st.driver)
				case st.end != "":
					w.end(a, st.end)
				}
			}
		})
	}
}

func TestTheExpectedRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.s.Deploy(t.Context(), w.writer, DeployInput{SpecInput: production(toml("1.0.0", "1.0.0"))})
	w.refused(err, slipway.Invalid, "expected_revision: it is missing")
	_, err = w.deploy(-1, toml("1.0.0", "1.0.0"))
	w.refused(err, slipway.Invalid, "expected_revision")
	_, err = w.deploy(3, toml("1.0.0", "1.0.0"))
	w.refused(err, slipway.Conflict, "revision 3 of guestbook was expected, and there is no such application")
	w.mustDeploy(0, toml("1.0.0", "1.0.0"))
	before := w.dump()
	for _, expected := range []int64{0, 2} {
		_, err = w.deploy(expected, toml("1.1.0", "1.0.0"))
		w.refused(err, slipway.Conflict, fmt.Sprintf("revision %d of shop/production/guestbook was expected, and revision 1 is wanted now: ben deployed it on ", expected))
		if e, _ := errorOf(err); e.Hint != "plan again, and look at what changed in between" {
			t.Errorf("hint = %q", e.Hint)
		}
	}
	if d := cmp.Diff(before, w.dump()); d != "" {
		t.Errorf("refusals wrote (-before +after):\n%s", d)
	}
}

func TestAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := func(k string) func(*DeployInput) { return func(in *DeployInput) { in.IdempotencyKey = k } }
	first := w.mustDeploy(0, toml("1.0.0", "1.0.0"), key("k1"))
	w.end(first, slipway.Succeeded, "1.0.0", "1.0.0")
	before := w.dump()
	again := w.mustDeploy(0, toml("1.0.0", "1.0.0"), key("k1"))
	if !again.Replayed || again.Task.ID != first.Task.ID || again.Change.ID != first.Change.ID {
		t.Errorf("again = %+v", again)
	}
	if again.Task.State != slipway.Succeeded {
		t.Errorf("the task of a repeat is shown as it was: %s", again.Task.State)
	}
	if d := cmp.Diff(before, w.dump()); d != "" {
		t.Errorf("the repeat wrote (-before +after):\n%s", d)
	}
	for name, f := range map[string]func() error{
		"another file":     func() error { _, err := w.deploy(0, toml("1.1.0", "1.0.0"), key("k1")); return err },
		"another revision": func() error { _, err := w.deploy(1, toml("1.0.0", "1.0.0"), key("k1")); return err },
		"another scope of the same user": func() error {
			confined := w.writer
			confined.Project, confined.Environment = "elsewhere", "dev"
			expected := int64(0)
			_, err := w.s.Deploy(t.Context(), confined, DeployInput{SpecInput: production(toml("1.0.0", "1.0.0")), ExpectedRevision: &expected, IdempotencyKey: "k1"})
			return err
		},
		"another operation": func() error {
			_, err := w.s.Delete(t.Context(), w.writer, DeleteInput{ApplicationID: first.Application.ID, IdempotencyKey: "k1"})
			return err
		},
	} {
		err := f()
		w.refused(err, slipway.Conflict, "this idempotency key was used for another request")
		if t.Failed() {
			t.Fatal(name)
		}
	}
	// The keys of users are apart.
	expected := int64(1)
	b, err := w.s.Deploy(t.Context(), w.admin, DeployInput{SpecInput: production(toml("1.1.0", "1.0.0")), ExpectedRevision: &expected, IdempotencyKey: "k1"})
	if err != nil || b.Replayed {
		t.Errorf("another user's: %+v, %v", b, err)
	}
	// A refused request leaves its key free.
	_, err = w.deploy(9, toml("1.1.0", "1.0.0"), key("k2"))
	w.refused(err, slipway.Conflict, "revision 9")
	if a := w.mustDeploy(2, toml("1.1.0", "1.0.0"), key("k2")); a.Replayed {
		t.Error("replayed")
	}
	for _, bad := range []string{strings.Repeat("k", 201), "two words", "schlüssel"} {
		_, err = w.deploy(3, toml("1.1.0", "1.0.0"), key(bad))
		w.refused(err, slipway.Invalid, "Idempotency-Key")
	}
}

func TestOpenTasksAreWarnedOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.mustDeploy(0, toml("1.0.0", "1.0.0"))
	second := w.mustDeploy(1, toml("1.1.0", "1.0.0"))
	want := []string{fmt.Sprintf("task %d (install guestbook 1.0.0) has not ended; this change waits for it", first.Task.ID)}
	if d := cmp.Diff(want, second.Warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
	third := w.mustDeploy(2, toml("1.2.0", "1.0.0"), func(in *DeployInput) { in.Overtake = true })
	if !third.Change.Overtake || len(third.Warnings) != 2 || !strings.Contains(third.Warnings[1], "the hooks of both may run at once") {
		t.Errorf("overtaking: %+v, %q", third.Change, third.Warnings)
	}
	p, err := w.s.Plan(t.Context(), w.reader, production(toml("1.2.0", "1.0.0")))
	w.ok(err)
	if len(p.Warnings) < 3 || !strings.Contains(p.Warnings[0], "install guestbook 1.0.0") {
		t.Errorf("the plan warns of %q", p.Warnings)
	}
}

func TestEveryFaultOfASpecIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installed()
	w.driver("3.0.0", func(d *slipway.DriverSpec) {
		d.Upgrades = []slipway.UpgradePath{{From: ">=1.1.0 <2.0.0", To: ">=2.0.0"}}
	})
	for _, tc := range []struct {
		name   string
		source []byte
		want   []string // one line for each fault, in this order
	}{
		{"unknown secrets, in a component and in a parameter, and an unknown component",
			toml("1.0.0", "1.0.0", "[components.web]", `secrets = { DATABASE_URL = "guestbok-db", OK = "guestbook-db" }`, "[components.wep]", "replicas = 2", "[parameters]", `license = { secret = "license" }`),
			[]string{
				`guestbook.toml:11:28: components.web.secrets.DATABASE_URL: there is no secret "guestbok-db" in shop/production (store it with: slipway secrets set guestbok-db -e shop/production)`,
				`guestbook.toml:15:1: parameters.license: there is no secret "license" in shop/production (store it with: slipway secrets set license -e shop/production)`,
				`guestbook.toml:12:13: components.wep: driver guestbook has no such component (did you mean web?)`,
			}},
		{"an unknown version of the driver", toml("1.0.0", "7.0.0"),
			[]string{`guestbook.toml:6:11: driver.version: driver guestbook has no version 7.0.0 here (loaded are 3.0.0, 2.0.0, 1.1.0, 1.0.0; load another with: slipway driver load DIRECTORY)`}},
		{"an unknown driver", []byte(strings.ReplaceAll(string(toml("1.0.0", "1.0.0")), `name = "guestbook"`+"\nversion", `name = "guest"`+"\nversion")),
			[]string{`guestbook.toml:5:8: driver.name: there is no driver guest (loaded are guestbook; load another with: slipway driver load DIRECTORY)`}},
		{"a version that the driver does not support", toml("9.0.0", "1.0.0"), []string{`app.version: driver guestbook 1.0.0 `}},
		{"a version before the one that runs", toml("0.9.0", "1.0.0"), []string{`app.version: driver guestbook 1.0.0 `}},
		{"no way from the version that runs", toml("2.0.0", "3.0.0"), []string{`guestbook.toml:9:11: app.version: driver guestbook 3.0.0 has no upgrade from 1.0.0 to 2.0.0 (`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, f := range []func() error{
				func() error { _, err := w.deploy(1, tc.source); return err },
				func() error { _, err := w.s.Plan(t.Context(), w.reader, production(tc.source)); return err },
				func() error { _, err := w.s.Validate(t.Context(), w.reader, production(tc.source)); return err },
			} {
				err := f()
				e, ok := errorOf(err)
				if !ok || e.Kind != slipway.Invalid || len(e.Fields) != len(tc.want) {
					t.Fatalf("error = %v with %d faults: %v", err, len(e.Fields), e.Fields)
				}
				for i, want := range tc.want {
					if got := e.Fields[i].String(); !strings.Contains(got, want) {
						t.Errorf("fault %d:\n got %s\nwant %s", i+1, got, want)
					}
					if e.Fields[i].Hint == "" {
						t.Errorf("fault %d has no remedy", i+1)
					}
				}
			}
		})
	}
}

func TestDowngrades(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.mustDeploy(0, toml("1.1.0", "1.1.0"))
	w.end(a, slipway.Succeeded, "1.1.0", "1.1.0")
	_, err := w.deploy(1, toml("1.0.0", "1.1.0"))
	w.refused(err, slipway.Invalid, "does not go back from 1.1.0 to 1.0.0")
	_, err = w.deploy(1, toml("1.1.0", "1.0.0"))
	w.refused(err, slipway.Invalid, "guestbook.toml:6:11: driver.version: driver guestbook 1.0.0 does not take over from the later 1.1.0")
	w.driver("1.0.1", func(d *slipway.DriverSpec) { d.AllowDowngrade = true })
	if a := w.mustDeploy(1, toml("1.0.0", "1.0.1")); a.Change.Kind != slipway.UpgradeChange {
		t.Errorf("an allowed downgrade is %s", a.Change.Kind)
	}
}

// The hooks of a failed upgrade ran half-way, and the cluster is at the new version: going
// back is a downgrade then, and never a mere configuration.
func TestGoingBackAfterAnUpgradeThatFailedHalfWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installed()
	w.end(w.mustDeploy(1, toml("1.1.0", "1.0.0")), slipway.Failed, "1.1.0", "1.0.0")
	_, err := w.deploy(2, toml("1.0.0", "1.0.0"))
	w.refused(err, slipway.Invalid, "does not go back from 1.1.0 to 1.0.0")
	p, err := w.s.Plan(t.Context(), w.reader, production(toml("1.1.0", "1.0.0")))
	w.ok(err)
	if !slices.Contains(p.Warnings, "the last upgrade failed half-way, at 1.1.0: the upgrade hooks run again") {
		t.Errorf("warnings = %q", p.Warnings)
	}
	w.driver("1.0.1", func(d *slipway.DriverSpec) { d.AllowDowngrade = true })
	if a := w.mustDeploy(2, toml("1.0.0", "1.0.1")); a.Change.Kind != slipway.UpgradeChange {
		t.Errorf("going back is %s", a.Change.Kind)
	}
}

func TestADriverCannotBeChangedForAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installed()
	w.driver("1.5.0", func(d *slipway.DriverSpec) { d.Name = "other" })
	other := strings.Replace(string(toml("1.0.0", "1.5.0")), `name = "guestbook"`+"\nversion", `name = "other"`+"\nversion", 1)
	_, err := w.deploy(1, []byte(other))
	w.refused(err, slipway.Invalid, "driver.name: the application runs on driver guestbook, and cannot change to another one")
}

func TestTheEnvironmentMustExist(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in := production(toml("1.0.0", "1.0.0"))
	in.Environment = "staging"
	_, err := w.s.Plan(t.Context(), w.reader, in)
	w.refused(err, slipway.NotFound, "there is no environment shop/staging")
	if e, _ := errorOf(err); e.Hint != "slipway environments create shop/staging" {
		t.Errorf("hint = %q", e.Hint)
	}
}

func TestValidateWithoutAnEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, err := w.s.Validate(t.Context(), w.reader, SpecInput{Source: toml("1.0.0", "1.0.0", "[components.web]", `secrets = { A = "not-here" }`)})
	if err != nil || s.Name != "guestbook" {
		t.Errorf("Validate = %+v, %v", s, err)
	}
	_, err = w.s.Validate(t.Context(), w.reader, SpecInput{Source: toml("1.0.0", "8.0.0")})
	w.refused(err, slipway.Invalid, "application.toml:6:11: driver.version")
	_, err = w.s.Validate(t.Context(), w.reader, SpecInput{Source: []byte("name = 1\nnmae = 2\n")})
	w.refused(err, slipway.Invalid, "application.toml:1:")
}

// An action that deploys its own application must not wait for itself.
func TestAnActionDeploysItsOwnApplication(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.installed()
	up := w.mustDeploy(1, toml("1.1.0", "1.0.0"))
	c := w.acting(up)
	expected := int64(2)
	b, err := w.s.Deploy(t.Context(), c.Caller, DeployInput{SpecInput: production(toml("1.1.0", "1.0.0", "[components.web]", "replicas = 3")), ExpectedRevision: &expected})
	w.ok(err)
	if !b.Change.Overtake || b.Application.ID != a.Application.ID || b.Change.RequestedBy != slipway.ActionsUser {
		t.Errorf("change = %+v", b.Change)
	}
	if b.Task.ParentStepID != 0 || !b.Task.Root() {
		t.Errorf("a call of the API is linked: %+v", b.Task)
	}
}

func TestASpecSurvivesItsRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.installed()
	source := toml("1.0.0", "1.0.0", "[parameters]", `admin_email = "ops@example.com"`)
	w.mustDeploy(1, source)
	p, err := w.s.Plan(t.Context(), w.reader, production(source))
	w.ok(err)
	if len(p.Diff) != 0 || !slices.ContainsFunc(p.Warnings, func(s string) bool {
		return s == "nothing differs from revision 2: the same configuration is applied again"
	}) {
		b, _ := json.Marshal(p.Diff)
		t.Errorf("diff = %s, warnings = %q", b, p.Warnings)
	}
}
