package slipway

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// World: pure.

func TestServes(t *testing.T) {
	t.Parallel()
	organization := PoolSpec{Scope: ForgeScope{Owner: "Acme"}, Labels: []string{"slipway", "Big"}, Architecture: AMD64}
	repository := organization
	repository.Scope.Repository = "shop"
	for _, c := range []struct {
		name string
		pool PoolSpec
		job  Job
		want bool
	}{
		{"every label is the pool's", organization, Job{Owner: "acme", Repository: "shop", Labels: []string{"slipway"}}, true},
		{"labels and owners are compared without regard to case (tf#3800)", organization, Job{Owner: "ACME", Repository: "shop", Labels: []string{"Self-Hosted", "LINUX", "x64", "SLIPWAY", "big"}}, true},
		{"one label more than the pool has", organization, Job{Owner: "acme", Repository: "shop", Labels: []string{"slipway", "gpu"}}, false},
		{"another architecture", organization, Job{Owner: "acme", Repository: "shop", Labels: []string{"slipway", "ARM64"}}, false},
		{"no label at all matches nothing (ARC#1370)", organization, Job{Owner: "acme", Repository: "shop"}, false},
		{"GitHub's own machines", organization, Job{Owner: "acme", Repository: "shop", Labels: []string{"ubuntu-latest"}}, false},
		{"another owner", organization, Job{Owner: "acme2", Repository: "shop", Labels: []string{"slipway"}}, false},
		{"a repository's pool and its repository", repository, Job{Owner: "acme", Repository: "Shop", Labels: []string{"slipway"}}, true},
		{"a repository's pool and another repository", repository, Job{Owner: "acme", Repository: "web", Labels: []string{"slipway"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := c.pool.Serves(c.job); got != c.want {
				t.Errorf("Serves = %t, want %t", got, c.want)
			}
		})
	}
}

// A registration by JIT has only the labels that it is sent (garm PR#163).
func TestRunnerLabelsAreSentInFull(t *testing.T) {
	t.Parallel()
	s := PoolSpec{Labels: []string{"slipway", "Linux", "arm64"}, Architecture: ARM64}
	if diff := cmp.Diff([]string{"self-hosted", "linux", "ARM64", "slipway"}, s.RunnerLabels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

// GitLab tells of no job, and has tags as they are written.
func TestAGitLabPoolHasNoDemandAndItsOwnTags(t *testing.T) {
	t.Parallel()
	group := ForgeScope{Forge: GitLab, Owner: "acme/tools"}
	s := PoolSpec{Scope: group, Labels: []string{"GPU", "gpu"}, Architecture: AMD64}
	if got := s.RunnerLabels(); !cmp.Equal(got, []string{"GPU", "gpu"}) {
		t.Errorf("its runners have the tags %v", got)
	}
	if s.Serves(Job{Owner: "acme/tools", Repository: "shop", Labels: []string{"gpu"}}) {
		t.Error("a job that nobody told of is its demand")
	}
	other := s
	other.Labels = []string{"gpu"}
	if s.SameRunners(other) {
		t.Error("runners with another tag are taken for the same")
	}
	other = s
	other.Scope.Forge = GitHub
	if s.SameRunners(other) {
		t.Error("runners of another forge are taken for the same")
	}
	if group.Host() != "gitlab.com" || group.Server() != "https://gitlab.com" || group.String() != "acme/tools" {
		t.Errorf("the group is %s on %s, %s", group, group.Host(), group.Server())
	}
	group.BaseURL = "https://Git.example.com"
	if group.Host() != "git.example.com" || group.Server() != "https://Git.example.com" {
		t.Errorf("a server of one's own is %s, %s", group.Host(), group.Server())
	}
}

// Bitbucket's own dialogue adds two labels, and the program takes one step after another.
func TestABitbucketPoolHasItsDialoguesLabels(t *testing.T) {
	t.Parallel()
	s := PoolSpec{Scope: ForgeScope{Forge: Bitbucket, Owner: "acme", Repository: "shop"}, Labels: []string{"gpu", "linux"}, Architecture: AMD64}
	if got := s.RunnerLabels(); !cmp.Equal(got, []string{"self.hosted", "linux", "gpu"}) {
		t.Errorf("its runners have the labels %v", got)
	}
	s.Architecture = ARM64
	if got := s.RunnerLabels(); got[1] != "linux.arm64" {
		t.Errorf("on ARM they have %v", got)
	}
	if s.Serves(Job{Owner: "acme", Repository: "shop", Labels: []string{"gpu"}}) || Bitbucket.EndsByItself() || !GitLab.EndsByItself() {
		t.Error("a step that nobody told of is its demand, or its program ends after one")
	}
	if s.Scope.Host() != "bitbucket.org" || s.Scope.Forge.Name() != "Bitbucket" {
		t.Errorf("it is on %s, %s", s.Scope.Host(), s.Scope.Forge.Name())
	}
}

func TestAJobOnlyMovesForward(t *testing.T) {
	t.Parallel()
	order := []JobState{JobWaiting, JobQueued, JobRunning, JobCompleted}
	for i, from := range order {
		for j, to := range order {
			if got, want := from.Before(to), i < j; got != want {
				t.Errorf("%s to %s: %t, want %t", from, to, got, want)
			}
		}
	}
}

func TestEverySlotEndsClosed(t *testing.T) {
	t.Parallel()
	for from := range SlotMoves {
		if !reaches(from, SlotClosed, map[SlotState]bool{}) {
			t.Errorf("a slot in %s can never be closed", from)
		}
		if from != SlotWanted && from.MayMove(SlotClosed) && from != SlotRemoving {
			t.Errorf("a slot in %s may be closed although something may be left outside", from)
		}
	}
}

func reaches(from, to SlotState, seen map[SlotState]bool) bool {
	if from == to {
		return true
	}
	seen[from] = true
	for _, next := range SlotMoves[from] {
		if !seen[next] && reaches(next, to, seen) {
			return true
		}
	}
	return false
}
