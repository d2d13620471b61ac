package dashboard

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// BenchmarkPages stands in the world of a real SQLite database with 1,000 applications.
// Each iteration is one page over HTTP, with its sign-in judged anew; the budget is 50 ms.
//
//	go test ./internal/dashboard -run xxx -bench Pages
func BenchmarkPages(b *testing.B) {
	w := settled(b)
	app := w.applications(1000)
	t, _ := w.running(app)
	who := w.as("ada")
	for _, path := range []string{
		"/applications", "/applications?in=many%2Fenv-3&state=running", applicationAddress(app), "/tasks", taskAddress(t.ID), "/drivers", "/drivers/guestbook/1.0.0", "/users", "/tokens", "/audit",
	} {
		b.Run(path, func(b *testing.B) {
			var size int
			for b.Loop() {
				r := who.fetch(b, path)
				size = r
			}
			b.ReportMetric(float64(size), "bytes/page")
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/page")
		})
	}
}

func (b *browser) fetch(t testing.TB, path string) (size int) {
	t.Helper()
	res, err := b.client.Get(b.server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d", path, res.StatusCode)
	}
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// applications makes many, in ten environments, each with an open task or a stopped
// component now and then, and returns the last.
func (w *world) applications(n int) (a slipway.Application) {
	w.Helper()
	for e := range 10 {
		w.environment("many", fmt.Sprintf("env-%d", e))
	}
	ctx := context.Background()
	w.write(func(tx *store.Tx) error {
		for i := range n {
			e, err := tx.EnvironmentByName(ctx, "many", fmt.Sprintf("env-%d", i%10))
			if err != nil {
				return err
			}
			if a, err = tx.CreateApplication(ctx, slipway.Application{EnvironmentID: e.ID, Name: fmt.Sprintf("guestbook-%04d", i), Kind: slipway.DriverApplication}); err != nil {
				return err
			}
			s := slipway.ApplicationSpec{SchemaVersion: 1, Name: a.Name, Driver: slipway.DriverRef{Name: "guestbook", Version: "1.0.0"}, App: slipway.AppRef{Version: "1.0.0"}}
			for rev := int64(1); rev <= 3; rev++ {
				s.App.Version = fmt.Sprintf("1.%d.0", rev)
				if _, err := tx.CreateRevision(ctx, slipway.Revision{ApplicationID: a.ID, Number: rev, Spec: s, DriverDigest: sampleDriver.Digest, CreatedBy: "ada"}); err != nil {
					return err
				}
				c, err := tx.CreateChange(ctx, slipway.Change{ApplicationID: a.ID, Kind: slipway.UpgradeChange, Revision: rev, RequestedBy: "ada"})
				if err != nil {
					return err
				}
				if err := tx.SetApplicationWanted(ctx, a.ID, rev-1, rev, c.Number); err != nil {
					return err
				}
				t, err := tx.CreateTask(ctx, slipway.Task{Kind: slipway.UpgradeTask, Title: "upgrade " + a.Name, ApplicationID: a.ID, ChangeID: c.ID, RequestedBy: "ada"})
				if err != nil {
					return err
				}
				if rev == 3 && i%5 == 0 {
					continue // it waits
				}
				epoch, err := tx.ClaimTask(ctx, t.ID, "replica")
				if err != nil {
					return err
				}
				if err := tx.FinishTask(ctx, t.ID, epoch, store.TaskEnd{State: slipway.Succeeded}); err != nil {
					return err
				}
			}
			if i%7 == 0 {
				if err := tx.SetComponentStopped(ctx, a.ID, "worker", 1); err != nil {
					return err
				}
			}
			if err := tx.SetApplicationApplied(ctx, a.ID, store.Applied{Revision: 3, AppVersion: "1.3.0", DriverName: "guestbook", DriverVersion: "1.0.0"}); err != nil {
				return err
			}
			if err := tx.SetApplicationState(ctx, a.ID, slipway.AppRunning, ""); err != nil {
				return err
			}
		}
		return nil
	})
	return a
}
