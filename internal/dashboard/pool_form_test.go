package dashboard

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// typed is a form with these fields beside those that every pool needs.
func typed(fields ...string) poolForm {
	f := freshPool()
	for _, kv := range [][2]string{{"name", "team-ci"}, {"owner", "acme"}, {"credential", "github-runner-token"}, {"labels", "slipway"}} {
		f.Values[kv[0]] = kv[1]
	}
	for i := 0; i < len(fields); i += 2 {
		f.Values[fields[i]] = fields[i+1]
	}
	return f
}

// handWritten is the same pool as people write it.
func handWritten(service, actions string, tables ...string) string {
	return "schema_version = 1\nname = \"team-ci\"\n[services.runner]\n" + service + "\n[services.runner.actions]\ncredential = \"github-runner-token\"\nlabels = [\"slipway\"]\n" + actions + "\n" + strings.Join(tables, "\n")
}

// TestPoolFormIsTheFile stands in the pure world: each field of the form makes the same pool
// as its key in a file that was written by hand, and the form that is filled from that pool
// makes it again.
func TestPoolFormIsTheFile(t *testing.T) {
	t.Parallel()
	const usual, org = "replicas = 4", "organization = \"acme\"\nidle_seconds = 300\n"
	for _, tc := range []struct {
		name string
		form poolForm
		file string
	}{
		{"a pool that sleeps", typed(), handWritten(usual, org)},
		{"of a repository", typed("of", "repository", "owner", "acme/shop"), handWritten(usual, "repository = \"acme/shop\"\nidle_seconds = 300\n")},
		{"of a GitLab group", typed("of", "gitlab-group", "owner", "acme/tools", "when", whenNever), handWritten(usual, "forge = \"gitlab\"\ngroup = \"acme/tools\"\n")},
		{"of a Bitbucket workspace", typed("of", "bitbucket-workspace", "owner", "acme", "when", whenNever), handWritten(usual, "forge = \"bitbucket\"\nworkspace = \"acme\"\n")},
		{"of a Bitbucket workspace, without labels", typed("of", "bitbucket-workspace", "owner", "acme", "when", whenNever, "labels", ""), strings.Replace(handWritten(usual, "forge = \"bitbucket\"\nworkspace = \"acme\"\n"), `["slipway"]`, "[]", 1)},
		{"of a Bitbucket repository", typed("of", "bitbucket-repository", "owner", "acme/shop", "when", whenNever), handWritten(usual, "forge = \"bitbucket\"\nrepository = \"acme/shop\"\n")},
		{"of a GitLab project, without tags", typed("of", "gitlab-project", "owner", "acme/tools/shop", "when", whenNever, "labels", ""), strings.Replace(handWritten(usual, "forge = \"gitlab\"\nproject = \"acme/tools/shop\"\n"), `["slipway"]`, "[]", 1)},
		{"of fixed size", typed("when", whenNever, "idle", "300", "replicas", "2"), handWritten("replicas = 2", "organization = \"acme\"\n")},
		{"size", typed("size", "large"), handWritten(usual+"\nsize = \"large\"", org)},
		{"the name of the pool", typed("service", "linux"), strings.ReplaceAll(handWritten(usual, org), "services.runner", "services.linux")},
		{"several labels", typed("labels", "slipway, large\tgpu"), strings.Replace(handWritten(usual, org), `["slipway"]`, `["slipway", "large", "gpu"]`, 1)},
		{"base_url", typed("base_url", "https://github.example.com"), handWritten(usual, org+`base_url = "https://github.example.com"`)},
		{"jobs_credential", typed("jobs_credential", "jobs"), handWritten(usual, org+`jobs_credential = "jobs"`)},
		{"runner_group_id", typed("runner_group_id", "7"), handWritten(usual, org+`runner_group_id = 7`)},
		{"architecture", typed("architecture", "arm64"), handWritten(usual, org+`architecture = "arm64"`)},
		{"node_name", typed("node_name", "ci-1"), handWritten(usual, org+`node_name = "ci-1"`)},
		{"timeout_minutes", typed("timeout_minutes", "90"), handWritten(usual, org+`timeout_minutes = 90`)},
		{"workspace_size_gib", typed("workspace_size_gib", "8"), handWritten(usual, org+`workspace_size_gib = 8`)},
		{"min_replicas", typed("min_replicas", "1"), handWritten(usual, org+`min_replicas = 1`)},
		{"spare", typed("spare", "2"), handWritten(usual, org+`spare = 2`)},
		{"priority", typed("priority", "-3"), handWritten(usual, org+`priority = -3`)},
		{"what is reserved", typed("requests_cpu", "500m", "requests_memory", "3Gi"), handWritten(usual, org, "[services.runner.resources.requests]\ncpu = \"500m\"\nmemory = \"3Gi\"")},
		{"what may be used", typed("limits_cpu", "8", "limits_memory", "16Gi"), handWritten(usual, org, "[services.runner.resources.limits]\ncpu = 8\nmemory = \"16Gi\"")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want, err := spec.ParseApplication([]byte(tc.file), "")
			if err != nil {
				t.Fatalf("the file is wrong: %v\n%s", err, tc.file)
			}
			for from, form := range map[string]poolForm{"typed": tc.form, "filled": poolFormOf(want)} {
				got, err := spec.ParseApplication([]byte(form.TOML()), "")
				if err != nil {
					t.Fatalf("%s: %v\n%s", from, err, form.TOML())
				}
				if d := cmp.Diff(got, want); d != "" {
					t.Errorf("%s: got, want (-, +):\n%s\n%s", from, d, form.TOML())
				}
			}
		})
	}
}

// TestPoolFormOfExamples stands in the pure world: the examples with one pool are shown
// whole.
func TestPoolFormOfExamples(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"team-ci.toml", "fixed.toml"} {
		source, err := os.ReadFile(filepath.Join("../../examples/pools", name))
		if err != nil {
			t.Fatal(err)
		}
		want, err := spec.ParseApplication(source, name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := spec.ParseApplication([]byte(poolFormOf(want).TOML()), name)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v\n%s", name, err, cmp.Diff(got, want))
		}
	}
}

// TestPoolFormNeverBreaksTheFile stands in the pure world: whatever is typed stays the value
// of its key, and no text becomes another key.
func TestPoolFormNeverBreaksTheFile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := poolForm{Values: map[string]string{}}
		for _, name := range fieldNames() {
			f.Values[name] = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "acme", "]\nx = 1", `"`, `\`, "a.b", "007", "\x7f", "1e3", "never", "idle", "organization", "gitlab-group", "gitlab-project", "bitbucket-workspace", "bitbucket-repository", "# no"})).Draw(t, name)
		}
		_, err := spec.ParseApplication([]byte(f.TOML()), "")
		if err == nil {
			return
		}
		var e *slipway.Error
		if !slipway.Is(err, slipway.Invalid) || !asError(err, &e) {
			t.Fatalf("%v\n%s", err, f.TOML())
		}
		for _, x := range e.Fields {
			if x.Path == "" {
				t.Fatalf("the file cannot be read: %v\n%s", x, f.TOML())
			}
			if f.fieldAt(x.Path) == "" {
				t.Fatalf("%v stands at no field\n%s", x, f.TOML())
			}
		}
	})
}

// TestPoolFormLosesNothing stands in the world of a real SQLite database: of every key that
// a pool can have, the form either shows it or says that it does not.
func TestPoolFormLosesNothing(t *testing.T) {
	t.Parallel()
	w := settled(t)
	s := &site{Dependencies{Change: w.change}}
	r := &request{Request: httptestRequest(t), site: s, caller: slipway.Caller{UserID: 1, UserName: "ada", Role: slipway.Administrator}}
	const base = "replicas = 4"
	whole, err := spec.ParseApplication([]byte(handWritten(base, "organization = \"acme\"\nidle_seconds = 300\nmin_replicas = 1\nspare = 1\nrunner_group_id = 3\nbase_url = \"https://github.example.com\"\n"+
		"jobs_credential = \"jobs\"\narchitecture = \"arm64\"\nnode_name = \"ci-1\"\ntimeout_minutes = 90\nworkspace_size_gib = 4\npriority = 2\n")), "")
	if err != nil {
		t.Fatal(err)
	}
	if why, err := s.formShows(r, poolFormOf(whole), whole); err != nil || why != "" {
		t.Fatalf("the form does not show a pool that it has fields for: %q, %v", why, err)
	}
	bitbucket, err := spec.ParseApplication([]byte(handWritten(base, "forge = \"bitbucket\"\nrepository = \"acme/shop\"\n")), "")
	if err != nil {
		t.Fatal(err)
	}
	if f := poolFormOf(bitbucket); f.Values["of"] != "bitbucket-repository" || f.Values["owner"] != "acme/shop" {
		t.Errorf("the form shows a pool of a Bitbucket repository as %q of %q", f.Values["of"], f.Values["owner"])
	}
	if why, err := s.formShows(r, poolFormOf(bitbucket), bitbucket); err != nil || why != "" {
		t.Errorf("the form does not show a pool of Bitbucket that it makes: %q, %v", why, err)
	}
	gitlab, err := spec.ParseApplication([]byte(handWritten(base, "forge = \"gitlab\"\ngroup = \"acme/tools\"\n")), "")
	if err != nil {
		t.Fatal(err)
	}
	if why, err := s.formShows(r, poolFormOf(gitlab), gitlab); err != nil || why != "" {
		t.Errorf("the form does not show a pool of GitLab that it makes: %q, %v", why, err)
	}
	// A form that forgets one of its fields is noticed, whichever it is.
	full := poolFormOf(whole)
	for name := range full.Values {
		if name == "when" || name == "size" || name == "of" { // without it the same is meant
			continue
		}
		less := poolForm{Values: maps.Clone(full.Values)}
		delete(less.Values, name)
		if why, err := s.formShows(r, less, whole); err != nil || why == "" {
			t.Errorf("that %s is lost is not noticed: %v", name, err)
		}
	}
	two, schedule := whole, whole
	two.Services = maps.Clone(whole.Services)
	two.Services["second"] = whole.Services["runner"]
	schedule.Services = maps.Clone(whole.Services)
	x := schedule.Services["runner"]
	one := 1
	x.Actions.Schedules = []slipway.RunnerSchedule{{Days: []string{"mon"}, From: "08:00", To: "18:00", TimeZone: "UTC", Spare: &one}}
	schedule.Services["runner"] = x
	for want, app := range map[string]slipway.ApplicationSpec{"2 pools": two, "schedules": schedule} {
		if why, err := s.formShows(r, poolFormOf(app), app); err != nil || !strings.Contains(why, want) {
			t.Errorf("the form says of an application with %s: %q, %v", want, why, err)
		}
	}
}

// TestBeyondForm stands in the pure world: what of a file the form would not keep. How the
// file is read is package spec's.
func TestBeyondForm(t *testing.T) {
	t.Parallel()
	const org = "organization = \"acme\"\nidle_seconds = 300\n"
	inline := func(x string) string {
		return "schema_version = 1\nname = \"team-ci\"\nservices = { runner = { " + x + "actions = { organization = \"acme\", credential = \"github-runner-token\", labels = [\"slipway\"], idle_seconds = 300 } } }\n"
	}
	for source, want := range map[string]string{
		handWritten("", org):                                    "",
		"# why\n" + handWritten("", org):                        "comments",
		handWritten("replicas = 4 # why", org):                  "comments",
		handWritten("x-note = \"# \\\" #\"\n", org):             "keys that begin with x-",
		handWritten("x-note = \"n\\\\\" # why", org):            "comments and keys that begin with x-",
		"# a\n" + handWritten("", org, "[x-note]\nb = 1"):       "comments and keys that begin with x-",
		handWritten("", org, "[services.runner.x-note]\nb = 1"): "keys that begin with x-",
		inline(""):                    "",
		inline("x-owner = \"ada\", "): "keys that begin with x-",
		strings.Replace(inline(""), "300 }", "300, x-owner = \"ada\" }", 1): "keys that begin with x-",
		handWritten("", org, "node_name = \"n\\\\\" # why"):                 "parts that are not understood any more", // no node has such a name
		"": "parts that are not understood any more",
	} {
		if got := beyondForm(source); got != want {
			t.Errorf("beyondForm(%q) = %q, want %q", source, got, want)
		}
	}
}

// poolErrors is a value that the parser refuses for each field, and its words.
var poolErrors = map[string][2]string{
	"name": {"Team CI", "name"}, "service": {"a b", "name"}, "owner": {"acme/shop", "names a repository"}, "credential": {"no-such", "there is no secret"},
	"labels": {"windows", "runners are Linux"}, "replicas": {"many", "must be a whole number"}, "idle": {"5", "it must be from 60 to 86400"},
	"min_replicas": {"9", "it must be from 0 to replicas"}, "spare": {"9", "it must be from 0 to replicas"}, "size": {"vast", "is no size"},
	"requests_cpu": {"much", "no amount"}, "requests_memory": {"1", "is less than 768Mi"}, "limits_cpu": {"much", "no amount"}, "limits_memory": {"3Gi", "is less than 4Gi"},
	"runner_group_id": {"0", "it must be from 1"}, "base_url": {"http://github.example.com", "https://"}, "jobs_credential": {"no-such", "there is no secret"},
	"architecture": {"sparc", "is no architecture"}, "node_name": {"Node 1", "no node"}, "timeout_minutes": {"1", "it must be from 5"},
	"workspace_size_gib": {"99", "it must be from 2 to 16"}, "priority": {"x", "must be a whole number"},
}
