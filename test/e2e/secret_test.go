//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"slipway.dev/slipway/test/world"
)

// TestPlantedSecretsAreNowhere deploys with planted values, in a password of the
// application and in what its actions print and log, and then looks for them: in every
// file of the data directory (the database, its log, Prefect's database), in the server's
// log, in Prefect's API, in the API and the pages, and, while it runs, in the arguments of
// every process. World: real cluster, real Prefect, SQLite.
func TestPlantedSecretsAreNowhere(t *testing.T) {
	w := newWorld(t)
	const planted = "pLanted+Secret/9f3c-Value"
	w.Write("secret", planted+"\n")
	w.MustIn("secret", "secrets", "set", "guestbook-db", "-e", w.Env)
	w.Must("driver", "load", filepath.Join("test", "e2e", "testdata", "leaky"))

	// The action writes its token to a file of the test, so that it can be looked for.
	tokenFile := filepath.Join(w.Dir, "token-of-the-action")
	watch := watchProcesses(t, planted, tokenFile)
	install := w.Deploy(strings.Replace(world.ReadFile(t, filepath.Join("testdata", "leaky.toml")), "TOKEN_FILE", tokenFile, 1))
	watch.stop()
	if install.State != "failed" {
		t.Fatalf("the leaky action should fail, so that its error and output are kept:\n%s", world.Summary(install))
	}
	values := map[string]string{"the planted secret": planted, "the administrator's password": "correct horse battery staple", "the test's token": world.ReadFile(t, filepath.Join(w.Dir, "token"))}
	values["the action's token"] = world.ReadFile(t, tokenFile)
	if len(watch.inArgs) > 0 {
		t.Errorf("a secret stood in the arguments of a process: %q", watch.inArgs)
	}

	// The control: what is looked for can be found. The key opens the sealed value, and the
	// Job on the cluster had it.
	step := install.Steps[len(install.Steps)-1]
	output, err := w.API.StepOutput(t.Context(), install.ID, step.ID)
	if err != nil || !strings.Contains(output.Text, "<redacted>") {
		t.Fatalf("the output of the leaky command has nothing masked (%v):\n%s", err, output.Text)
	}

	places := map[string][]byte{}
	for _, path := range w.get("/", "/applications", "/tasks/"+fmt.Sprint(install.ID), "/drivers", "/users", "/tokens", "/audit",
		"/api/v1/tasks/"+fmt.Sprint(install.ID), "/api/v1/audit", "/api/v1/tokens",
		fmt.Sprintf("/api/v1/tasks/%d/steps/%d/output", install.ID, step.ID)) {
		places["page "+path.name] = path.body
	}
	for name, body := range w.prefectObjects() {
		places["Prefect's "+name] = body
	}
	places["the server's log"] = []byte(world.ReadFile(t, w.Servers[0].Log))
	w.eachFile(func(path string, content []byte) { places["file "+path] = content })

	for what, value := range values {
		for form, text := range forms(value) {
			for place, content := range places {
				if bytes.Contains(content, []byte(text)) {
					t.Errorf("%s stands, %s, in %s", what, form, place)
				}
			}
		}
	}
	t.Logf("looked for %d values in %d places", len(values), len(places))
}

// forms writes a value in ways in which it may stand somewhere.
func forms(value string) map[string]string {
	quoted, _ := json.Marshal(value) // a text always encodes
	return map[string]string{
		"as it is": value, "in a URL": url.QueryEscape(value), "in base64": strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value)), "="),
		"in hex": hex.EncodeToString([]byte(value)), "in JSON": strings.Trim(string(quoted), `"`),
	}
}

// eachFile calls f with every file under the data directory, but for those whose business
// the secrets are: the keys themselves and the password that the test typed.
func (w *installation) eachFile(f func(path string, content []byte)) {
	err := filepath.WalkDir(filepath.Join(w.Dir, "data"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil //nolint:nilerr // a file that went meanwhile holds nothing
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		f(strings.TrimPrefix(path, w.Dir+"/"), content)
		return nil
	})
	if err != nil {
		w.T.Fatal(err)
	}
}

type page struct {
	name string
	body []byte
}

// get reads pages as the signed-in administrator, by session for HTML and by token for the
// API.
func (w *installation) get(paths ...string) []page {
	w.T.Helper()
	cookie := w.signIn()
	var out []page
	for _, path := range paths {
		req, err := http.NewRequestWithContext(w.T.Context(), http.MethodGet, w.URL+path, nil)
		if err != nil {
			w.T.Fatal(err)
		}
		req.AddCookie(cookie)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			w.T.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			w.T.Errorf("GET %s: status %d, %v", path, resp.StatusCode, err)
		}
		out = append(out, page{path, body})
	}
	return out
}

func (w *installation) signIn() *http.Cookie {
	w.T.Helper()
	form := url.Values{"name": {"admin"}, "password": {"correct horse battery staple"}}
	req, err := http.NewRequestWithContext(w.T.Context(), http.MethodPost, w.URL+"/sign-in", strings.NewReader(form.Encode()))
	if err != nil {
		w.T.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := stay.Do(req)
	if err != nil {
		w.T.Fatal(err)
	}
	defer resp.Body.Close()
	for _, c := range resp.Cookies() {
		if c.Name == "slipway_session" && c.Value != "" {
			return c
		}
	}
	w.T.Fatalf("signing in gave status %d and no cookie", resp.StatusCode)
	return nil
}

// prefectObjects reads everything that Prefect's own API gives out of runs.
func (w *installation) prefectObjects() map[string][]byte {
	w.T.Helper()
	out := map[string][]byte{}
	for _, noun := range []string{"flow_runs", "flows", "deployments", "logs", "task_runs", "work_pools", "variables", "artifacts"} {
		out[noun] = w.prefectFilter(noun)
	}
	if !bytes.Contains(out["flow_runs"], []byte("leaky")) {
		w.T.Error("Prefect shows no run of the leaky action, so nothing was shown about Prefect")
	}
	return out
}

// prefectFilter reads all objects of one kind from the Prefect that the server started.
func (w *installation) prefectFilter(noun string) []byte {
	w.T.Helper()
	auth := strings.TrimSpace(world.ReadFile(w.T, filepath.Join(w.Dir, "data", "prefect", "auth")))
	var server struct {
		Port int `json:"port"`
	}
	if err := json.Unmarshal([]byte(world.ReadFile(w.T, filepath.Join(w.Dir, "data", "prefect", "server.json"))), &server); err != nil || server.Port == 0 {
		w.T.Fatalf("where Prefect listens: %v", err)
	}
	user, password, _ := strings.Cut(auth, ":")
	req, err := http.NewRequestWithContext(w.T.Context(), http.MethodPost, fmt.Sprintf("http://127.0.0.1:%d/api/%s/filter", server.Port, noun), strings.NewReader("{}"))
	if err != nil {
		w.T.Fatal(err)
	}
	req.SetBasicAuth(user, password)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.T.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.T.Fatalf("Prefect's %s: status %d, %v", noun, resp.StatusCode, err)
	}
	return body
}

// processes watches /proc while a test runs.
type processes struct {
	planted, tokenFile string
	quit               chan struct{}
	done               sync.WaitGroup
	inArgs             []string
}

func watchProcesses(t *testing.T, planted, tokenFile string) *processes {
	t.Helper()
	p := &processes{planted: planted, tokenFile: tokenFile, quit: make(chan struct{})}
	p.done.Go(func() {
		for {
			p.look()
			select {
			case <-p.quit:
				return
			case <-time.After(30 * time.Millisecond):
			}
		}
	})
	return p
}

func (p *processes) look() {
	values := []string{p.planted}
	if token, err := os.ReadFile(p.tokenFile); err == nil && len(token) > 0 {
		values = append(values, string(token))
	}
	found, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is well-formed
	for _, path := range found {
		// A container on this node is the driver's own: what it puts into the arguments of its
		// command is seen there.
		group, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cgroup"))
		if strings.Contains(string(group), "kubepods") || strings.Contains(string(group), "k8s.io") {
			continue
		}
		args, _ := os.ReadFile(path) // its process may have ended
		for _, value := range values {
			if strings.Contains(string(args), value) {
				p.inArgs = append(p.inArgs, strings.ReplaceAll(string(args), "\x00", " "))
			}
		}
	}
}

func (p *processes) stop() {
	close(p.quit)
	p.done.Wait()
}
