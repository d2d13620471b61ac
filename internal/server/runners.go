package server

import (
	"context"
	"log/slog"
	"time"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/reconcile/pool"
	"slipway.dev/slipway/internal/slipway"
)

// newPools puts the reconciler of runner pools together.
func (s *Server) newPools() *pool.Reconciler {
	c := s.Config.Runners
	images := kube.RunnerImages{
		Runner: c.Image, Docker: c.DockerImage, GitLab: c.GitLabImage, GitLabJob: c.GitLabJobImage, GitLabHelper: c.GitLabHelperImage,
		Bitbucket: c.BitbucketImage,
	}
	return pool.New(pool.Config{
		Store: s.Store, Queue: s.Queue, Box: s.box, Installation: s.Installation,
		Cluster:   runnerPods{s.world.cluster, images, c.Mirror, s.log},
		NoCluster: s.world.noCluster, Unprepared: func(f slipway.ForgeKind) string { return unprepared(f, images) },
		Forge: s.forges.Runners,
		Image: c.Image, MaxRunners: int(c.Max), Metrics: s.metrics.pools, Log: s.log,
	})
}

// unprepared says what keeps the installation from launching any runner of a forge.
func unprepared(f slipway.ForgeKind, images kube.RunnerImages) string {
	switch {
	case f == slipway.GitHub && images.Runner == "":
		return "runners.image is not set in slipway.toml: there is nothing to run as a runner"
	case f == slipway.GitLab && images.GitLab == "":
		return "runners.gitlab_image is not set in slipway.toml: there is nothing to run as a runner"
	case f == slipway.Bitbucket && images.Bitbucket == "":
		return "runners.bitbucket_image is not set in slipway.toml, and has no default: name Atlassian's runner image there, with its digest"
	case images.Docker == "":
		return "runners.docker_image is not set in slipway.toml: runners would have no Docker"
	}
	return ""
}

// runnerPods shows package pool the cluster in its words.
type runnerPods struct {
	cluster *kube.Client
	images  kube.RunnerImages
	mirror  bool
	log     *slog.Logger
}

func (r runnerPods) Launch(ctx context.Context, l pool.Launch) (string, error) {
	return r.cluster.LaunchRunner(ctx, kube.RunnerPod{
		Application: slipway.Application{
			ID: l.Pool.ApplicationID, EnvironmentID: l.Pool.EnvironmentID, Project: l.Pool.Project, Environment: l.Pool.Environment,
			Name: l.Pool.Application, Namespace: l.Pool.Namespace,
		},
		Pool: l.Pool.ID, Slot: l.Slot.ID, Name: l.Slot.Runner, Spec: l.Pool.Spec, Images: r.images, JIT: l.Config, Mirror: r.mirror,
	})
}

func (r runnerPods) Pods(ctx context.Context, namespace string) ([]pool.Pod, error) {
	states, err := r.cluster.RunnerPods(ctx, namespace)
	if err != nil {
		return nil, err
	}
	out := make([]pool.Pod, len(states))
	for i, p := range states {
		out[i] = pool.Pod{
			Name: p.Name, UID: p.UID, Pool: p.Pool, Slot: p.Slot, CreatedAt: p.CreatedAt, Node: p.Node, Image: p.Image, Seen: p.Seen,
			Running: p.Phase == kube.RunnerRunning, Over: p.Phase == kube.RunnerEnded, Leaving: p.Leaving,
			SecretOnly: p.Phase == kube.RunnerConfigOnly, Outdated: p.Fault == kube.FaultOutdated, Fault: p.Fault != kube.FaultNone,
		}
		if out[i].Over {
			out[i].Result = p.Seen
		}
		// Its container has the configuration, and will not begin a second time.
		if p.Config && (p.Phase == kube.RunnerRunning || p.Phase == kube.RunnerEnded) {
			if err := r.cluster.DropRunnerConfig(ctx, namespace, p.Name); err != nil {
				r.log.WarnContext(ctx, "the configuration of a runner stays in the cluster until the runner is gone", "runner", p.Name, "error", err)
			}
		}
	}
	return out, nil
}

func (r runnerPods) End(ctx context.Context, namespace, name string) error {
	return r.cluster.EndRunner(ctx, namespace, name)
}

// What is kept of runners that are gone, of jobs and of deliveries. Deliveries are kept for
// longer than a forge can send them again.
const (
	keepSlots      = 7 * 24 * time.Hour
	keepJobs       = 14 * 24 * time.Hour
	keepDeliveries = 14 * 24 * time.Hour
	pruneAtOnce    = 1000 // rows in one transaction, which others wait for
)
