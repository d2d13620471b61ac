package slipway

import (
	"strings"
	"testing"
	"time"
)

// World: pure.
func TestSameRunners(t *testing.T) {
	t.Parallel()
	base := func() PoolSpec {
		return PoolSpec{
			Scope: ForgeScope{Owner: "acme"}, Credential: "token", Labels: []string{"a", "b"}, Architecture: AMD64, Replicas: 2,
			Idle: time.Minute, Timeout: time.Hour, Resources: RunnerResources{CPURequest: 1000}, WorkspaceGiB: 2,
		}
	}
	for _, tc := range []struct {
		name   string
		change func(*PoolSpec)
		want   bool
	}{
		{"nothing", func(*PoolSpec) {}, true},
		{"replicas", func(s *PoolSpec) { s.Replicas = 9 }, true},
		{"idle time", func(s *PoolSpec) { s.Idle = 0 }, true},
		{"the floor", func(s *PoolSpec) { s.Minimum, s.Spare = 1, 1 }, true},
		{"priority", func(s *PoolSpec) { s.Priority = 5 }, true},
		{"schedules", func(s *PoolSpec) { s.Schedules = []PoolSchedule{{From: "08:00"}} }, true},
		{"the token that reads logs", func(s *PoolSpec) { s.JobsCredential = "other" }, true},
		{"the order and case of labels", func(s *PoolSpec) { s.Labels = []string{"B", "A", "Linux"} }, true},
		{"the case of the owner", func(s *PoolSpec) { s.Scope.Owner = "Acme" }, true},
		{"a label", func(s *PoolSpec) { s.Labels = []string{"a"} }, false},
		{"the scope", func(s *PoolSpec) { s.Scope.Repository = "shop" }, false},
		{"the group", func(s *PoolSpec) { s.Scope.Group = 7 }, false},
		{"the server", func(s *PoolSpec) { s.Scope.BaseURL = "https://ghes.example.com" }, false},
		{"the token that registers", func(s *PoolSpec) { s.Credential = "other" }, false},
		{"resources", func(s *PoolSpec) { s.Resources.CPURequest = 1 }, false},
		{"the disk", func(s *PoolSpec) { s.WorkspaceGiB = 4 }, false},
		{"the node", func(s *PoolSpec) { s.NodeName = "n" }, false},
		{"the architecture", func(s *PoolSpec) { s.Architecture = ARM64 }, false},
		{"the lifetime", func(s *PoolSpec) { s.Timeout = time.Minute }, false},
	} {
		changed := base()
		tc.change(&changed)
		if got := base().SameRunners(changed); got != tc.want {
			t.Errorf("%s: SameRunners() = %v, want %v", tc.name, got, tc.want)
		}
	}
}

// World: pure.
func TestRunnerNamespace(t *testing.T) {
	t.Parallel()
	if got, want := RunnerNamespace("shop-ci", 7), "shop-ci-runners-7"; got != want {
		t.Errorf("RunnerNamespace() = %q, want %q", got, want)
	}
	long := strings.Repeat("a", 49) + "-" + strings.Repeat("b", 13)
	got := RunnerNamespace(long, 1234)
	if want := strings.Repeat("a", 49) + "-runners-1234"; got != want || len(got) > 63 {
		t.Errorf("RunnerNamespace() = %q with %d characters, want %q", got, len(got), want)
	}
	if !IsRunnerNamespace(got) || IsRunnerNamespace("shop-runners-a") || IsRunnerNamespace("runners-7-x") {
		t.Error("IsRunnerNamespace does not tell them apart")
	}
}
