//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
	"slipway.dev/slipway/test/world"
)

// rules is one installation whose driver plays scenes: each upgrade is one.
type rules struct {
	*installation
	minor  int
	driver string
}

// spec asks for the next version with a scene.
func (r *rules) spec(scene, gate string, more ...string) (source, version string) {
	r.minor++
	version = fmt.Sprintf("1.%d.0", r.minor)
	source = strings.NewReplacer("VERSION", version, "SCENE", scene, "GATE", gate, "DIARY", r.diary(scene), "DRIVER", r.driver).
		Replace(world.ReadFile(r.T, filepath.Join("testdata", "rules.toml")))
	return source + "\n" + strings.Join(more, "\n"), version
}

func (r *rules) diary(scene string) string { return filepath.Join(r.Dir, "diary-"+scene) }

// said is what the actions of a scene wrote down.
func (r *rules) said(scene string) []string {
	raw, err := os.ReadFile(r.diary(scene))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}

func (r *rules) deploy(scene string, more ...string) wire.Task {
	r.T.Helper()
	source, _ := r.spec(scene, "", more...)
	return r.Deploy(source)
}

// step is the step of a task by its name.
func (r *rules) step(t wire.Task, name string) wire.Step {
	r.T.Helper()
	for _, s := range t.Steps {
		if s.Name == name {
			return s
		}
	}
	r.T.Fatalf("there is no step %q:\n%s", name, world.Summary(t))
	return wire.Step{}
}

// running waits until the action of a scene has written something.
func (r *rules) running(scene, line string) {
	r.T.Helper()
	world.Eventually(r.T, 2*time.Minute, "the action of "+scene+" is there", func() (bool, string) {
		said := r.said(scene)
		return slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, line) }), strings.Join(said, "\n")
	})
}

// change patches a user as the administrator.
func (r *rules) change(user, body string) int {
	r.T.Helper()
	req, err := http.NewRequestWithContext(r.T.Context(), http.MethodPatch, r.URL+"/api/v1/users/"+user, strings.NewReader(body))
	if err != nil {
		r.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+world.ReadFile(r.T, filepath.Join(r.Dir, "token")))
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.T.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func (r *rules) jobs() []string {
	return strings.Fields(r.Kubectl("-n", r.namespace(), "get", "jobs,pods", "-l", "slipway.dev/role=action", "-o", "name"))
}

// TestTheRulesOfHooks plays, one upgrade after the other, what the reference says of hooks,
// primitives and the Job of execute_commands. World: real cluster, real Prefect, SQLite.
func TestTheRulesOfHooks(t *testing.T) {
	r := &rules{installation: newWorld(t), driver: "1.0.0"}
	r.Must("driver", "load", filepath.Join("test", "e2e", "testdata", "rules"))
	ns := r.namespace()
	const core = "Run the upgrade hook"

	// C1.7, C9.5: a setup pre-action runs commands where there is no workload yet.
	install := r.deploy("plain")
	r.wantState(install, "succeeded")
	if want := []string{fmt.Sprintf(`no_workload: the component "web" has no workload in namespace %s yet; a setup pre action cannot copy its environment`, ns)}; !slices.Equal(r.said("plain"), want) {
		t.Errorf("the setup pre-action met %q, want %q", r.said("plain"), want)
	}
	sub := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			old := r.T
			r.T = t
			defer func() { r.T = old }()
			f(t)
		})
	}

	// Retries inside an action: one step, one flow run; each attempt's Job makes room for the
	// next without a line, and of two outputs the last is kept.
	sub("retries inside of an action", func(t *testing.T) {
		task := r.deploy("retries")
		r.wantState(task, "succeeded")
		pre := r.step(task, "Run the upgrade pre-hook")
		want := []string{"An earlier command of this step failed too (Job rules-action); the output is that of the last one"}
		deleted := fmt.Sprintf("Deleted the Job rules-action, left by the install task %d (succeeded ", install.ID)
		got := slices.DeleteFunc(slices.Clone(pre.Notes), func(n string) bool { return strings.HasPrefix(n, deleted) })
		if !slices.Equal(got, want) || len(pre.Notes) != 2 {
			t.Errorf("the notes are %q, want one that begins %q, and %q", pre.Notes, deleted, want)
		}
		if pre.Output == nil || !slices.Equal(pre.Output.Tail, []string{"attempt 2"}) {
			t.Errorf("the output is %+v, want that of the second attempt", pre.Output)
		}
		if len(pre.Runs) != 1 || pre.Runs[0].State != "completed" {
			t.Fatalf("the runs are %+v, want one", pre.Runs)
		}
		// Prefect's own history, at the address that the step links.
		var runs []struct {
			ID       string `json:"id"`
			RunCount int    `json:"run_count"`
		}
		if err := json.Unmarshal(r.prefectFilter("flow_runs"), &runs); err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(runs, func(x struct {
			ID       string `json:"id"`
			RunCount int    `json:"run_count"`
		}) bool {
			return x.ID == pre.Runs[0].FlowRunID
		}); i < 0 || runs[i].RunCount != 3 {
			t.Errorf("Prefect's history of the run is %+v, want three attempts of %s", runs, pre.Runs[0].FlowRunID)
		}
		if !strings.HasSuffix(pre.Runs[0].URL, "/runs/flow-run/"+pre.Runs[0].FlowRunID) {
			t.Errorf("the run's page is %q", pre.Runs[0].URL)
		}
		if shown := r.Must("tasks", "get", fmt.Sprint(task.ID)); !strings.Contains(shown, "action   before in Prefect: "+pre.Runs[0].URL) {
			t.Errorf("tasks get does not link the run:\n%s", shown)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, pre.Runs[0].URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/html")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("the run's page answers %s", resp.Status)
		}
	})

	// C9.11, C9.8, C9.9: the output decides, is kept, cut, and every reader may see it.
	sub("a command that ends well and says that it has failed", func(t *testing.T) {
		task := r.deploy("exit0")
		r.wantState(task, "failed")
		step := r.step(task, core)
		if want := `the command "sh -c seq 1 300; echo FAILED to migrate; seq 1 20; exit 0" ended with exit code 0, but its output matches "(?m)^FAILED\\b" (Job rules-action)`; step.Error != want {
			t.Errorf("the error is\n%s\nwant\n%s", step.Error, want)
		}
		r.Write("reader-password", "another horse battery staple\n")
		r.MustIn("reader-password", "users", "create", "reader", "--role", "read-only", "--password-stdin")
		c, err := client.New(client.Options{URL: r.URL, Token: r.login("reader", "another horse battery staple")})
		if err != nil {
			t.Fatal(err)
		}
		out, err := c.StepOutput(t.Context(), task.ID, step.ID)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.Text, "\n"), "\n")
		if !out.Cut || len(lines) != 200 || lines[0] != "122" || lines[179] != "FAILED to migrate" || lines[199] != "20" {
			t.Errorf("a reader sees %d lines, cut %v, from %q to %q", len(lines), out.Cut, lines[0], lines[len(lines)-1])
		}
		if app := r.application("rules"); app.AppVersion == fmt.Sprintf("1.%d.0", r.minor) {
			t.Error("the version moved all the same")
		}
	})

	// D 37, C9.6, C12.5.
	sub("twenty commands at once", func(t *testing.T) {
		source, _ := r.spec("twenty", "")
		task := r.Accept(source)
		most := 0
		world.Eventually(t, 3*time.Minute, "the twenty have ended", func() (bool, string) {
			most = max(most, len(r.jobs()))
			now, err := r.API.Task(t.Context(), task.ID)
			task = now
			return err == nil && now.Over(), world.Summary(now)
		})
		r.wantState(task, "succeeded")
		refusal := fmt.Sprintf("job_running: the Job rules-action of task %d is still running; wait for it to end and request the change again", task.ID)
		count := map[string]int{}
		for _, line := range r.said("twenty") {
			count[line]++
		}
		if count["None"] != 1 || count[refusal] != 19 || len(count) != 2 {
			t.Errorf("the ends are %v, want 1 that ran and 19 times %q", count, refusal)
		}
		if left := r.jobs(); most > 2 || len(left) != 2 {
			t.Errorf("at most there were %d Jobs and pods of actions, and %q is left; want one Job with its pod", most, left)
		}
	})

	// C3.2: what an administrator does takes effect at the next call, and is said.
	sub("the user of actions is deactivated and made a reader in the middle", func(t *testing.T) {
		for _, tc := range []struct{ off, on, want string }{
			{`{"active":false}`, `{"active":true}`, "the Slipway API refused the action: user slipway-actions is deactivated (an administrator can activate it under Users)"},
			{`{"role":"read-only"}`, `{"role":"read-write"}`, "the Slipway API refused the action: user slipway-actions has the role read-only, and this needs read-write (an administrator can change its role under Users)"},
		} {
			os.Remove(r.diary("refused"))
			source, _ := r.spec("refused", "")
			task := r.Accept(source)
			r.running("refused", "calling")
			if status := r.change("slipway-actions", tc.off); status != http.StatusOK {
				t.Fatalf("%s: status %d", tc.off, status)
			}
			task = r.Wait(task.ID)
			if status := r.change("slipway-actions", tc.on); status != http.StatusOK {
				t.Fatalf("%s: status %d", tc.on, status)
			}
			r.wantState(task, "failed")
			if step := r.step(task, core); step.Error != tc.want {
				t.Errorf("%s: the step's error is\n%s\nwant\n%s", tc.off, step.Error, tc.want)
			}
		}
		for body, why := range map[string]string{`{"role":"administrator"}`: "cannot be an administrator", `{"password":"correct horse battery"}`: "has no password"} {
			if status := r.change("SLIPWAY-Actions", body); status != http.StatusForbidden {
				t.Errorf("%s: status %d, want 403: it %s", body, status, why)
			}
		}
	})

	// C8.1, C8.3: calls by the client are let in under the lock, authenticated as the
	// action, and not linked.
	sub("the client of the API in an action", func(t *testing.T) {
		task := r.deploy("client")
		r.wantState(task, "succeeded")
		want := []string{
			"slipway-actions read-write True True succeeded ['guestbook-db'] True",
			`invalid 422: components: unknown component "wrker"; this driver has: web, worker (name one of: web, worker)`,
		}
		if got := r.said("client"); !slices.Equal(got, want) {
			t.Errorf("the client saw\n%q\nwant\n%q", got, want)
		}
		r.wantLinked(task, core, "Change the version")
		all, _, err := r.API.Tasks(t.Context(), client.TaskFilter{Application: r.application("rules").ID, Root: true}, client.Page{})
		if err != nil {
			t.Fatal(err)
		}
		free := map[string]string{}
		for _, x := range all {
			if x.RootID == task.ID && x.ID != task.ID {
				one, err := r.API.Task(t.Context(), x.ID)
				if err != nil || one.StartedBy != nil {
					t.Errorf("task %d says that it was started by %+v (%v)", x.ID, one.StartedBy, err)
				}
				free[x.Kind] = x.State
			}
		}
		if free["stop-components"] != "succeeded" || free["start-components"] != "succeeded" || len(free) != 2 {
			t.Errorf("the list of tasks has %v of the client's, want a stop and a start that stand for themselves", free)
		}
	})

	// C10.1, C10.2, C9.4: the override and the variables of a configuration that the workload
	// does not have yet; a variable that it removes is still copied.
	sub("an override and a version in one apply", func(t *testing.T) {
		before := r.deploy("plain", "[components.web]", `env = { REMOVED = "still-there", HOST = "db-1" }`)
		r.wantState(before, "succeeded")
		task := r.deploy("override", "[components.web]", `image = "registry.example.com/mine:{{ app.version }}-patched"`, `env = { HOST = "db-2", NEW = "yes" }`)
		r.wantState(task, "failed")
		if want := []string{fmt.Sprintf("registry.example.com/mine:1.%d.0-patched docker.io/local/pause:1", r.minor)}; !slices.Equal(r.said("override"), want) {
			t.Errorf("the images are %q, want %q", r.said("override"), want)
		}
		if out := r.step(task, core).Output; out == nil || !slices.Equal(out.Tail, []string{"db-2 postgres://db-2 still-there yes"}) {
			t.Errorf("the command's environment is %+v", out)
		}
	})

	// C11.1, C11.3, C3.4.
	sub("a crash with the token in its log", func(t *testing.T) {
		task := r.deploy("crash")
		r.wantState(task, "failed")
		got := r.step(task, core).Error
		if !strings.HasPrefix(got, "the action crashed: ") || !strings.Contains(got, "killed by signal 9") || !strings.Contains(got, "First error in its log: refused: <redacted>, or ") {
			t.Errorf("the error is %q", got)
		}
		if strings.Contains(got, "slw_") || strings.Contains(got, base64.StdEncoding.EncodeToString([]byte("user:slw_"))[:10]) || strings.Contains(got, "a second error") {
			t.Errorf("the error says too much: %q", got)
		}
	})

	// C5.6, D 26, D 28.
	sub("a cancelled task ends its action and its Job", func(t *testing.T) {
		source, _ := r.spec("long", "")
		task := r.Accept(source)
		r.running("long", "running")
		world.Eventually(t, time.Minute, "its Job runs", func() (bool, string) {
			left := r.Kubectl("-n", ns, "get", "pods", "-l", fmt.Sprintf("slipway.dev/role=action,slipway.dev/task=%d", task.ID), "--field-selector=status.phase=Running", "-o", "name")
			return left != "", left
		})
		begun := time.Now()
		r.Must("tasks", "cancel", fmt.Sprint(task.ID), "--yes")
		task = r.Wait(task.ID)
		if took := time.Since(begun); task.State != "cancelled" || took > 30*time.Second {
			t.Errorf("%s after the cancel the task is\n%s", took.Round(time.Second), world.Summary(task))
		}
		if step := r.step(task, core); step.State != "cancelled" || step.Runs[0].State != "cancelled" {
			t.Errorf("the step is %s, its run %+v", step.State, step.Runs)
		}
		if left := r.jobs(); len(left) != 0 {
			t.Errorf("%q is left", left)
		}
	})

	// C6.2, C6.3, C6.4, C7.2: a stopped worker has no pod until it is started.
	sub("what is stopped stays stopped through the change of version", func(t *testing.T) {
		gate := filepath.Join(r.Dir, "gate-keeps")
		source, version := r.spec("keeps", gate)
		var changes bytes.Buffer
		watch := r.watchReplicas(&changes)
		task := r.Accept(source)
		world.Eventually(t, 2*time.Minute, "the version is changed", func() (bool, string) {
			now, err := r.API.Task(t.Context(), task.ID)
			return err == nil && r.application("rules").AppVersion == version, world.Summary(now)
		})
		on := r.Kubectl("-n", ns, "get", "deployment", "rules-worker", "-o", "jsonpath={.spec.template.metadata.annotations.version} {.spec.replicas}")
		if on != version+" 0" || len(r.pods("worker")) != 0 {
			t.Errorf("after the change of version the worker has %q and pods %q, want the new version and none", on, r.pods("worker"))
		}
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		task = r.Wait(task.ID)
		watch()
		r.wantState(task, "succeeded")
		r.wantLinked(task, core, "Stop components", "Change the version", "Start components")
		// Each state that the Deployment went through: down, and up at the very end.
		seen := slices.Compact(strings.Fields(changes.String()))
		if !slices.Equal(seen, []string{"2", "0", "2"}) {
			t.Errorf("the worker's replicas went %q, want 2, then 0, then 2", seen)
		}
		if len(r.pods("worker")) != 2 {
			t.Errorf("the worker has %d pods at the end", len(r.pods("worker")))
		}
	})

	// C1.1, C7.1: another version of the driver alone runs the upgrade's hooks, and changes no
	// version.
	sub("another version of the driver alone", func(t *testing.T) {
		dir := filepath.Join(r.Dir, "rules-1.0.1")
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "rules"))); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, "driver.slipway.yml")
		if err := os.WriteFile(file, []byte(strings.Replace(world.ReadFile(t, file), "version: 1.0.0", "version: 1.0.1", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		r.Must("driver", "load", dir)
		r.driver = "1.0.1"
		r.minor-- // the version stays
		task := r.deploy("plain")
		r.wantState(task, "succeeded")
		want := []string{"Check the change", "Run the upgrade pre-hook", core, "Apply the configuration", "Wait until it is ready", "Run the upgrade post-hook"}
		if got := stepNames(task, "succeeded"); !slices.Equal(got, want) {
			t.Errorf("the steps are %q, want %q", got, want)
		}
		if linked := r.step(task, core).Tasks; len(linked) != 0 {
			t.Errorf("a call for the version that is there started %+v", linked)
		}
	})

	// C12.1, C12.2, C12.3.
	sub("a later change overtakes", func(t *testing.T) {
		gate := filepath.Join(r.Dir, "gate-overtaken")
		source, earlier := r.spec("overtaken", gate)
		task := r.Accept(source)
		r.running("overtaken", "core of ")
		later, version := r.spec("plain", "")
		file := r.Write("later.toml", later)
		r.Must("deploy", file, "-e", r.Env, "--now", "--wait")
		cluster := func() string {
			return r.Kubectl("-n", ns, "get", "applications.slipway.dev", "rules", "-o", "jsonpath={.spec} {.metadata.generation}") +
				r.Kubectl("-n", ns, "get", "deployments", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.generation}{\"\\n\"}{end}")
		}
		before := cluster()
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		task = r.Wait(task.ID)
		r.wantState(task, "succeeded")
		number := r.application("rules").LastChange
		want := []string{
			"pre of " + earlier, "core of " + earlier,
			fmt.Sprintf("version_not_supported: a later change (%d) set the version to %s; this upgrade to %s was overtaken", number, version, earlier),
			fmt.Sprintf("post of %s, %s, ", earlier, earlier),
		}
		got := r.said("overtaken")
		for i := range want {
			if i >= len(got) || !strings.HasPrefix(got[i], want[i]) {
				t.Fatalf("the overtaken upgrade's hooks wrote\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		if after := cluster(); after != before {
			t.Errorf("the overtaken upgrade changed the cluster:\n%s\nit was\n%s", after, before)
		}
		if app := r.application("rules"); app.AppVersion != version || app.State != "running" {
			t.Errorf("the application is %s at %s, want %s", app.State, app.AppVersion, version)
		}
	})

	// The Python client outside of an action, against the same server.
	sub("the client of the API in a program", func(t *testing.T) {
		program := exec.CommandContext(t.Context(), venvPython(t), "-c", `
import sys
from slipway.client import Client, ApiError
with Client() as slipway:
    application = slipway.application(sys.argv[1] + "/rules")
    plan = slipway.plan(sys.argv[1], sys.stdin.read())
    done = slipway.stop_components(application.id, ["worker"])
    task = slipway.wait(done.task.id, timeout=120)
    print(application.state, plan.kind, task.type, task.state, task.steps[0].name, slipway.secret_names(sys.argv[1]))
    print(slipway.wait(slipway.start_components(application.id, ["worker"]).task.id).state)
    try:
        slipway.deploy(sys.argv[1], "name = 1", expected_revision=0)
    except ApiError as err:
        print(err.code, err.status, err.fields[0]["line"])
`, r.Env)
		source, _ := r.spec("plain", "")
		program.Stdin = strings.NewReader(source)
		program.Env = []string{"PYTHONPATH=" + filepath.Join(world.Root, "python", "src"), "SLIPWAY_URL=" + r.URL, "SLIPWAY_TOKEN=" + world.ReadFile(t, filepath.Join(r.Dir, "token"))}
		out, err := program.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if want := "running upgrade Stop components succeeded Stop the components ['guestbook-db']\nsucceeded\ninvalid 422 1\n"; string(out) != want {
			t.Errorf("the program printed\n%s\nwant\n%s", out, want)
		}
	})
}

// login gets a token by password.
func (w *installation) login(user, password string) string {
	w.T.Helper()
	body, err := json.Marshal(wire.Login{Username: user, Password: password})
	if err != nil {
		w.T.Fatal(err)
	}
	resp, err := http.Post(w.URL+"/api/v1/login", "application/json", bytes.NewReader(body))
	if err != nil {
		w.T.Fatal(err)
	}
	defer resp.Body.Close()
	var session wire.Session
	if err := json.NewDecoder(resp.Body).Decode(&session); err != nil || session.Token == "" {
		w.T.Fatalf("login as %s: %s, %v", user, resp.Status, err)
	}
	return session.Token
}

// watchReplicas writes down each number of replicas that the worker was to have. The
// returned function ends it.
func (w *installation) watchReplicas(to *bytes.Buffer) (stop func()) {
	w.T.Helper()
	config := world.Kubeconfig(w.T)
	watch := exec.Command(filepath.Join(filepath.Dir(config), "kubectl"), "--kubeconfig", config, "-n", w.namespace(),
		"get", "deployment", "rules-worker", "--watch", "-o", `jsonpath={.spec.replicas}{"\n"}`)
	watch.Stdout = to
	if err := watch.Start(); err != nil {
		w.T.Fatal(err)
	}
	return func() {
		_ = watch.Process.Kill() // it ends no other way
		_ = watch.Wait()
	}
}

func venvPython(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(world.Venv(t), "*-py*", "bin", "python"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no Python in %s: %v", world.Venv(t), err)
	}
	return found[len(found)-1]
}
