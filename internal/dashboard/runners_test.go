package dashboard

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/joblog"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// forgeOfTests is a forge that has one log, of job 500.
type forgeOfTests struct{}

func (forgeOfTests) Steps(_ context.Context, _ slipway.RunnerPool, j slipway.Job) ([]joblog.Step, error) {
	if j.ID != 500 {
		return nil, slipway.Errorf(slipway.Unavailable, "GitHub did not answer in time").WithHint("ask again")
	}
	at := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	return []joblog.Step{
		{Number: 1, Name: "Set up job", Status: "completed", Conclusion: "success", StartedAt: at, EndedAt: at.Add(2 * time.Second)},
		{Number: 2, Name: "Run <b>tests</b>\x1b[31m", Status: "completed", Conclusion: "failure", StartedAt: at.Add(2 * time.Second), EndedAt: at.Add(90 * time.Second)},
		{Number: 3, Name: "Publish", Status: "completed", Conclusion: "skipped"},
		{Number: 4, Name: "Odd", Status: "completed", Conclusion: "neutral"},
		{Number: 5, Name: "Post", Status: "in_progress", StartedAt: at},
		{Number: 6, Name: "Complete job", Status: "queued"},
	}, nil
}

func (forgeOfTests) Log(_ context.Context, _ slipway.RunnerPool, j slipway.Job, _ int64) (io.ReadCloser, error) {
	if j.ID != 500 {
		return nil, slipway.Errorf(slipway.NotFound, "GitHub has no log of this job")
	}
	return io.NopCloser(strings.NewReader("2026-12-01T12:00:00Z <b>first</b>\n" + strings.Repeat("2026-12-01T12:00:01Z more\n", 700) + "\x1b[31mlast error\x1b[0m\n")), nil
}

// runners makes a runner application with pools of up to ten runners each, that are busy
// with slots of them all, and as many jobs that run and wait.
func (w *world) runners(name string, pools, slots int) (a slipway.Application) {
	w.Helper()
	ctx := context.Background()
	w.write(func(tx *store.Tx) error {
		e, err := tx.EnvironmentByName(ctx, "shop", "dev")
		if err != nil {
			return err
		}
		if a, err = tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: name, Kind: slipway.RunnerApplication}); err != nil {
			return err
		}
		for i := range pools {
			p, err := tx.PutRunnerPool(ctx, slipway.RunnerPool{ApplicationID: a.ID, Service: fmt.Sprintf("runner-%03d", i), Spec: slipway.PoolSpec{
				Scope: slipway.ForgeScope{Owner: "acme"}, Credential: "github-token", Labels: []string{fmt.Sprintf("slipway-%d", i)}, Architecture: slipway.AMD64,
				Replicas: 10, Idle: 5 * time.Minute, Timeout: time.Hour,
			}}, false)
			if err != nil {
				return err
			}
			if err := tx.SetPoolStatus(ctx, slipway.PoolStatus{
				PoolID: p.ID, State: slipway.PoolFull, Why: "jobs wait; all runners are taken", Demand: 1, CheckedAt: tx.Now, Generation: p.Generation, ListedAt: tx.Now, Ledger: slipway.Ledger{CheckedAt: tx.Now},
			}); err != nil {
				return err
			}
			for n := range slots / pools {
				if err := busySlot(ctx, tx, p, i, n); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return a
}

// busySlot makes a slot that runs a job, and a job that waits for one like it.
func busySlot(ctx context.Context, tx *store.Tx, p slipway.RunnerPool, pool, n int) error {
	s, err := tx.CreateSlot(ctx, slipway.Slot{PoolID: p.ID, Generation: 1, Scope: p.Spec.Scope, Credential: "github-token", Runner: fmt.Sprintf("slipway-%d-%05d", p.ID, n)})
	if err != nil {
		return err
	}
	id := int64(1000 + 1000*pool + 2*n)
	for _, next := range []slipway.SlotState{slipway.SlotRegistering, slipway.SlotLaunching, slipway.SlotStarting, slipway.SlotIdle, slipway.SlotBusy} {
		from := s.State
		s.State, s.RegisteredAt, s.StartedAt, s.OnlineAt, s.BusyAt, s.Job, s.Node, s.Seen = next, tx.Now, tx.Now, tx.Now, tx.Now, id, "node-1", "it runs"
		if err := tx.UpdateSlot(ctx, s, from); err != nil {
			return err
		}
	}
	for i, state := range []slipway.JobState{slipway.JobRunning, slipway.JobQueued} {
		j := slipway.Job{
			Host: slipway.GitHubHost, ID: id + int64(i), RunID: id, Attempt: 1, Owner: "acme", Repository: "shop", Name: "test", Workflow: "CI",
			Labels: []string{"self-hosted", p.Spec.Labels[0]}, State: state, QueuedAt: tx.Now.Add(-time.Minute), URL: "https://github.com/acme/shop/actions/runs/1/job/2",
		}
		if state == slipway.JobRunning {
			j.Runner, j.StartedAt = s.Runner, tx.Now
		}
		if _, err := tx.PutJob(ctx, j, 0); err != nil {
			return err
		}
	}
	return nil
}

// TestRunnersAreShownLive stands on a real SQLite database.
func TestRunnersAreShownLive(t *testing.T) {
	t.Parallel()
	w := settled(t)
	a := w.runners("team-ci", 1, 10)
	kurt := w.as("kurt")
	path := applicationAddress(a)
	page := kurt.page(path)
	text := page.text()
	for _, want := range []string{
		"Pool runner-000", "Full", "Jobs wait; all runners are taken", "0 pods without a slot, 0 registrations without a slot, checked",
		"20 jobs", "10 open slots", "All 10 runners of the pool shop/dev/team-ci/runner-000 are taken; the longest, slipway-1-00000, is busy since", "runs on slipway-1-00003",
		"registering 0.0 s", "for acme", "self-hosted, linux, X64, slipway-0", "to zero after 5 min",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	if got := kurt.page("/runners").text(); !strings.Contains(got, "team-ci/runner-000") || !strings.Contains(got, "nothing") {
		t.Errorf("the list of pools says\n%s", got)
	}
	if got := kurt.page("/applications").text(); !strings.Contains(got, "– 1 runner pool") {
		t.Errorf("the list of applications says\n%s", got)
	}

	// A pool that is fixed is not said to sleep.
	_, pool := w.poolNamed("team-ci")
	w.write(func(tx *store.Tx) error {
		fixed := pool
		fixed.Spec.Idle = 0
		_, err := tx.PutRunnerPool(context.Background(), fixed, false)
		return err
	})
	if facts := kurt.page(path).one(t, ".box .facts").text(); !strings.Contains(facts, "never sleeps: a fixed pool of 10 runners") || strings.Contains(facts, "sleeps a") || strings.Contains(facts, "to zero") {
		t.Errorf("a fixed pool's line says %q", facts)
	}

	// The page hears of a slot that moves, and shows it.
	wakes, end := kurt.listen(page.one(t, "#wake").get("hx-sse:connect"))
	defer end()
	expect(t, wakes, "the first wake", true)
	ctx := context.Background()
	w.write(func(tx *store.Tx) error {
		s, err := tx.SlotByRunner(ctx, "slipway-1-00000")
		if err != nil {
			return err
		}
		s.State, s.Failure, s.Reason = slipway.SlotDraining, "", "its job ended"
		return tx.UpdateSlot(ctx, s, slipway.SlotBusy)
	})
	expect(t, wakes, "a wake by a slot that moves", true)
	if row := kurt.page(path).one(t, "#slot-1").text(); !strings.Contains(row, "Draining") || !strings.Contains(row, "its job ended") {
		t.Errorf("the slot's line says %q", row)
	}

	// Nothing is told of pools elsewhere.
	confined := w.withToken(slipway.ReadOnly, "shop", "production")
	if got := confined.get(path).status; got != http.StatusNotFound {
		t.Errorf("a token of production reads dev's pools: %d", got)
	}
	if got := confined.page("/runners").text(); strings.Contains(got, "team-ci") {
		t.Errorf("a token of production sees %s", got)
	}
}

// withEndedJobs puts two jobs of the pool runner-000 on record that have ended. The forge
// of these tests knows 500 alone.
func (w *world) withEndedJobs() {
	w.Helper()
	ctx := context.Background()
	w.write(func(tx *store.Tx) error {
		for _, id := range []int64{500, 501} {
			if _, err := tx.PutJob(ctx, slipway.Job{
				Host: slipway.GitHubHost, ID: id, RunID: 5, Attempt: 1, Owner: "acme", Repository: "shop", Name: "nightly", Labels: []string{"slipway-0"},
				State: slipway.JobCompleted, Conclusion: "failure", QueuedAt: tx.Now, StartedAt: tx.Now, EndedAt: tx.Now, URL: "javascript:alert(1)",
			}, 0); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestAJobShowsItsSteps stands on a real SQLite database, with a forge of this test. The
// page of the job itself asks no forge.
func TestAJobShowsItsSteps(t *testing.T) {
	t.Parallel()
	w := settled(t)
	w.runners("team-ci", 1, 10)
	w.withEndedJobs()
	kurt := w.as("kurt")
	if page := kurt.page("/jobs/github.com/500"); !page.has("#steps-completed") || strings.Contains(page.text(), "Set up job") {
		t.Errorf("the job's page: %s", page.text())
	}
	if page := kurt.page("/jobs/github.com/31337"); page.has("#steps-completed") {
		t.Error("steps are offered of a job that nobody heard of")
	}
	steps := kurt.page("/jobs/github.com/500/steps").one(t, "#steps").text()
	for _, want := range []string{"Set up job", "Done", "2.0 s", "Run <b>tests</b>", "Failed", "Skipped", "neutral", "Runs", "Waits"} {
		if !strings.Contains(steps, want) {
			t.Errorf("no %q in the steps: %s", want, steps)
		}
	}
	if strings.Contains(steps, "\x1b") {
		t.Errorf("a control sequence came through: %q", steps)
	}
	away := kurt.get("/jobs/github.com/501/steps")
	if text := away.doc.one(t, "#steps").text(); away.status != http.StatusServiceUnavailable || !strings.Contains(text, "GitHub did not answer in time") {
		t.Errorf("a forge that is away: %d %s", away.status, text)
	}
	if got := kurt.get("/jobs/github.com/31337/steps"); got.status != http.StatusNotFound {
		t.Errorf("the steps of no job: %d", got.status)
	}
}

// TestAJobSaysWhyAndShowsItsLog stands on a real SQLite database, with a forge of this test.
func TestAJobSaysWhyAndShowsItsLog(t *testing.T) {
	t.Parallel()
	w := settled(t)
	w.runners("team-ci", 1, 10)
	w.withEndedJobs()
	kurt := w.as("kurt")
	page := kurt.page("/jobs/github.com/1001")
	if text := page.text(); !strings.Contains(text, "All 10 runners of the pool") || !strings.Contains(text, "acme/shop") || page.has("a[href=/jobs/github.com/1001/log]") {
		t.Errorf("a job that waits: %s", text)
	}
	if text := kurt.page("/jobs/github.com/31337").text(); !strings.Contains(text, "Nothing was heard of it, and no connection receives deliveries of github.com") {
		t.Errorf("a job that nobody heard of: %s", text)
	}
	done := kurt.page("/jobs/github.com/500")
	if !done.has("a[href=/jobs/github.com/500/log]") || strings.Contains(done.text(), "javascript:") {
		t.Errorf("a job that has ended: %s", done.text())
	}
	log := kurt.page("/jobs/github.com/500/log")
	if text := log.text(); !strings.Contains(text, "<b>first</b>") || strings.Contains(text, "last error") || !log.has("a[rel=next]") {
		t.Errorf("the first lines: %.300s", text)
	}
	if text := kurt.page("/jobs/github.com/500/log?after=500").text(); !strings.Contains(text, "last error") {
		t.Errorf("the last lines: %.300s", text)
	}
	found := kurt.page("/jobs/github.com/500/log?search=ERROR").text()
	if !strings.Contains(found, "702 last error") && !strings.Contains(found, "702") || strings.Contains(found, "more") {
		t.Errorf("searched: %s", found)
	}
	if text := kurt.page("/jobs/github.com/500/log?search=nowhere").text(); !strings.Contains(text, "None of 702 lines has “nowhere” in it") {
		t.Errorf("searched in vain: %s", text)
	}
	for path, status := range map[string]int{
		"/jobs/github.com/501/log": http.StatusNotFound, "/jobs/github.com/31337/log": http.StatusNotFound, "/jobs/github.com/x": http.StatusNotFound,
		"/jobs/github.com/500/log?after=x": http.StatusUnprocessableEntity, "/jobs/github.com/500/log?search=" + strings.Repeat("x", 201): http.StatusUnprocessableEntity,
	} {
		if got := kurt.get(path); got.status != status {
			t.Errorf("GET %.60s: %d %s, want %d", path, got.status, got.doc.text(), status)
		}
	}
}

// TestConnectionsAreShown stands on a real SQLite database.
func TestConnectionsAreShown(t *testing.T) {
	t.Parallel()
	w := settled(t)
	kurt, ctx := w.as("kurt"), context.Background()
	if got := kurt.page("/connections").text(); !strings.Contains(got, "No forge sends to this installation yet") {
		t.Errorf("without a connection the page says %s", got)
	}
	w.write(func(tx *store.Tx) error {
		c, err := tx.CreateConnection(ctx, slipway.Connection{Name: "acme", Forge: "github", Hook: "unguessable"}, store.ConnectionSecrets{Hook: []byte("sealed")})
		if err != nil {
			return err
		}
		d := slipway.Delivery{ConnectionID: c.ID, GUID: "guid-1", Event: "workflow_job", Action: "queued", Outcome: slipway.DeliveryTaken, JobID: 77, Size: 4096}
		if err := tx.AddDeliveries(ctx, []slipway.Delivery{d}); err != nil {
			return err
		}
		if err := tx.ConnectionHeard(ctx, c.ID, tx.Now); err != nil {
			return err
		}
		return tx.ConnectionRecovered(ctx, c.ID, "GitHub refused the key")
	})
	list, one := kurt.page("/connections"), kurt.page("/connections/acme")
	for _, want := range []string{"acme", "github.com", "the whole installation", "GitHub refused the key", "just now"} {
		if !strings.Contains(list.text(), want) {
			t.Errorf("the list does not say %q: %s", want, list.text())
		}
	}
	if text := one.text(); !strings.Contains(text, "workflow_job queued") || !strings.Contains(text, "guid-1") || !one.has("a[href=/jobs/github.com/77]") {
		t.Errorf("the connection's page says %s", text)
	}
	if strings.Contains(list.text()+one.text(), "unguessable") {
		t.Error("a page shows the address of a hook to readers")
	}
	confined := w.withToken(slipway.ReadOnly, "shop", "dev")
	if got := confined.get("/connections/acme").status; got != http.StatusNotFound {
		t.Errorf("a token of dev reads the installation's connection: %d", got)
	}
}

// BenchmarkRunnerPages stands in the world of a real SQLite database with 100 pools and
// 1,000 slots, all busy, and 2,000 jobs of which half wait; the budget is 50 ms and 200 KB.
//
//	go test ./internal/dashboard -run xxx -bench RunnerPages
func BenchmarkRunnerPages(b *testing.B) {
	w := settled(b)
	app := w.runners("team-ci", 100, 1000)
	one := w.runners("one-pool", 1, 10)
	who := w.as("ada")
	for _, path := range []string{"/runners", applicationAddress(app), applicationAddress(one), "/jobs/github.com/1001"} {
		b.Run(path, func(b *testing.B) {
			var size int
			for b.Loop() {
				size = who.fetch(b, path)
			}
			b.ReportMetric(float64(size), "bytes/page")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/page")
			if size > 200<<10 {
				b.Errorf("the page has %d bytes, want at most 200 KB", size)
			}
		})
	}
}
