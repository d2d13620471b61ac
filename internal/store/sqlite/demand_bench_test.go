package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
)

// BenchmarkQueuedJobs measures what a look of a pool pays when a great many jobs wait.
func BenchmarkQueuedJobs(b *testing.B) {
	const jobs = 50_000
	db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "slipway.db"), sqlite.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if err := db.InTx(b.Context(), func(tx *store.Tx) error {
		var words []store.JobWord
		for i := range jobs {
			words = append(words, store.JobWord{Job: slipway.Job{
				Host: slipway.GitHubHost, ID: int64(i + 1), RunID: int64(i / 3), Attempt: 1, Owner: "Acme", Repository: fmt.Sprint("app-", i%20),
				Name: "test (linux, 1.26)", Workflow: "CI", Branch: "main", URL: "https://github.com/Acme/app/actions/runs/1/job/2", Labels: []string{"self-hosted", "slipway"},
				State: slipway.JobQueued, QueuedAt: tx.Now.Add(-time.Duration(i) * time.Millisecond),
			}})
		}
		_, err := tx.PutJobs(b.Context(), words)
		return err
	}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := db.Read(b.Context(), func(tx *store.Tx) error {
			got, err := tx.QueuedJobs(b.Context(), slipway.GitHubHost, "acme")
			if err == nil && len(got) != jobs {
				err = fmt.Errorf("%d jobs are queued", len(got))
			}
			return err
		}); err != nil {
			b.Fatal(err)
		}
	}
}
