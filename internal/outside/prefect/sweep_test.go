package prefect

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestASweepCancelsWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := fakeRunner(t, f, "exit 0")
	ours, foreign, young, broken := f.add(Scheduled), f.add(Scheduled), f.add(Scheduled), f.add(Scheduled)
	for _, id := range []string{ours, foreign, broken} {
		f.runs[id].Created = time.Now().Add(-time.Hour)
	}
	know := func(_ context.Context, run FlowRun) (bool, error) { return run.ID != foreign && run.ID != young, nil }
	if err := r.sweep(t.Context(), know); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]StateType{ours: Scheduled, foreign: Cancelled, young: Scheduled} {
		if got := f.state(id).Type; got != want {
			t.Errorf("a run is %s, want %s", got, want)
		}
	}
	// When it is not known whose a run is, nothing happens to it.
	unsure := func(_ context.Context, run FlowRun) (bool, error) { return false, errors.New("the database is away") }
	if err := r.sweep(t.Context(), unsure); err == nil {
		t.Error("sweep() = nil")
	}
	if f.state(broken).Type != Scheduled {
		t.Error("a run was cancelled that may be ours")
	}
}

func TestAPoolThatIsGoneIsMadeAgain(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	r := fakeRunner(t, f, "exit 0")
	for range 2 {
		if err := r.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.mu.Lock()
		f.pools = map[string]bool{} // somebody deletes it in Prefect's pages
		f.mu.Unlock()
	}
}
