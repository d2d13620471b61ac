package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

const applicationHead = "schema_version = 1\nname = \"a\"\ndriver = { name = \"d\", version = \"1.0.0\" }\napp = { version = \"1.0.0\" }\n"

// World: pure.
func TestBackupTable(t *testing.T) {
	t.Parallel()
	got, err := ParseApplication([]byte(applicationHead+`[backup]
location = "nightly"
schedule = "*/15 3 * * 1-5"
time_zone = "Europe/Rome"
keep_last = 7
keep_days = 30
before_upgrade = true
`), "a.toml")
	if err != nil {
		t.Fatal(describe(err))
	}
	want := &slipway.BackupConfig{Location: "nightly", Schedule: "*/15 3 * * 1-5", TimeZone: "Europe/Rome", KeepLast: 7, KeepDays: 30, BeforeUpgrade: true}
	if d := cmp.Diff(got.Backup, want); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}
	toml, err := FormatApplication(got)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ParseApplication(toml, "a.toml")
	if err != nil || cmp.Diff(again.Backup, want) != "" {
		t.Errorf("written and read again it is %+v: %v\n%s", again.Backup, err, toml)
	}
	var paths []string
	before := got
	before.Backup = nil
	for _, l := range Diff(before, got) {
		paths = append(paths, l.Path+": "+l.Old+" → "+l.New)
	}
	if d := cmp.Diff(paths, []string{"backup.before_upgrade:  → true", "backup.keep_days:  → 30", "backup.keep_last:  → 7", "backup.location:  → nightly",
		"backup.schedule:  → */15 3 * * 1-5", "backup.time_zone:  → Europe/Rome"}); d != "" {
		t.Errorf("the difference: got, want (-, +):\n%s", d)
	}
	for text, want := range map[string]string{
		"schedule = \"0 3 * * *\"":                                         "a.toml:5:2: backup.location: is missing",
		"location = \"x\"\nschedule = \"daily\"":                           "a.toml:7:12: backup.schedule: \"daily\" is no schedule",
		"location = \"x\"\nschedule = \"@every 1s\"":                       "a.toml:7:12: backup.schedule: \"@every 1s\" is no schedule",
		"location = \"x\"\nschedule = \"0 3 * * *\"\ntime_zone = \"Rome\"": "a.toml:8:13: backup.time_zone: \"Rome\" is no time zone",
		"location = \"x\"\ntime_zone = \"UTC\"":                            "a.toml:7:13: backup.time_zone: has no effect without a schedule",
		"location = \"x\"\nkeep_last = 0":                                  "a.toml:7:13: backup.keep_last: is 0; it must be from 1",
		"location = \"x\"\nkeep = 1":                                       "a.toml:7:1: backup.keep: unknown key",
		"location = \"X\"":                                                 "a.toml:6:12: backup.location: \"X\" cannot name a backup location",
	} {
		_, err := ParseApplication([]byte(applicationHead+"[backup]\n"+text+"\n"), "a.toml")
		if err == nil || !strings.Contains(describe(err), want) {
			t.Errorf("%q: got\n%s\nwant %s", text, describe(err), want)
		}
	}
}

// World: pure.
func TestComponentBackup(t *testing.T) {
	t.Parallel()
	parse := func(backup, actions string) (slipway.DriverSpec, []string, error) {
		return ParseDriver(bundleOf(t, driverHead+"  components:\n    - { name: db, selector: { a: b }, backup: "+backup+" }\n  actions: ["+actions+"]\n"))
	}
	got, warnings, err := parse(`{ kind: disk, volume: data, stop: true, order: -3 }`, "")
	want := &slipway.ComponentBackup{Kind: slipway.BackupDisk, Volumes: []string{"data"}, Stop: true, Order: -3}
	if err != nil || len(warnings) > 0 || cmp.Diff(got.Components["db"].Backup, want) != "" {
		t.Errorf("disk is %+v: %v %v", got.Components["db"].Backup, warnings, err)
	}
	got, _, err = parse(`{ kind: postgres, url_env: DATABASE_URL, image: "db:1" }`, `{ name: r, hook: restore, location: "actions.py::a" }`)
	if err != nil || got.Components["db"].Backup.URLEnv != "DATABASE_URL" || got.Actions[0].Mode != slipway.Core {
		t.Errorf("postgres is %+v, the action's mode %q: %v", got.Components["db"].Backup, got.Actions[0].Mode, err)
	}
	for backup, want := range map[string]string{
		"{ kind: disk }":                               "backup.volumes: is missing",
		"{ kind: dsk, volumes: [a] }":                  "backup.kind: \"dsk\" is no strategy",
		"{ kind: postgres, volumes: [data] }":          "backup.volumes: belongs to kind: disk",
		"{ kind: postgres, stop: true }":               "backup.stop: a server that is stopped cannot be dumped",
		"{ kind: postgres, url_env: \"a b\" }":         "backup.url_env: \"a b\" cannot name a variable",
		"{ kind: action }":                             "backup.kind: leaves it to an action, and no action has hook: backup",
		"{ kind: disk, volumes: [data], when: never }": "backup.when: unknown key",
	} {
		_, _, err := parse(backup, "")
		if err == nil || !strings.Contains(describe(err), want) {
			t.Errorf("%s: got\n%s\nwant %s", backup, describe(err), want)
		}
	}
}

// World: pure.
func TestMayRestore(t *testing.T) {
	t.Parallel()
	backup := slipway.Backup{ID: 12, State: slipway.BackupComplete, AppVersion: "1.2.0", Driver: slipway.DriverRef{Name: "notes", Version: "1.0.0"}}
	on := func(version string) slipway.ApplicationSpec {
		return slipway.ApplicationSpec{Driver: slipway.DriverRef{Name: "notes", Version: "2.0.0"}, App: slipway.AppRef{Version: version}}
	}
	failed, foreign := backup, backup
	failed.State, foreign.Driver.Name = slipway.BackupFailed, "other"
	graph := slipway.DriverSpec{Components: map[string]slipway.Component{"graph": {Backup: &slipway.ComponentBackup{Kind: "neo4j"}}}}
	for _, tc := range []struct {
		name   string
		backup slipway.Backup
		on     slipway.ApplicationSpec
		driver slipway.DriverSpec
		want   string // empty: allowed
	}{
		{"the same version", backup, on("1.2.0"), slipway.DriverSpec{}, ""},
		{"a later one", backup, on("1.10.0"), slipway.DriverSpec{}, ""},
		{"an older one", backup, on("1.1.9"), slipway.DriverSpec{}, "backup 12 is of version 1.2.0, and app has the older 1.1.9, which may not understand the data"},
		{"a pre-release is older", backup, on("1.2.0-rc.1"), slipway.DriverSpec{}, "has the older 1.2.0-rc.1"},
		{"versions that nobody can compare", backup, on("blue"), slipway.DriverSpec{}, "has the older blue"},
		{"one that failed", failed, on("1.2.0"), slipway.DriverSpec{}, "backup 12 is failed, and only a complete one can be restored"},
		{"another driver's", foreign, on("1.2.0"), slipway.DriverSpec{}, "was taken by the driver other"},
		{"an action is missing", backup, on("1.2.0"), graph, "the component graph is restored by an action"},
	} {
		err := MayRestore(tc.backup, "app", tc.on, tc.driver)
		switch {
		case tc.want == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: MayRestore() = %v, want %s", tc.name, err, tc.want)
		}
	}
}
