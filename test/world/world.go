// Package world starts an installation for a test as an operator would: the built program
// as a process, with a real database, a real Prefect and a real Kubernetes, driven by its
// own command line and client. A part that is missing fails the test; none is faked.
//
// It is for the tests under test/, which say what they look at. It must never be imported
// by the product.
package world

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
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

// Root is the repository, seen from the folders of the tests.
const Root = "../.."

// binary builds slipway once, unless SLIPWAY_TEST_BIN names a built one.
var binary = sync.OnceValues(func() (string, error) {
	if built := os.Getenv("SLIPWAY_TEST_BIN"); built != "" {
		return built, nil
	}
	out, err := filepath.Abs(filepath.Join(Root, "bin", "slipway"))
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", out, "./cmd/slipway")
	cmd.Dir = Root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build slipway: %w\n%s", err, text)
	}
	return out, nil
})

// Kubeconfig is that of the real cluster.
func Kubeconfig(t testing.TB) string {
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

// Venv is the Python environment of actions.
func Venv(t testing.TB) string {
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

// World is one installation for one test.
type World struct {
	T   testing.TB
	bin string

	Dir     string // private to the test
	Env     string // e2e-<name>/dev: a project of its own for each test
	URL     string // of the server that is spoken to
	CAFile  string // trusted beside the system's certificates; empty for plain HTTP
	API     *client.Client
	Servers []*Process // in the order of their starts

	ports map[string]int // by data directory
}

// Process is one slipway server.
type Process struct {
	cmd  *exec.Cmd
	Log  string
	URL  string
	Done chan struct{} // closed when it has ended
}

// New starts one server over SQLite, with an administrator, a project and an environment.
// flags change the server's.
func New(t testing.TB, flags ...string) *World {
	w := Prepare(t)
	w.Start("data", flags...)
	w.SetUp("data")
	return w
}

// Prepare makes a world without a server.
func Prepare(t testing.TB) *World {
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
	// A namespace of its own for each world of each run: an earlier one may still be going.
	name = fmt.Sprintf("%s-%s", strings.TrimRight(name[:min(len(name), 14)], "-"), strings.ToLower(rand.Text()[:6]))
	w := &World{T: t, bin: bin, Dir: dir, Env: "e2e-" + name + "/dev"}
	t.Cleanup(w.close)
	return w
}

// start runs a server with a data directory of the world, and waits until it is ready.
func (w *World) Start(data string, flags ...string) *Process {
	w.T.Helper()
	p := w.Launch(data, flags...)
	w.Ready(p)
	return p
}

func (w *World) Launch(data string, flags ...string) *Process {
	w.T.Helper()
	if w.ports[data] == 0 {
		if w.ports == nil {
			w.ports = map[string]int{}
		}
		w.ports[data] = FreePort(w.T) // and the same again after a restart, as for an operator
	}
	port := w.ports[data]
	args := append([]string{
		"server", "--data-dir", filepath.Join(w.Dir, data), "--listen", fmt.Sprintf("127.0.0.1:%d", port),
		"--kubernetes-kubeconfig", Kubeconfig(w.T), "--python-venv", Venv(w.T), "--actions-image-wait", "20s",
	}, flags...)
	p := &Process{
		cmd: exec.Command(w.bin, args...), Done: make(chan struct{}),
		Log: filepath.Join(w.Dir, fmt.Sprintf("server-%d.log", len(w.Servers)+1)), URL: fmt.Sprintf("http://127.0.0.1:%d", port),
	}
	out, err := os.Create(p.Log)
	if err != nil {
		w.T.Fatal(err)
	}
	defer out.Close()
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir}
	if err := p.cmd.Start(); err != nil {
		w.T.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // a killed server has an error, and that is what was asked for
		close(p.Done)
	}()
	w.Servers = append(w.Servers, p)
	w.URL = p.URL
	return p
}

// ready waits until the server takes requests and its Prefect answers.
func (w *World) Ready(p *Process) {
	w.T.Helper()
	Eventually(w.T, 4*time.Minute, "the server and its Prefect are ready", func() (bool, string) {
		select {
		case <-p.Done:
			w.T.Fatalf("the server ended:\n%s", Tail(p.Log))
		default:
		}
		resp, err := (&http.Client{Transport: w.transport(), Timeout: 10 * time.Second}).Get(p.URL + "/readyz")
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

// Up waits until the server answers; its Prefect may take longer.
func (w *World) Up(p *Process) {
	w.T.Helper()
	Eventually(w.T, time.Minute, "the server answers", func() (bool, string) {
		resp, err := (&http.Client{Transport: w.transport(), Timeout: 10 * time.Second}).Get(p.URL + "/healthz")
		if err != nil {
			return false, err.Error()
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK, resp.Status
	})
}

// setUp makes the administrator and the place that the tests work in.
func (w *World) SetUp(data string) {
	w.T.Helper()
	w.Write("password", "correct horse battery staple\n")
	secret := filepath.Join(w.Dir, data, "setup-secret")
	Eventually(w.T, time.Minute, "the first start has made its secret", func() (bool, string) { // some time after the server answers
		_, err := os.Stat(secret)
		return err == nil, fmt.Sprint(err)
	})
	w.MustIn("password", "setup", "--server", w.URL, "--secret-file", secret, "--username", "admin", "--password-stdin")
	token := strings.TrimSpace(w.Must("tokens", "create", "e2e", "-o", "json"))
	var made struct{ Value string }
	if err := json.Unmarshal([]byte(token), &made); err != nil || made.Value == "" {
		w.T.Fatalf("tokens create answered %q: %v", token, err)
	}
	w.Connect(made.Value)
	project, _, _ := strings.Cut(w.Env, "/")
	w.Must("projects", "create", project)
	w.Must("environments", "create", w.Env)
	w.Write("secret", "a-password-of-the-tests\n")
	w.MustIn("secret", "secrets", "set", "guestbook-db", "-e", w.Env)
}

func (w *World) Connect(token string) {
	c, err := client.New(client.Options{URL: w.URL, Token: token, Transport: w.transport()})
	if err != nil {
		w.T.Fatal(err)
	}
	w.API = c
	w.Write("token", token)
}

// transport trusts CAFile, where there is one.
func (w *World) transport() http.RoundTripper {
	w.T.Helper()
	if w.CAFile == "" {
		return http.DefaultTransport
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(ReadFile(w.T, w.CAFile))) {
		w.T.Fatalf("%s holds no certificate", w.CAFile)
	}
	return &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
}

// kill ends a server with SIGKILL.
func (w *World) Kill(p *Process) {
	w.T.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		w.T.Fatal(err)
	}
	<-p.Done
}

// close ends the servers, and what they left running for a next start that will not come.
func (w *World) close() {
	if w.T.Failed() {
		for _, p := range w.Servers {
			w.T.Logf("%s:\n%s", filepath.Base(p.Log), Tail(p.Log))
		}
	}
	w.removeApplications()
	for _, p := range w.Servers {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.Done:
		case <-time.After(40 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.Done
		}
	}
	_ = exec.Command("pkill", "-KILL", "-f", w.Dir).Run() // nobody left is the usual answer
}

// removeApplications takes what a test deployed off the cluster, which outlives the test.
func (w *World) removeApplications() {
	namespace := strings.ReplaceAll(w.Env, "/", "-")
	gone := []string{"delete", "namespace", namespace, "--ignore-not-found", "--wait=false"}
	for _, ns := range strings.Fields(w.Kubectl("get", "namespaces", "-o", "jsonpath={.items[*].metadata.name}")) {
		if strings.HasPrefix(ns, namespace+"-runners-") { // those of runner applications are their own
			gone = append(gone, ns)
		}
	}
	w.Kubectl(gone...)
}

// run runs the command line and returns what it printed, and its exit code.
func (w *World) Run(stdin string, args ...string) (stdout, stderr string, code int) {
	ctx, stop := context.WithTimeout(context.Background(), 6*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, w.bin, args...)
	cmd.Dir = Root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir, "NO_COLOR=1"}
	if token, err := os.ReadFile(filepath.Join(w.Dir, "token")); err == nil {
		cmd.Env = append(cmd.Env, "SLIPWAY_URL="+w.URL, "SLIPWAY_TOKEN="+string(token))
	}
	if w.CAFile != "" {
		cmd.Env = append(cmd.Env, "SLIPWAY_CA_FILE="+w.CAFile)
	}
	if stdin != "" {
		in, err := os.Open(filepath.Join(w.Dir, stdin))
		if err != nil {
			w.T.Fatal(err)
		}
		defer in.Close()
		cmd.Stdin = in
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if err != nil && cmd.ProcessState == nil {
		w.T.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Shell is bash in a directory, with slipway on its path and logged in as the administrator.
func (w *World) Shell(dir, script string) *exec.Cmd {
	w.T.Helper()
	bin := filepath.Join(w.Dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		w.T.Fatal(err)
	}
	if err := os.Symlink(w.bin, filepath.Join(bin, "slipway")); err != nil && !os.IsExist(err) {
		w.T.Fatal(err)
	}
	cmd := exec.CommandContext(w.T.Context(), "bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + w.Dir, "NO_COLOR=1", "SLIPWAY_URL=" + w.URL,
		"SLIPWAY_TOKEN=" + ReadFile(w.T, filepath.Join(w.Dir, "token")), "SLIPWAY_PYTHON_VENV=" + Venv(w.T),
	}
	return cmd
}

func (w *World) Must(args ...string) string { w.T.Helper(); return w.MustIn("", args...) }

func (w *World) MustIn(stdin string, args ...string) string {
	w.T.Helper()
	out, errs, code := w.Run(stdin, args...)
	if code != 0 {
		w.T.Fatalf("slipway %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

func (w *World) Write(name, content string) string {
	w.T.Helper()
	path := filepath.Join(w.Dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		w.T.Fatal(err)
	}
	return path
}

// deploy asks for a spec and waits for the end of its task.
func (w *World) Deploy(source string) wire.Task {
	w.T.Helper()
	task := w.Accept(source)
	return w.Wait(task.ID)
}

func (w *World) Accept(source string) wire.Task {
	w.T.Helper()
	project, environment, _ := strings.Cut(w.Env, "/")
	plan, err := w.API.Plan(w.T.Context(), project, environment, wire.SpecInput{Spec: source})
	if err != nil {
		w.T.Fatal(err)
	}
	a, err := w.API.Deploy(w.T.Context(), project, environment, wire.Deploy{Spec: source, ExpectedRevision: plan.Revision}, "")
	if err != nil {
		w.T.Fatal(err)
	}
	return a.Task
}

// wait returns the task when it is over. It goes on through restarts of the server.
func (w *World) Wait(id int64) wire.Task {
	w.T.Helper()
	var task wire.Task
	Eventually(w.T, 6*time.Minute, fmt.Sprintf("task %d is over", id), func() (bool, string) {
		got, err := w.API.Task(w.T.Context(), id)
		if err != nil {
			return false, err.Error()
		}
		task = got
		return got.Over(), Summary(got)
	})
	return task
}

// Summary is a task and its steps on a few lines.
func Summary(t wire.Task) string {
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
func (w *World) Kubectl(args ...string) string {
	config := Kubeconfig(w.T)
	program := filepath.Join(filepath.Dir(config), "kubectl") // the cluster brings its own
	cmd := exec.Command(program, append([]string{"--kubeconfig", config}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.T.Logf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// Eventually asks until the answer is yes, and fails the test when the limit is over.
func Eventually(t testing.TB, limit time.Duration, what string, ask func() (bool, string)) {
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

// FreePort is one that nobody listened on a moment ago.
func FreePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // the listener is TCP's
}

// Tail is the end of a file.
func Tail(path string) string {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

// ReadFile reads a file of the test.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// PID is the process's ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }
