package spec

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"slipway.dev/slipway/contract"
	"slipway.dev/slipway/internal/slipway"
)

const (
	poolHead      = "schema_version = 1\nname = \"ci\"\n"
	poolActions   = "[services.runner.actions]\norganization = \"acme\"\ncredential = \"token\"\nlabels = [\"slipway\"]\n"
	pool          = poolHead + poolActions // six lines
	bitbucketPool = poolHead + "[services.runner.actions]\nforge = \"bitbucket\"\nworkspace = \"acme\"\ncredential = \"token\"\nlabels = [\"slipway\"]\n"
	gitlabPool    = poolHead + "[services.runner.actions]\nforge = \"gitlab\"\ngroup = \"acme/tools\"\ncredential = \"token\"\nlabels = [\"slipway\"]\n"
)

// World: pure.
func TestParseApplicationFindsEveryFaultOfAPool(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, src string
		want      []string
	}{
		{"nothing of a driver application", pool + "[driver]\nname = \"d\"\n[backup]\nlocation = \"x\"\n", []string{
			"a.toml:7:2: driver: a runner application has none: no driver deploys it (leave it out here, and give what needs it an application of its own)",
			"a.toml:9:2: backup: a runner application has none: its runners keep nothing (leave it out here, and give what needs it an application of its own)",
		}},
		{"no ordinary service", poolHead + "[services.web]\nimage = \"web:1\"\n", []string{
			"a.toml:3:11: services.web.actions: is missing; a runner application holds runner pools only (write [services.web.actions], or give what is no runner pool an application with a driver)",
		}},
		{"no service at all", poolHead + "[services]\n", []string{
			"a.toml:3:2: services: holds no runner pool (write [services.runner] and [services.runner.actions])",
		}},
		{"keys in the neighbour's table", pool + "size = \"compute\"\n[services.runner]\nlabels = []\nimage = \"x\"\n", []string{
			"a.toml:7:1: services.runner.actions.size: does not belong here (write it under [services.runner])",
			"a.toml:9:1: services.runner.labels: does not belong here (write it under [services.runner.actions])",
			"a.toml:10:1: services.runner.image: unknown key (known here: actions, replicas, resources, size)",
		}},
		{"what every pool needs", poolHead + "[services.runner.actions]\nlabel = [\"x\"]\n", []string{
			`a.toml:3:18: services.runner.actions: needs an organization or a repository (write organization = "your-team", or repository = "your-team/your-repository")`,
			`a.toml:3:18: services.runner.actions.credential: is missing (name the secret that holds the token: credential = "github-runner-token")`,
			`a.toml:3:18: services.runner.actions.labels: is missing (write the labels that jobs name in runs-on: labels = ["slipway"])`,
			"a.toml:4:1: services.runner.actions.label: unknown key (did you mean labels?)",
		}},
		{"the scope", strings.Replace(pool, `organization = "acme"`, "organization = \"acme/shop\"\nrepository = \"https://github.com/acme/shop\"\nrunner_group_id = 0", 1), []string{
			`a.toml:4:16: services.runner.actions.organization: names a repository (write organization = "acme", or repository = "acme/shop")`,
			"a.toml:5:14: services.runner.actions.repository: is set beside organization (keep one of the two)",
			`a.toml:5:14: services.runner.actions.repository: "https://github.com/acme/shop" is no repository's name (write owner/name: "your-team/your-repository")`,
			"a.toml:6:19: services.runner.actions.runner_group_id: is 0; it must be from 1 to 9007199254740992",
		}},
		{"a group of a repository", strings.Replace(pool, `organization = "acme"`, "repository = \"acme/shop\"\nrunner_group_id = 7", 1), []string{
			"a.toml:5:19: services.runner.actions.runner_group_id: only an organization has runner groups (leave it out)",
		}},
		{"addresses", poolHead + strings.ReplaceAll(`[services.N.actions]
organization = "a"
credential = "t"
labels = ["x"]
base_url = "http://ghes.example.com"
`, "N", "a") + strings.ReplaceAll(`[services.N.actions]
organization = "a"
credential = "t"
labels = ["x"]
base_url = "https://github.com"
`, "N", "b"), []string{
			`a.toml:7:12: services.a.actions.base_url: does not begin with https://, and a token would cross the network in clear (write the server's own address: "https://github.example.com")`,
			"a.toml:12:12: services.b.actions.base_url: github.com needs no base_url (leave it out)",
		}},
		{"an address with a password", pool + "base_url = \"https://me:secret@ghes.example.com\"\n", []string{
			"a.toml:7:12: services.runner.actions.base_url: holds a user or a password (take them out, and store the token as the secret of credential)",
		}},
		{"an address with a path", pool + "base_url = \"https://ghes.example.com/api/v3\"\n", []string{
			`a.toml:7:12: services.runner.actions.base_url: has more than a host (write the server's own address: "https://github.example.com")`,
		}},
		{"labels fold case, as at GitHub (terraform-aws-github-runner#3800)", strings.Replace(pool, `["slipway"]`, `["GPU", "gpu", "", "a b", "macOS", "ARM64", 7]`, 1), []string{
			`a.toml:6:18: services.runner.actions.labels[1]: "gpu" is there already; GitHub does not look at case (keep one)`,
			`a.toml:6:25: services.runner.actions.labels[2]: "" is no label (use letters, digits and . _ - : / + =, at most 100 of them)`,
			`a.toml:6:29: services.runner.actions.labels[3]: "a b" is no label (use letters, digits and . _ - : / + =, at most 100 of them)`,
			"a.toml:6:36: services.runner.actions.labels[4]: the runners are Linux, and jobs that ask for macOS would fail on them (leave it out)",
			"a.toml:6:45: services.runner.actions.labels[5]: the runners of this pool are amd64, and jobs that ask for ARM64 would fail on them (leave it out, or set architecture)",
			`a.toml:6:54: services.runner.actions.labels[6]: must be text, not a whole number (write it in quotes: "7")`,
		}},
		{"no labels match nothing (ARC#1370)", strings.Replace(pool, `["slipway"]`, `[]`, 1), []string{
			`a.toml:6:1: services.runner.actions.labels: is empty: no job would come (write labels = ["slipway"])`,
		}},
		{"numbers", pool + "timeout_minutes = 4\nidle_seconds = 59\nworkspace_size_gib = 1\nmin_replicas = 3\nspare = -1\npriority = 101\n[services.runner]\nreplicas = 2\n", []string{
			"a.toml:7:19: services.runner.actions.timeout_minutes: is 4; it must be from 5 to 7200",
			"a.toml:8:16: services.runner.actions.idle_seconds: is 59; it must be from 60 to 86400",
			"a.toml:9:22: services.runner.actions.workspace_size_gib: is 1; it must be from 2 to 16",
			"a.toml:10:16: services.runner.actions.min_replicas: is 3; it must be from 0 to replicas, which is 2 (write a number of runners, or raise replicas)",
			"a.toml:11:9: services.runner.actions.spare: is -1; it must be from 0 to replicas, which is 2 (write a number of runners, or raise replicas)",
			"a.toml:12:12: services.runner.actions.priority: is 101; it must be from -100 to 100",
		}},
		{"a fixed pool does not scale", pool + "min_replicas = 1\n", []string{
			"a.toml:7:16: services.runner.actions.min_replicas: needs idle_seconds: without it the pool keeps all its runners at all times (write idle_seconds as well: idle_seconds = 300)",
		}},
		{"GitLab's pools do not sleep", gitlabPool + "idle_seconds = 300\nmin_replicas = 1\njobs_credential = \"j\"\nrunner_group_id = 7\ntimeout_minutes = 9\n", []string{
			"a.toml:8:16: services.runner.actions.idle_seconds: is for pools that wake by their jobs, and GitLab tells of none: the pool keeps all its runners at all times (leave it out)",
			"a.toml:9:16: services.runner.actions.min_replicas: is for pools that wake by their jobs, and GitLab tells of none: the pool keeps all its runners at all times (leave it out)",
			"a.toml:10:19: services.runner.actions.jobs_credential: reads jobs and their logs, which are not read from GitLab (leave it out)",
			"a.toml:11:19: services.runner.actions.runner_group_id: is GitHub's (leave it out; labels tell runners apart)",
			"a.toml:12:19: services.runner.actions.timeout_minutes: is 9; it must be from 10 to 7200",
		}},
		{"GitLab's words for scopes", strings.Replace(gitlabPool, `group = "acme/tools"`, "organization = \"acme\"\nproject = \"shop\"\ngroup = \"/acme\"\nbase_url = \"https://gitlab.com\"", 1), []string{
			"a.toml:5:16: services.runner.actions.organization: is GitHub's (write group)",
			"a.toml:6:11: services.runner.actions.project: is set beside group (keep one of the two)",
			`a.toml:6:11: services.runner.actions.project: "shop" is no project's path (write it with its group: "your-group/your-project")`,
			`a.toml:7:9: services.runner.actions.group: "/acme" is no group's path (write it as in its address: https://gitlab.com/your-group/tools is your-group/tools)`,
			"a.toml:8:12: services.runner.actions.base_url: gitlab.com needs no base_url (leave it out)",
		}},
		{"GitLab's tags differ by case", strings.Replace(gitlabPool, `["slipway"]`, `["GPU", "gpu", "gpu"]`, 1), []string{
			`a.toml:7:25: services.runner.actions.labels[2]: "gpu" is there already (keep one)`,
		}},
		{"GitLab's words on GitHub", strings.Replace(pool, `organization = "acme"`, "organization = \"acme\"\nproject = \"acme/shop\"", 1), []string{
			`a.toml:5:11: services.runner.actions.project: is GitLab's (write repository, or forge = "gitlab")`,
		}},
		{"Bitbucket's pools do not sleep", bitbucketPool + "idle_seconds = 300\njobs_credential = \"j\"\nbase_url = \"https://bitbucket.example.com\"\ntimeout_minutes = 9\n", []string{
			"a.toml:8:16: services.runner.actions.idle_seconds: is for pools that wake by their jobs, and Bitbucket tells of none: the pool keeps all its runners at all times (leave it out)",
			"a.toml:9:19: services.runner.actions.jobs_credential: reads jobs and their logs, which are not read from Bitbucket (leave it out)",
			"a.toml:10:12: services.runner.actions.base_url: is for servers of one's own, and there are no runners but on Bitbucket Cloud (leave it out)",
			"a.toml:11:19: services.runner.actions.timeout_minutes: is 9; it must be from 10 to 7200",
		}},
		{"Bitbucket's words for scopes", strings.Replace(bitbucketPool, `workspace = "acme"`, "group = \"acme\"\nworkspace = \"a/b\"\nrepository = \"shop\"", 1), []string{
			"a.toml:5:9: services.runner.actions.group: is GitLab's (write workspace)",
			`a.toml:6:13: services.runner.actions.workspace: "a/b" is no workspace's name (write it as in its address: https://bitbucket.org/your-workspace)`,
			"a.toml:7:14: services.runner.actions.repository: is set beside workspace (keep one of the two)",
			`a.toml:7:14: services.runner.actions.repository: "shop" is no repository's name (write it with its workspace: "your-workspace/your-repository")`,
		}},
		{"Bitbucket's labels", strings.Replace(bitbucketPool, `["slipway"]`, `["GPU", "linux.shell", "linux.arm64", "my.gpu"]`, 1), []string{
			`a.toml:7:11: services.runner.actions.labels[0]: "GPU" is no label of Bitbucket (use lower-case letters, digits and dots)`,
			"a.toml:7:18: services.runner.actions.labels[1]: the runners have Docker and are amd64, and steps that ask for linux.shell would fail on them (leave it out, or set architecture)",
			"a.toml:7:33: services.runner.actions.labels[2]: the runners have Docker and are amd64, and steps that ask for linux.arm64 would fail on them (leave it out, or set architecture)",
		}},
		{"a repository of Bitbucket's", strings.Replace(bitbucketPool, `workspace = "acme"`, `repository = "acme/shop"`, 1), nil},
		{"Bitbucket's words on GitHub", strings.Replace(pool, `organization = "acme"`, "organization = \"acme\"\nworkspace = \"acme\"", 1), []string{
			`a.toml:5:13: services.runner.actions.workspace: is Bitbucket's (write organization, or forge = "bitbucket")`,
		}},
		{"a forge that is none", strings.Replace(gitlabPool, `"gitlab"`, `"gitea"`, 1), []string{
			`a.toml:4:9: services.runner.actions.forge: "gitea" is no forge of runner pools (write "github", "gitlab" or "bitbucket")`,
		}},
		{"no labels mean jobs without tags on GitLab", strings.Replace(gitlabPool, `["slipway"]`, `[]`, 1), nil},
		{"what is not built yet, or nobody's here", pool + "capacity = \"aws-spot\"\nspot_retries = 2\ncache = true\n", []string{
			"a.toml:7:12: services.runner.actions.capacity: this slipway runs its runners as pods of the cluster, and machines of a cloud are not built yet (leave it out)",
			"a.toml:8:16: services.runner.actions.spot_retries: it is for runners on machines of a cloud, which are not built yet (leave it out)",
			"a.toml:9:9: services.runner.actions.cache: caches are set up in the workflow; every job begins with an empty disk (leave it out, and use actions/cache, or the cache of a setup action)",
		}},
		{"where it runs", pool + "architecture = \"x86\"\nnode_name = \"Node 1\"\n[services.runner]\nsize = \"computer\"\n", []string{
			`a.toml:7:16: services.runner.actions.architecture: "x86" is no architecture of a runner (write "amd64" or "arm64")`,
			`a.toml:8:13: services.runner.actions.node_name: "Node 1" is no node's name (write it as kubectl get nodes does)`,
			`a.toml:10:8: services.runner.size: "computer" is no size (did you mean compute?)`,
		}},
		{"amounts that are none", pool + "[services.runner.resources]\nrequests = { cpu = \"250 m\", memory = \"1GB\" }\nlimits = { cpu = 0, memory = true }\n", []string{
			`a.toml:8:20: services.runner.resources.requests.cpu: "250 m" is no amount of it (write "250m", 0.25 or 2)`,
			`a.toml:8:38: services.runner.resources.requests.memory: "1GB" is no amount of it (write "1024Mi" or "4Gi")`,
			`a.toml:9:18: services.runner.resources.limits.cpu: "0" is no amount of it (write "250m", 0.25 or 2)`,
			`a.toml:9:30: services.runner.resources.limits.memory: must be text, not true or false (write "1024Mi" or "4Gi")`,
		}},
		{"too little for a runner", pool + "[services.runner.resources]\nrequests = { cpu = \"199m\", memory = \"767Mi\" }\nlimits = { memory = \"4095Mi\" }\n", []string{
			`a.toml:8:20: services.runner.resources.requests.cpu: is less than 200m, which the runner, its Docker daemon and its sandbox need (write "200m" or more)`,
			`a.toml:8:37: services.runner.resources.requests.memory: is less than 768Mi, which the runner, its Docker daemon and its sandbox need (write "768Mi" or more)`,
			`a.toml:9:21: services.runner.resources.limits.memory: is less than 4Gi, with which jobs and their images begin to fit (write "4Gi" or more)`,
		}},
		{"more reserved than the size allows", pool + "[services.runner.resources.requests]\ncpu = 3\n", []string{
			"a.toml:8:7: services.runner.resources.requests.cpu: is 3, more than the limit of 2 (reserve less, or raise resources.limits.cpu)",
		}},
		{"schedules", pool + "idle_seconds = 60\n[[services.runner.actions.schedules]]\ndays = [\"mon\", \"Monday\", \"MON\"]\nfrom = \"8:00\"\nto = 2026-01-01\ntime_zone = \"Local\"\n", []string{
			"a.toml:8:27: services.runner.actions.schedules[0]: changes nothing (write min_replicas, spare or both)",
			`a.toml:9:16: services.runner.actions.schedules[0].days[1]: "Monday" is no day (write mon, tue, wed, thu, fri, sat or sun)`,
			"a.toml:9:26: services.runner.actions.schedules[0].days[2]: mon is there already (keep one)",
			`a.toml:10:8: services.runner.actions.schedules[0].from: "8:00" is no time of the day (write hours and minutes: "08:00")`,
			`a.toml:11:6: services.runner.actions.schedules[0].to: must be text, not a date or time (write "08:00")`,
			`a.toml:12:13: services.runner.actions.schedules[0].time_zone: "Local" is no time zone (write a name of the time zone database: "Europe/Rome")`,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseApplication([]byte(tc.src), "a.toml")
			if d := cmp.Diff(faultsOf(t, err), tc.want); d != "" {
				t.Errorf("got, want (-, +):\n%s", d)
			}
		})
	}
}

// World: pure. The reference's own two files, and what they come to.
func TestParseApplicationReadsAPool(t *testing.T) {
	t.Parallel()
	got, err := ParseApplication([]byte(`schema_version = 1
name = "team-actions"
[services.runner]
size = "compute"
replicas = 2
[services.runner.actions]
organization = "your-team"
credential = "github-runner-token"
labels = ["slipway"]
timeout_minutes = 60
`), "a.toml")
	if err != nil {
		t.Fatal(describe(err))
	}
	want := slipway.ApplicationSpec{SchemaVersion: 1, Name: "team-actions", Services: map[string]slipway.RunnerService{"runner": {
		Size: "compute", Replicas: 2, Resources: runnerSizes["compute"], Actions: slipway.RunnerActions{
			Organization: "your-team", Credential: "github-runner-token", Labels: []string{"slipway"},
			Architecture: slipway.AMD64, TimeoutMinutes: 60, WorkspaceGiB: 2,
		},
	}}}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}
	if got.Kind() != slipway.RunnerApplication {
		t.Errorf("it is a %s application", got.Kind())
	}
}

// World: pure.
func TestTwoSpellingsOfAnAmountAreOne(t *testing.T) {
	t.Parallel()
	read := func(cpu, memory string) slipway.ServiceQuantities {
		t.Helper()
		s, err := ParseApplication([]byte(pool+"[services.runner.resources.requests]\ncpu = "+cpu+"\nmemory = "+memory+"\n"), "a.toml")
		if err != nil {
			t.Fatalf("%s, %s: %s", cpu, memory, describe(err))
		}
		return s.Services["runner"].Resources.Requests
	}
	for _, tc := range []struct {
		cpu, memory string
		want        slipway.ServiceQuantities
	}{
		{`"250m"`, `"1024Mi"`, slipway.ServiceQuantities{CPU: "250m", Memory: "1Gi"}},
		{`0.25`, `"1Gi"`, slipway.ServiceQuantities{CPU: "250m", Memory: "1Gi"}},
		{`"0.250"`, `1073741824`, slipway.ServiceQuantities{CPU: "250m", Memory: "1Gi"}},
		{`2`, `"1.5Gi"`, slipway.ServiceQuantities{CPU: "2", Memory: "1536Mi"}},
		{`"2000m"`, `"1G"`, slipway.ServiceQuantities{CPU: "2", Memory: "1000000000"}},
	} {
		if got := read(tc.cpu, tc.memory); got != tc.want {
			t.Errorf("%s, %s is %+v, want %+v", tc.cpu, tc.memory, got, tc.want)
		}
	}
}

// World: pure.
func TestThePlanOfAPoolReadsWell(t *testing.T) {
	t.Parallel()
	before, err := ParseApplication([]byte(pool+"idle_seconds = 300\n"), "a.toml")
	if err != nil {
		t.Fatal(describe(err))
	}
	after, err := ParseApplication([]byte(strings.NewReplacer(`["slipway"]`, `["slipway", "gpu"]`, `"token"`, `"new-token"`).Replace(pool)+
		"cache = false\nidle_seconds = 300\n[[services.runner.actions.schedules]]\nfrom = \"08:00\"\nto = \"18:00\"\ndays = [\"fri\", \"mon\"]\nspare = 1\n[services.runner]\nsize = \"compute\"\n"), "a.toml")
	if err != nil {
		t.Fatal(describe(err))
	}
	want := []DiffLine{
		{"services.runner.actions.credential", "secret token", "secret new-token"},
		{"services.runner.actions.labels", "slipway", "slipway, gpu"},
		{"services.runner.actions.schedules[0]", "", "mon fri 08:00–18:00 UTC: spare 1"},
		{"services.runner.resources.limits.cpu", "2", "4"},
		{"services.runner.resources.limits.memory", "4Gi", "8Gi"},
		{"services.runner.resources.requests.cpu", "1", "2"},
		{"services.runner.resources.requests.memory", "2Gi", "4Gi"},
		{"services.runner.size", "standard", "compute"},
	}
	if d := cmp.Diff(Diff(before, after), want); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}
}

// World: pure.
func TestAnotherWorkspaceIsAChange(t *testing.T) {
	t.Parallel()
	before, err := ParseApplication([]byte(bitbucketPool), "a.toml")
	if err != nil {
		t.Fatal(err)
	}
	after, err := ParseApplication([]byte(strings.Replace(bitbucketPool, `"acme"`, `"other"`, 1)), "a.toml")
	if err != nil {
		t.Fatal(err)
	}
	if d := Diff(before, after); !slices.Equal(d, []DiffLine{{"services.runner.actions.workspace", "acme", "other"}}) {
		t.Errorf("the plan says %+v", d)
	}
}

// World: pure. Every pool in examples/ is read, and fits the schema.
func TestOurPoolsAreRead(t *testing.T) {
	t.Parallel()
	schema := compileContract(t, contract.ApplicationSchema)
	files, err := filepath.Glob("../../examples/pools/*.toml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d examples of pools, %v", len(files), err)
	}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseApplication(src, f)
		if err != nil {
			t.Error(describe(err))
			continue
		}
		if s.Kind() != slipway.RunnerApplication {
			t.Errorf("%s is a %s application", f, s.Kind())
		}
		root, _ := parseTOML(src, f)
		if err := schema.Validate(asJSON(t, root)); err != nil {
			t.Errorf("%s: the schema says %v", f, err)
		}
	}
}

// World: pure. The schema, by which editors help, refuses what the parser does.
func TestTheSchemaKnowsWhatEachForgeHas(t *testing.T) {
	t.Parallel()
	schema := compileContract(t, contract.ApplicationSchema)
	for _, tc := range []struct {
		src string
		ok  bool
	}{
		{bitbucketPool, true},
		{strings.Replace(bitbucketPool, `workspace = "acme"`, `repository = "acme/shop.x"`, 1), true},
		{strings.Replace(bitbucketPool, `["slipway"]`, `[]`, 1), true},
		{strings.Replace(bitbucketPool, `["slipway"]`, `["GPU"]`, 1), false},
		{strings.Replace(bitbucketPool, `workspace = "acme"`, `group = "acme"`, 1), false},
		{bitbucketPool + "repository = \"acme/shop\"\n", false},
		{bitbucketPool + "idle_seconds = 300\n", false},
		{bitbucketPool + "timeout_minutes = 9\n", false},
		{bitbucketPool + "base_url = \"https://git.example.com\"\n", false},
		{gitlabPool + "workspace = \"acme\"\n", false},
		{pool + "workspace = \"acme\"\n", false},
		{strings.Replace(pool, `organization = "acme"`, `repository = "a.b/shop"`, 1), false},
		{strings.Replace(pool, `organization = "acme"`, `repository = "acme/shop"`, 1), true},
	} {
		root, faults := parseTOML([]byte(tc.src), "a.toml")
		if len(faults) > 0 {
			t.Fatal(faults)
		}
		_, parsed := ParseApplication([]byte(tc.src), "a.toml")
		if err := schema.Validate(asJSON(t, root)); (err == nil) != tc.ok || (parsed == nil) != tc.ok {
			t.Errorf("want ok %t; the schema says %v, the parser %v:\n%s", tc.ok, err, parsed, tc.src)
		}
	}
}

var anyService = rapid.Custom(func(t *rapid.T) slipway.RunnerService {
	size := rapid.SampledFrom([]string{"small", "standard", "compute", "large"}).Draw(t, "size")
	s := slipway.RunnerService{Size: size, Resources: runnerSizes[size], Replicas: rapid.IntRange(1, maxRunners).Draw(t, "replicas")}
	if rapid.Bool().Draw(t, "own amounts") {
		s.Resources.Requests.CPU = cpuText(rapid.Int64Range(minCPU, 1000).Draw(t, "cpu"))
		s.Resources.Limits.Memory = memoryText(rapid.Int64Range(maxMemory/2, maxMemory).Draw(t, "memory"))
	}
	if s.Resources.Limits.CPU == "1" && s.Resources.Requests.CPU == "1" {
		s.Resources.Limits.CPU = "2"
	}
	a := slipway.RunnerActions{
		Organization: "acme", Credential: anyName.Draw(t, "credential"), Labels: []string{"a", "B"},
		Architecture:   rapid.SampledFrom([]slipway.Architecture{slipway.AMD64, slipway.ARM64}).Draw(t, "architecture"),
		TimeoutMinutes: rapid.IntRange(minTimeout, maxTimeout).Draw(t, "timeout"), WorkspaceGiB: rapid.IntRange(minWorkspace, maxWorkspace).Draw(t, "workspace"),
		Priority: rapid.IntRange(-maxPriority, maxPriority).Draw(t, "priority"),
	}
	if rapid.Bool().Draw(t, "bitbucket") {
		a.Forge, a.Organization, a.Labels, a.TimeoutMinutes = slipway.Bitbucket, "", []string{"a", "b.2"}, max(a.TimeoutMinutes, minStepTimeout)
		if rapid.Bool().Draw(t, "repository") {
			a.Repository = "acme/shop.x"
		} else {
			a.Workspace = "acme"
		}
		s.Actions = a
		return s
	}
	if rapid.Bool().Draw(t, "gitlab") {
		a.Forge, a.Organization, a.TimeoutMinutes = slipway.GitLab, "", max(a.TimeoutMinutes, minGitLabTimeout)
		if rapid.Bool().Draw(t, "project") {
			a.Project = "acme/tools/shop.x"
		} else {
			a.Group = "acme/tools"
		}
		s.Actions = a
		return s
	}
	if rapid.Bool().Draw(t, "repository") {
		a.Organization, a.Repository = "", "acme/shop.x"
	} else {
		a.RunnerGroupID = rapid.Int64Range(0, 9).Draw(t, "group")
	}
	if rapid.Bool().Draw(t, "sleeps") {
		a.IdleSeconds = rapid.IntRange(minIdle, maxIdle).Draw(t, "idle")
		a.MinReplicas = rapid.IntRange(0, s.Replicas).Draw(t, "min")
		for range rapid.IntRange(0, 2).Draw(t, "windows") {
			spare := rapid.IntRange(0, s.Replicas).Draw(t, "spare")
			a.Schedules = append(a.Schedules, slipway.RunnerSchedule{Days: []string{"mon", "sun"}, From: "08:00", To: "00:00", TimeZone: "Asia/Tokyo", Spare: &spare})
		}
	}
	s.Actions = a
	return s
})

// World: pure.
func TestAPoolSurvivesItsForms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := slipway.ApplicationSpec{SchemaVersion: 1, Name: "ci", Services: map[string]slipway.RunnerService{
			"one": anyService.Draw(t, "one"), "two": anyService.Draw(t, "two"),
		}}
		stored, err := DecodeCanonical(Canonical(s))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(stored, s); d != "" {
			t.Errorf("through JSON: got, want (-, +):\n%s", d)
		}
		text, err := FormatApplication(s)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := ParseApplication(text, "a.toml")
		if err != nil {
			t.Fatalf("%s\n%s", describe(err), text)
		}
		if d := cmp.Diff(parsed, s); d != "" {
			t.Errorf("through TOML: got, want (-, +):\n%s\n%s", d, text)
		}
		other := slipway.ApplicationSpec{SchemaVersion: 1, Name: "ci", Services: map[string]slipway.RunnerService{"one": anyService.Draw(t, "other")}}
		if len(Diff(s, other)) == 0 {
			t.Error("a pool that is gone makes no difference")
		}
	})
}

// World: pure.
func TestPool(t *testing.T) {
	t.Parallel()
	two, none := 2, 0
	got := Pool(slipway.RunnerService{Size: "compute", Replicas: 4, Resources: runnerSizes["compute"], Actions: slipway.RunnerActions{
		Repository: "acme/shop", BaseURL: "https://ghes.example.com", Credential: "t", JobsCredential: "j", Labels: []string{"x"}, Architecture: slipway.ARM64,
		NodeName: "n", TimeoutMinutes: 90, WorkspaceGiB: 8, IdleSeconds: 300, MinReplicas: 1, Spare: 1, Priority: 3,
		Schedules: []slipway.RunnerSchedule{
			{Days: []string{"mon", "sat", "sun"}, From: "08:00", To: "18:00", TimeZone: "UTC", MinReplicas: &two},
			{Days: []string{"fri"}, From: "18:00", To: "08:00", TimeZone: "Asia/Tokyo", Spare: &none},
		},
	}})
	want := slipway.PoolSpec{
		Scope: slipway.ForgeScope{BaseURL: "https://ghes.example.com", Owner: "acme", Repository: "shop"}, Credential: "t", JobsCredential: "j",
		Labels: []string{"x"}, Architecture: slipway.ARM64, Replicas: 4, Minimum: 1, Spare: 1, Idle: 5 * time.Minute, Timeout: 90 * time.Minute, Priority: 3,
		Resources:    slipway.RunnerResources{CPURequest: 2000, CPULimit: 4000, MemoryRequest: 4 << 30, MemoryLimit: 8 << 30},
		WorkspaceGiB: 8, NodeName: "n", Schedules: []slipway.PoolSchedule{
			{Days: []time.Weekday{time.Monday, time.Saturday, time.Sunday}, From: "08:00", To: "18:00", TimeZone: "UTC", Minimum: 2, Spare: 1},
			{Days: []time.Weekday{time.Friday}, From: "18:00", To: "08:00", TimeZone: "Asia/Tokyo", Minimum: 1, Spare: 0},
		},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}
	organization := Pool(slipway.RunnerService{Actions: slipway.RunnerActions{Organization: "acme", RunnerGroupID: 42}})
	if want := (slipway.ForgeScope{Owner: "acme", Group: 42}); organization.Scope != want {
		t.Errorf("the scope is %+v, want %+v", organization.Scope, want)
	}
	for _, tc := range []struct {
		actions slipway.RunnerActions
		want    slipway.ForgeScope
	}{
		{slipway.RunnerActions{Forge: slipway.GitLab, Group: "acme/tools"}, slipway.ForgeScope{Forge: slipway.GitLab, Owner: "acme/tools"}},
		{slipway.RunnerActions{Forge: slipway.GitLab, Project: "acme/tools/shop"}, slipway.ForgeScope{Forge: slipway.GitLab, Owner: "acme/tools", Repository: "shop"}},
	} {
		got := Pool(slipway.RunnerService{Actions: tc.actions})
		if got.Scope != tc.want || !got.Fixed() {
			t.Errorf("the scope is %+v, want %+v; fixed %t", got.Scope, tc.want, got.Fixed())
		}
	}
}

func TestRunnerSizes(t *testing.T) {
	t.Parallel()
	var got []string
	for _, size := range RunnerSizes() {
		got = append(got, size.Name+" "+size.Requests.Memory)
	}
	if d := cmp.Diff(got, []string{"small 1Gi", "standard 2Gi", "compute 4Gi", "large 8Gi"}); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}
}
