package application

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// World: a database, and a cluster that only remembers what it was asked.
func TestSpacesOfRunnersAreKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.runners(slipway.InstallTask)
	f := newFake()
	keep := func(ctx context.Context, no error) error {
		r := New(Config{Store: b.store, Queue: b.queue, Journal: b.journal, Cluster: f, NoCluster: no})
		f.did = nil
		_, err := r.KeepSpaces(ctx, 1)
		return err
	}
	kept := []string{fmt.Sprintf("keep 1 pools in demo-dev-runners-%d", b.app.ID)}
	b.must(keep(t.Context(), nil))
	if len(f.did) != 0 {
		t.Errorf("before its first change: %q", f.did)
	}
	b.run(f)
	b.must(keep(t.Context(), nil))
	if !slices.Equal(f.did, kept) {
		t.Errorf("the cluster was asked %q, want %q", f.did, kept)
	}
	f.refuses = errors.New("no right to do so")
	b.must(keep(t.Context(), nil)) // said in the log; the others are kept all the same
	f.refuses = nil
	b.must(keep(t.Context(), errors.New("no cluster")))
	if len(f.did) != 0 {
		t.Errorf("without a cluster: %q", f.did)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := keep(stopped, nil); err == nil {
		t.Error("a process that is being stopped called its round done")
	}
	b.must(b.store.InTx(t.Context(), func(tx *store.Tx) error { return tx.MarkApplicationDeleted(t.Context(), b.app.ID) }))
	b.must(keep(t.Context(), nil))
	if len(f.did) != 0 {
		t.Errorf("after its end: %q", f.did)
	}
}
