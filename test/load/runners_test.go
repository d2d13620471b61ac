//go:build load

package load

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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

			s := &sender{Sender: world.NewSender(t, made.Connection.WebhookURL, made.Secret, "team")}
			pace := func(what string) {
				took := s.send(t, 10_000, 64, time.Second/1000)
				slices.Sort(took)
				add(what, "p99 under 50 ms", "median %s, p99 %s", took[len(took)/2].Round(100*time.Microsecond), took[len(took)*99/100].Round(100*time.Microsecond))
			}
			pace("signed deliveries of 8 KB at 1,000/s")
			const burst = 50_000
			began, ours, its := time.Now(), ownCPU(t), cpuOf(t, server.PID())
			s.send(t, burst, 256, 0)
			rate := burst / time.Since(began).Seconds()
			each := func(d time.Duration) time.Duration { return (d / burst).Round(time.Microsecond) }
			add("the same to a durable 2xx, burst of 50,000", "5,000/s", "%.0f/s; of the processor %s each in the server, %s in the sender beside it; the server then has %d MiB",
				rate, each(cpuOf(t, server.PID())-its), each(ownCPU(t)-ours), residentMiB(t, server.PID()))
			pace("the same at 1,000/s with 60,000 jobs waiting")
			w.Must("applications", "delete", "team-ci", "-e", w.Env, "--yes", "--wait")
		})
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "\nmachine: %d cores, %s, %s; load average at the end %s\n", runtime.NumCPU(), cpu(), runtime.Version(), strings.Join(strings.Fields(world.ReadFile(t, "/proc/loadavg"))[:3], " "))
	fmt.Fprintln(out, "what\tbudget\tmeasured")
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

// sender sends deliveries of one job after the other.
type sender struct {
	*world.Sender
	next atomic.Int64
}

// send sends n deliveries of as many jobs, by so many at once, one every pause when it is
// not zero, and returns how long each took from when it was due to its answer.
func (s *sender) send(t *testing.T, n, at int, pause time.Duration) []time.Duration {
	t.Helper()
	took := make([]time.Duration, n)
	var index atomic.Int64
	began := time.Now()
	errs := make([]error, at)
	var all sync.WaitGroup
	work := func() error {
		line, err := s.Dial()
		if err != nil {
			return err
		}
		defer line.Close()
		for {
			i := int(index.Add(1)) - 1
			if i >= n {
				return nil
			}
			sent := time.Now()
			if pause > 0 {
				sent = began.Add(time.Duration(i) * pause)
				time.Sleep(time.Until(sent))
			}
			status, text, err := line.Send(1_000_000 + s.next.Add(1))
			if err == nil && status != http.StatusOK {
				err = fmt.Errorf("a delivery was answered %d: %s", status, text)
			}
			if err != nil {
				return err
			}
			took[i] = time.Since(sent)
		}
	}
	for i := range errs {
		all.Go(func() { errs[i] = work() })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return took
}

// ownCPU is what this process has used of the processor.
func ownCPU(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cpuOf is what another process has used of it.
func cpuOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	_, rest, _ := strings.Cut(world.ReadFile(t, fmt.Sprintf("/proc/%d/stat", pid)), ") ")
	f := strings.Fields(rest)
	var ticks int64
	for _, i := range []int{11, 12} { // utime and stime
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100) // a tick is that long on every Linux
}
