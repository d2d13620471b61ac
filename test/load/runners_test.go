//go:build load

package load

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"slipway.dev/slipway/internal/client"
	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/fake"
	"slipway.dev/slipway/internal/store/postgres/postgrestest"
	"slipway.dev/slipway/internal/wire"
	"slipway.dev/slipway/test/world"
)

// TestMain ends the PostgreSQL that a measurement started.
func TestMain(m *testing.M) { postgrestest.Main(m) }

// TestRunnerBudgets measures deliveries and the way from one to its pod, and prints them.
// World: real server, SQLite and Debian's PostgreSQL, real cluster; the forge is the fake,
// and the sender of deliveries shares the machine with the server.
func TestRunnerBudgets(t *testing.T) {
	var table []row
	for _, db := range []string{"SQLite", "PostgreSQL"} {
		t.Run(db, func(t *testing.T) {
			f := world.NewForge(t)
			f.AddRepository(forge.Repository{Owner: "team", Name: "app"})
			w := world.Prepare(t)
			flags := []string{"--config", w.Write("slipway.toml", f.Configuration())}
			if db == "PostgreSQL" {
				flags = append(flags, "--database", postgrestest.DSN(t))
			}
			server := w.Launch("data", flags...)
			w.Up(server)
			w.SetUp("data")
			w.Write("github", "github_pat_0123456789abcdefghijKLMNOP")
			w.MustIn("github", "secrets", "set", "github-token", "-e", w.Env)
			var made wire.ConnectionSecret
			if err := json.Unmarshal([]byte(w.Must("connections", "create", "team", "-e", w.Env, "--base-url", f.URL, "-o", "json")), &made); err != nil {
				t.Fatal(err)
			}
			if task := w.Deploy(poolSpec(f.URL)); task.State != "succeeded" {
				t.Fatal(world.Summary(task))
			}
			add := func(what, budget, format string, args ...any) {
				table = append(table, row{db + ": " + what, budget, fmt.Sprintf(format, args...)})
			}

			took := podRequests(t, w, f, made)
			add("delivery to pod request, idle pool", "p99 under 250 ms", "median %s, worst %s of %d", median(took), slices.Max(took).Round(time.Millisecond), len(took))

			// Demand without runners: what is measured is the taking of deliveries, with the
			// pool that they wake.
			w.Must("runners", "pause", "team-ci", "-e", w.Env)
			s := &sender{url: made.Connection.WebhookURL, secret: []byte(made.Secret), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}, Timeout: time.Minute}}
			const burst = 50_000
			began := time.Now()
			s.send(t, burst, 128, 0)
			rate := float64(burst) / time.Since(began).Seconds()
			add("signed deliveries of 8 KB to a durable 2xx, burst of 50,000", "5,000/s", "%.0f/s; the server then has %d MiB", rate, residentMiB(t, server.PID()))
			paced := s.send(t, 10_000, 64, time.Second/1000)
			slices.Sort(paced)
			add("the same at 1,000/s", "p99 under 50 ms", "median %s, p99 %s", paced[len(paced)/2].Round(100*time.Microsecond), paced[len(paced)*99/100].Round(100*time.Microsecond))
			w.Must("applications", "delete", "team-ci", "-e", w.Env, "--yes", "--wait")
		})
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "\nwhat\tbudget\tmeasured")
	for _, r := range table {
		fmt.Fprintf(out, "%s\t%s\t%s\n", r.what, r.budget, r.measured)
	}
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
}

func poolSpec(baseURL string) string {
	return fmt.Sprintf(`schema_version = 1
name = "team-ci"
[services.runner]
size = "small"
replicas = 1
[services.runner.actions]
base_url = %q
organization = "team"
credential = "github-token"
labels = ["slipway"]
idle_seconds = 60
`, baseURL)
}

// podRequests measures, job by job, from the moment a job is queued to the moment its pod
// was asked for.
func podRequests(t *testing.T, w *world.World, f *world.Forge, made wire.ConnectionSecret) (took []time.Duration) {
	t.Helper()
	apps, _, err := w.API.Applications(t.Context(), client.ApplicationFilter{Name: "team-ci"}, client.Page{})
	if err != nil || len(apps) != 1 {
		t.Fatal(apps, err)
	}
	f.Deliver("team", "", made.Connection.WebhookURL, made.Secret)
	for range 10 {
		queued := time.Now()
		job := f.Start(forge.Repository{Owner: "team", Name: "app"}, fake.JobSpec{Name: "test", Labels: []string{"self-hosted", "slipway"}, Script: []string{"echo done"}})[0]
		if j := f.Ended(t, job, 3*time.Minute); j.Conclusion != "success" {
			t.Fatalf("%+v", j)
		}
		world.Eventually(t, 2*time.Minute, "the runner is gone", func() (bool, string) {
			a, err := w.API.Actions(t.Context(), apps[0].ID, 0)
			if err != nil || a.SlotsAll > 0 || len(a.Closed) == 0 || a.Closed[0].Started == nil {
				return false, fmt.Sprint(err)
			}
			took = append(took, a.Closed[0].Started.Sub(queued))
			return true, ""
		})
	}
	return took
}

// sender signs and sends deliveries.
type sender struct {
	url    string
	secret []byte
	client *http.Client
	next   atomic.Int64
}

// send sends n deliveries of as many jobs, by so many at once, one every pause when it is
// not zero, and returns how long each took to be answered.
func (s *sender) send(t *testing.T, n, at int, pause time.Duration) []time.Duration {
	t.Helper()
	took := make([]time.Duration, n)
	var index atomic.Int64
	var failed atomic.Int64
	began := time.Now()
	var all sync.WaitGroup
	for range at {
		all.Go(func() {
			for {
				i := int(index.Add(1)) - 1
				if i >= n {
					return
				}
				if due := began.Add(time.Duration(i) * pause); pause > 0 {
					time.Sleep(time.Until(due))
				}
				sent := time.Now()
				if err := s.one(t.Context(), 1_000_000+s.next.Add(1)); err != nil && failed.Add(1) == 1 {
					t.Error(err)
				}
				took[i] = time.Since(sent)
			}
		})
	}
	all.Wait()
	if k := failed.Load(); k > 0 {
		t.Fatalf("%d of %d deliveries were not taken", k, n)
	}
	return took
}

// filler brings a delivery to the size that GitHub's have.
var filler = strings.Repeat("x", 7000)

func (s *sender) one(ctx context.Context, job int64) error {
	now := time.Now().UTC().Format(time.RFC3339)
	body := fmt.Appendf(nil, `{"action":"queued","workflow_job":{"id":%d,"run_id":%d,"run_attempt":1,"status":"queued","name":"test","labels":["self-hosted","slipway"],`+
		`"created_at":%q,"started_at":%q,"completed_at":null,"conclusion":null,"runner_id":null,"runner_name":null,"runner_group_id":null,"html_url":"https://github.com/team/app/actions/runs/1/job/%d"},`+
		`"repository":{"id":7,"name":"app","owner":{"login":"team"},"description":%q},"organization":{"login":"team"},"sender":{"login":"octocat"}}`, job, job/3, now, now, job, filler)
	mac := hmac.New(sha256.New, s.secret)
	mac.Write(body)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "workflow_job")
	r.Header.Set("X-GitHub-Delivery", fmt.Sprintf("%08x-0000-4000-8000-%012x", job, job))
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	resp, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("a delivery was answered %s: %s", resp.Status, text)
	}
	return err
}
