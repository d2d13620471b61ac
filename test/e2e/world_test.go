//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/wire"
)

// root is the repository, seen from this folder.
const root = "../.."

// binary builds slipway once, unless SLIPWAY_TEST_BIN names a built one.
var binary = sync.OnceValues(func() (string, error) {
	if built := os.Getenv("SLIPWAY_TEST_BIN"); built != "" {
		return built, nil
	}
	out, err := filepath.Abs(filepath.Join(root, "bin", "slipway"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", out, "./cmd/slipway")
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build slipway: %w\n%s", err, text)
	}
	return out, nil
})

// kubeconfig is that of the real cluster.
func kubeconfig(t testing.TB) string {
	t.Helper()
	path := os.Getenv("SLIPWAY_TEST_KUBECONFIG")
	if path == "" {
		dir := os.Getenv("SLIPWAY_CLUSTER_DIR")
		if dir == "" {
			dir = "/var/lib/slipway-test-cluster"
		}
		path = filepath.Join(dir, "kubeconfig")
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("these tests need the real cluster; start it with test/cluster/cluster.sh up: %v", err)
	}
	return path
}

// venv is the Python environment of actions.
func venv(t testing.TB) string {
	t.Helper()
	path := os.Getenv("SLIPWAY_TEST_VENV")
	if path == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			t.Fatal(err)
		}
		path = filepath.Join(cache, "slipway", "python")
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("these tests need the Python environment; make it with  slipway python install --python-venv %s: %v", path, err)
	}
	return path
}

// world is one installation for one test.
type world struct {
	t   testing.TB
	bin string
	dir string
	env string // demo-<name>/dev: a project of its own for each test
	url string
	api *client.Client

	servers []*process
}

// process is one slipway server.
type process struct {
	cmd  *exec.Cmd
	log  string
	url  string
	done chan struct{}
}

// newWorld starts one server over SQLite, with an administrator, a project and an
// environment. Options change the server's flags.
func newWorld(t testing.TB, flags ...string) *world {
	w := prepare(t)
	w.start("data", flags...)
	w.setUp("data")
	return w
}

func prepare(t testing.TB) *world {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(strings.NewReplacer("Test", "", "/", "-", "_", "-").Replace(t.Name()))
	if len(name) > 20 {
		name = name[:20]
	}
	w := &world{t: t, bin: bin, dir: dir, env: strings.TrimRight("e2e-"+name, "-") + "/dev"}
	t.Cleanup(w.close)
	return w
}

// start runs a server with a data directory of the world, and waits until it is ready.
func (w *world) start(data string, flags ...string) *process {
	w.t.Helper()
	p := w.launch(data, flags...)
	w.ready(p)
	return p
}

func (w *world) launch(data string, flags ...string) *process {
	w.t.Helper()
	port := freePort(w.t)
	args := append([]string{
		"server", "--data-dir", filepath.Join(w.dir, data), "--listen", fmt.Sprintf("127.0.0.1:%d", port),
		"--kubernetes-kubeconfig", kubeconfig(w.t), "--python-venv", venv(w.t), "--actions-image-wait", "20s",
	}, flags...)
	p := &process{
		cmd: exec.Command(w.bin, args...), done: make(chan struct{}),
		log: filepath.Join(w.dir, fmt.Sprintf("server-%d.log", len(w.servers)+1)), url: fmt.Sprintf("http://127.0.0.1:%d", port),
	}
	out, err := os.Create(p.log)
	if err != nil {
		w.t.Fatal(err)
	}
	defer out.Close()
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir}
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // a killed server has an error, and that is what was asked for
		close(p.done)
	}()
	w.servers = append(w.servers, p)
	w.url = p.url
	return p
}

// ready waits until the server takes requests and its Prefect answers.
func (w *world) ready(p *process) {
	w.t.Helper()
	eventually(w.t, 4*time.Minute, "the server and its Prefect are ready", func() (bool, string) {
		select {
		case <-p.done:
			w.t.Fatalf("the server ended:\n%s", tail(p.log))
		default:
		}
		resp, err := http.Get(p.url + "/readyz")
		if err != nil {
			return false, err.Error()
		}
		defer resp.Body.Close()
		var now struct {
			Ready   bool
			Actions string
		}
		if err := json.NewDecoder(resp.Body).Decode(&now); err != nil {
			return false, err.Error()
		}
		return now.Ready && (now.Actions == "ready" || now.Actions == ""), now.Actions
	})
}

// setUp makes the administrator and the place that the tests work in.
func (w *world) setUp(data string) {
	w.t.Helper()
	w.write("password", "correct horse battery staple\n")
	w.mustIn("password", "setup", "--server", w.url, "--secret-file", filepath.Join(w.dir, data, "setup-secret"), "--username", "admin", "--password-stdin")
	token := strings.TrimSpace(w.must("tokens", "create", "e2e", "-o", "json"))
	var made struct{ Value string }
	if err := json.Unmarshal([]byte(token), &made); err != nil || made.Value == "" {
		w.t.Fatalf("tokens create answered %q: %v", token, err)
	}
	w.connect(made.Value)
	project, _, _ := strings.Cut(w.env, "/")
	w.must("projects", "create", project)
	w.must("environments", "create", w.env)
	w.write("secret", "a-password-of-the-tests\n")
	w.mustIn("secret", "secrets", "set", "guestbook-db", "-e", w.env)
}

func (w *world) connect(token string) {
	c, err := client.New(client.Options{URL: w.url, Token: token})
	if err != nil {
		w.t.Fatal(err)
	}
	w.api = c
	w.write("token", token)
}

// kill ends a server with SIGKILL.
func (w *world) kill(p *process) {
	w.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		w.t.Fatal(err)
	}
	<-p.done
}

// close ends the servers, and what they left running for a next start that will not come.
func (w *world) close() {
	if w.t.Failed() {
		for _, p := range w.servers {
			w.t.Logf("%s:\n%s", filepath.Base(p.log), tail(p.log))
		}
	}
	w.removeApplications()
	for _, p := range w.servers {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
		case <-time.After(40 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	}
	_ = exec.Command("pkill", "-KILL", "-f", w.dir).Run() // nobody left is the usual answer
}

// removeApplications takes what a test deployed off the cluster, which outlives the test.
func (w *world) removeApplications() {
	namespace := strings.ReplaceAll(w.env, "/", "-")
	w.kubectl("delete", "namespace", namespace, "--ignore-not-found", "--wait=false")
}

// run runs the command line and returns what it printed, and its exit code.
func (w *world) run(stdin string, args ...string) (stdout, stderr string, code int) {
	ctx, stop := context.WithTimeout(context.Background(), 6*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, w.bin, args...)
	cmd.Dir = root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "NO_COLOR=1"}
	if token, err := os.ReadFile(filepath.Join(w.dir, "token")); err == nil {
		cmd.Env = append(cmd.Env, "SLIPWAY_URL="+w.url, "SLIPWAY_TOKEN="+string(token))
	}
	if stdin != "" {
		in, err := os.Open(filepath.Join(w.dir, stdin))
		if err != nil {
			w.t.Fatal(err)
		}
		defer in.Close()
		cmd.Stdin = in
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		w.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func (w *world) must(args ...string) string { w.t.Helper(); return w.mustIn("", args...) }

func (w *world) mustIn(stdin string, args ...string) string {
	w.t.Helper()
	out, errs, code := w.run(stdin, args...)
	if code != 0 {
		w.t.Fatalf("slipway %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

func (w *world) write(name, content string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// deploy asks for a spec and waits for the end of its task.
func (w *world) deploy(source string) wire.Task {
	w.t.Helper()
	task := w.accept(source)
	return w.wait(task.ID)
}

func (w *world) accept(source string) wire.Task {
	w.t.Helper()
	project, environment, _ := strings.Cut(w.env, "/")
	plan, err := w.api.Plan(w.t.Context(), project, environment, wire.SpecInput{Spec: source})
	if err != nil {
		w.t.Fatal(err)
	}
	a, err := w.api.Deploy(w.t.Context(), project, environment, wire.Deploy{Spec: source, ExpectedRevision: plan.Revision}, "")
	if err != nil {
		w.t.Fatal(err)
	}
	return a.Task
}

// wait returns the task when it is over. It goes on through restarts of the server.
func (w *world) wait(id int64) wire.Task {
	w.t.Helper()
	var task wire.Task
	eventually(w.t, 6*time.Minute, fmt.Sprintf("task %d is over", id), func() (bool, string) {
		got, err := w.api.Task(w.t.Context(), id)
		if err != nil {
			return false, err.Error()
		}
		task = got
		return got.Over(), summary(got)
	})
	return task
}

// summary is a task and its steps on a few lines.
func summary(t wire.Task) string {
	var b strings.Builder
	fmt.Fprintf(&b, "task %d %s: %s %s\n", t.ID, t.Title, t.State, t.Error)
	for _, s := range t.Steps {
		fmt.Fprintf(&b, "  %-10s %s %s\n", s.State, s.Name, s.Error)
		for _, n := range s.Notes {
			fmt.Fprintf(&b, "             note: %s\n", n)
		}
		if s.Output != nil {
			fmt.Fprintf(&b, "             %s\n", strings.Join(s.Output.Tail, "\n             "))
		}
	}
	return b.String()
}

// kubectl asks the real cluster.
func (w *world) kubectl(args ...string) string {
	config := kubeconfig(w.t)
	program := filepath.Join(filepath.Dir(config), "kubectl") // the cluster brings its own
	cmd := exec.Command(program, append([]string{"--kubeconfig", config}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

func eventually(t testing.TB, limit time.Duration, what string, ask func() (bool, string)) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		ok, seen := ask()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s; last seen:\n%s", limit, what, seen)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func tail(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
