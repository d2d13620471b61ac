package process_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"slipway.dev/slipway/test/cluster/process"
)

// These tests stand in the real world of processes; they start nothing but sleep and sh.

func newKeeper(t *testing.T) process.Keeper {
	t.Helper()
	dir := t.TempDir()
	return process.Keeper{Records: dir, Logs: dir, Mark: "SLIPWAY_PROCESS_TEST=" + dir}
}

func TestStartFindStop(t *testing.T) {
	t.Parallel()
	keeper := newKeeper(t)
	started, err := keeper.Start(process.Spec{Name: "sleeper", Path: "/bin/sleep", Args: []string{"sleep", "60"}, Fingerprint: "one"})
	if err != nil {
		t.Fatal(err)
	}
	found, alive, err := keeper.Find("sleeper")
	if err != nil || !alive || found != started {
		t.Fatalf("Find() = %+v, %v, %v, want %+v, true, nil", found, alive, err, started)
	}
	if err := keeper.Stop(context.Background(), "sleeper", time.Second); err != nil {
		t.Fatal(err)
	}
	if _, alive, err := keeper.Find("sleeper"); alive || err != nil {
		t.Errorf("after Stop, Find() says alive=%v, %v", alive, err)
	}
	if err := keeper.Stop(context.Background(), "sleeper", time.Second); err != nil {
		t.Errorf("a second Stop() = %v, want nil", err)
	}
}

func TestStopForcesOneThatWillNotListen(t *testing.T) {
	t.Parallel()
	keeper := newKeeper(t)
	record, err := keeper.Start(process.Spec{Name: "deaf", Path: "/bin/sh",
		Args: []string{"sh", "-c", `trap "" TERM; echo ready; while :; do sleep 1; done`}})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return strings.Contains(keeper.LogTail("deaf", 5), "ready") })
	if err := keeper.Stop(context.Background(), "deaf", 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if alive, err := process.Alive(record); alive || err != nil {
		t.Errorf("Alive() = %v, %v after Stop", alive, err)
	}
	if _, err := keeper.Sweep(context.Background()); err != nil { // its last sleep
		t.Error(err)
	}
}

func TestAnotherProcessWithTheSameNumberIsNotTouched(t *testing.T) {
	t.Parallel()
	keeper := newKeeper(t)
	record, err := keeper.Start(process.Spec{Name: "bystander", Path: "/bin/sleep", Args: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string]process.Record{
		"an earlier start": {PID: record.PID, StartTicks: record.StartTicks - 1, BootID: record.BootID},
		"an earlier boot":  {PID: record.PID, StartTicks: record.StartTicks, BootID: "another"},
	} {
		if alive, err := process.Alive(other); alive || err != nil {
			t.Errorf("%s: Alive() = %v, %v, want false, nil", name, alive, err)
		}
	}
	// A stale record on disk: Stop forgets it and leaves the living one alone.
	stale := filepath.Join(keeper.Records, "bystander.json")
	if err := os.WriteFile(stale, []byte(`{"name":"bystander","pid":1,"start_ticks":1,"boot_id":"another"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := keeper.Stop(context.Background(), "bystander", time.Second); err != nil {
		t.Fatal(err)
	}
	if alive, err := process.Alive(record); !alive || err != nil {
		t.Errorf("the living process: Alive() = %v, %v, want true, nil", alive, err)
	}
	if killed, err := keeper.Sweep(context.Background()); killed != 1 || err != nil {
		t.Errorf("Sweep() = %d, %v, want 1, nil", killed, err)
	}
	if alive, err := process.Alive(record); alive || err != nil {
		t.Errorf("after Sweep: Alive() = %v, %v, want false, nil", alive, err)
	}
}

func TestStopUnrecordedEndsOnlyItsLike(t *testing.T) {
	t.Parallel()
	keeper := newKeeper(t)
	var records []process.Record
	for _, seconds := range []string{"61", "62"} {
		record, err := keeper.Start(process.Spec{Name: "sleeper-" + seconds, Path: "/bin/sleep", Args: []string{"sleep", seconds}})
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, record)
	}
	if err := keeper.StopUnrecorded(context.Background(), []string{"sleep", "61"}, time.Second); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{false, true} {
		if alive, err := process.Alive(records[i]); alive != want || err != nil {
			t.Errorf("%s: Alive() = %v, %v, want %v, nil", records[i].Name, alive, err, want)
		}
	}
	if killed, err := keeper.Sweep(context.Background()); killed != 1 || err != nil {
		t.Errorf("Sweep() = %d, %v, want 1, nil", killed, err)
	}
}

func TestOneThatWasKilledIsSeenAsDead(t *testing.T) {
	t.Parallel()
	keeper := newKeeper(t)
	record, err := keeper.Start(process.Spec{Name: "victim", Path: "/bin/sleep", Args: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(record.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		_, alive, err := keeper.Find("victim")
		return err == nil && !alive
	})
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatal("the condition was not met within 5 s")
}
