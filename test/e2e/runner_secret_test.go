//go:build e2e

package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/wire"
	"slipway.dev/slipway/test/world"
)

// TestSecretsOfRunnersAreNowhere looks for the credential of a pool, the secret of its
// webhook and the configuration of a runner, while the runner has a job and after it: in
// every file of the data directory, in the server's log, in the API and the pages, in what
// the cluster has of the runner, in the job's log, and in the arguments of the processes of
// this machine. World: as newRunners has it.
func TestSecretsOfRunnersAreNowhere(t *testing.T) {
	r := newRunners(t, "idle_seconds = 60")
	values := map[string]string{
		"the credential":                strings.TrimSpace(world.ReadFile(t, r.Dir+"/forge-token")),
		"the webhook's secret":          r.webhookSecret,
		"the administrator's password":  "correct horse battery staple",
		"the token of the command line": world.ReadFile(t, r.Dir+"/token"),
	}
	configFile := r.Dir + "/configuration-of-the-runner"
	watch := watchProcesses(t, values["the credential"], configFile)
	defer watch.stop()

	job := r.queue("env", "echo begun", "sleep 25s")
	a := r.until(2*time.Minute, "the job runs", func(a wire.Actions) bool { return a.Pools[0].Slots["busy"] == 1 })
	// The control: the configuration is in the runner's Secret, and nowhere else.
	config, key := r.configurationOf(a.Slots[0].Runner)
	r.Write("configuration-of-the-runner", config)
	values["the runner's configuration"], values["the runner's key"] = config, key
	r.lookFor(values, "while the job runs", job)
	r.succeeded(job, 2*time.Minute)
	r.nothingLeft(2 * time.Minute)
	r.lookFor(values, "after the job", job)
	if len(watch.inArgs) > 0 {
		t.Errorf("a secret stood in the arguments of a process: %q", watch.inArgs)
	}
	r.deleted()
}

// configurationOf reads the configuration that a runner was given from its Secret, and the
// key in it.
func (r *runners) configurationOf(runner string) (config, key string) {
	r.T.Helper()
	var list struct {
		Items []struct {
			Data map[string][]byte `json:"data"`
		} `json:"items"`
	}
	out := r.Kubectl("get", "secrets", "-n", r.app.Namespace, "-l", "slipway.dev/slot", "-o", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Items) != 1 || len(list.Items[0].Data) != 1 {
		r.T.Fatalf("%d Secrets of runner %s, want one with one key: %v", len(list.Items), runner, err)
	}
	for _, v := range list.Items[0].Data {
		config = string(v)
	}
	var files map[string][]byte
	raw, err := base64.StdEncoding.DecodeString(config)
	if err == nil {
		err = json.Unmarshal(raw, &files)
	}
	var k struct {
		D string `json:"d"`
	}
	if err == nil {
		err = json.Unmarshal(files[".credentials_rsaparams"], &k)
	}
	if err != nil || k.D == "" {
		r.T.Fatalf("the Secret of runner %s holds no configuration: %v", runner, err)
	}
	return config, k.D
}

// lookFor looks for values in every place where they might be.
func (r *runners) lookFor(values map[string]string, when string, job int64) {
	r.T.Helper()
	project, environment, _ := strings.Cut(r.Env, "/")
	at := fmt.Sprintf("/jobs/%s/%d", host(r.forge.URL), job)
	places := map[string][]byte{"the server's log": []byte(world.ReadFile(r.T, r.Servers[len(r.Servers)-1].Log))}
	for _, p := range r.get("/", "/runners", at, "/connections", "/connections/team", "/audit", "/tasks", "/metrics",
		fmt.Sprintf("/applications/%s/%s/team-ci", project, environment), fmt.Sprintf("/applications/%s/%s/team-ci/revisions/1", project, environment),
		fmt.Sprintf("/api/v1/applications/%d/actions", r.app.ID), fmt.Sprintf("/api/v1/applications/%d/actions/slots", r.app.ID),
		"/api/v1"+at, "/api/v1/connections", "/api/v1/connections/team", "/api/v1/connections/team/deliveries", "/api/v1/audit", "/api/v1/runner-pools") {
		places["page "+p.name] = p.body
	}
	for _, kind := range []string{"pods", "configmaps", "events", "networkpolicies", "resourcequotas", "serviceaccounts"} {
		places["the cluster's "+kind] = []byte(r.Kubectl("get", kind, "-n", r.app.Namespace, "-o", "yaml"))
	}
	if j, ok := r.forge.State(job); ok {
		places["the job's log"] = []byte(j.Log)
	}
	for _, args := range [][]string{{"runners", "get", "team-ci", "-e", r.Env}, {"runners", "ledger"}, {"runners", "why", fmt.Sprint(job), "--host", host(r.forge.URL)}} {
		out, errs, _ := r.Run("", args...)
		places["slipway "+strings.Join(args[:2], " ")] = []byte(out + errs)
	}
	r.eachFile(func(path string, content []byte) { places["file "+path] = content })
	for what, value := range values {
		for form, text := range forms(value) {
			for place, content := range places {
				if bytes.Contains(content, []byte(text)) {
					r.T.Errorf("%s stands, %s, in %s %s", what, form, place, when)
				}
			}
		}
	}
	if !bytes.Contains(places["the cluster's pods"], []byte("slipway.dev/slot")) == (when == "while the job runs") {
		r.T.Errorf("%s the cluster's pods are not as expected, so nothing was shown about them", when)
	}
	r.T.Logf("%s: looked for %d values in %d places", when, len(values), len(places))
}
