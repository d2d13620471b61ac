package prefect

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestAProcessIsKnownByItsStartTime(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("sleep", "60")
	inOwnSession(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	now, running := lookUp(cmd.Process.Pid)
	p := Process{Host: ThisHost(), PID: cmd.Process.Pid, StartTime: now.start}
	if !running || now.ended || !p.alive() {
		t.Fatalf("a process that runs is not alive: %+v", p)
	}
	reused := p
	reused.StartTime--
	if reused.alive() {
		t.Error("a process with another start time counts as ours")
	}
	if err := reused.endGroup(t.Context(), 0, ""); err != nil {
		t.Error(err)
	}
	away := p
	away.Host = "another"
	away.killGroup("")
	time.Sleep(50 * time.Millisecond)
	if !p.alive() {
		t.Fatal("a process that is not ours was signalled")
	}
	if err := p.endGroup(t.Context(), time.Second, ""); err != nil {
		t.Error(err)
	}
	// Not reaped yet, so its number is still taken: by a zombie.
	if _, err := os.Stat("/proc/self"); err == nil && p.alive() {
		t.Error("a zombie counts as alive")
	}
	_ = cmd.Wait()
	if p.alive() || (Process{}).alive() || (Process{Host: ThisHost()}).alive() {
		t.Error("something that does not run is alive")
	}
}

func TestWhereAProcessIs(t *testing.T) {
	ours := strings.SplitN(ThisHost(), "/", 4)
	with := func(i int, v string) string {
		parts := append([]string{}, ours...)
		parts[i] = v
		return strings.Join(parts, "/")
	}
	for _, tc := range []struct {
		name    string
		host    string
		cluster bool
		want    where
	}{
		{"the same", ThisHost(), false, here},
		{"another boot of this machine", with(1, "earlier"), false, gone},
		{"another machine", with(0, "other"), false, elsewhere},
		{"another name", with(3, "other"), false, elsewhere},
		{"another container with this name", with(2, "1"), false, elsewhere},
		{"an earlier container of this pod", with(2, "1"), true, gone},
		{"another pod on this node", strings.Join([]string{ours[0], ours[1], "1", "other"}, "/"), true, elsewhere},
		{"nothing that makes sense", "x", false, elsewhere},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", map[bool]string{true: "10.0.0.1"}[tc.cluster])
			if got := locate(tc.host); got != tc.want {
				t.Errorf("locate(%q) = %d, want %d", tc.host, got, tc.want)
			}
		})
	}
}

// TestWhatAGroupLeavesBehind: the leader has ended and been reaped, as an adopted one is.
// Only processes that carry the mark are ended, since the number may be somebody else's.
func TestWhatAGroupLeavesBehind(t *testing.T) {
	t.Parallel()
	const mark = "PREFECT__FLOW_RUN_ID=r-1"
	leader := exec.Command("sh", "-c", "sleep 60 & echo $!; "+"env -i PREFECT__FLOW_RUN_ID=r-11 sleep 60 & echo $!")
	leader.Env = []string{"PATH=/usr/bin:/bin", mark}
	inOwnSession(leader)
	out, err := leader.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := leader.Start(); err != nil {
		t.Fatal(err)
	}
	now, _ := lookUp(leader.Process.Pid)
	p := Process{Host: ThisHost(), PID: leader.Process.Pid, StartTime: now.start}
	var ours, other int
	if _, err := fmt.Fscan(out, &ours, &other); err != nil {
		t.Fatal(err)
	}
	out.Close()
	_, _ = leader.Process.Wait() // reaped: the number is free
	defer signalOne(other, sigKill)
	lives := func(pid int) bool {
		s, there := lookUp(pid)
		return there && !s.ended
	}
	p.killGroup("")
	p.killGroup("PREFECT__FLOW_RUN_ID=r-2")
	time.Sleep(50 * time.Millisecond)
	if !lives(ours) || !lives(other) {
		t.Fatal("processes were ended without a proof that they are ours")
	}
	p.killGroup(mark)
	for end := time.Now().Add(5 * time.Second); lives(ours); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("a process with the mark lives on")
		}
	}
	if !lives(other) {
		t.Error("a process with another mark was ended")
	}
}
