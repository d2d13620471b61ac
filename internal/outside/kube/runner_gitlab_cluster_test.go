//go:build cluster

package kube

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/slipway"
)

// World: the real cluster; GitLab's program and Docker are scripts.

// What GitLab's program is given, and that its end is the pod's.
func TestGitLabRunnerOnTheCluster(t *testing.T) {
	c, p := realRunners(t, 1, func(p *RunnerPod) {
		p.Spec.Scope = slipway.ForgeScope{Forge: slipway.GitLab, Owner: "acme"}
		p.Images.GitLab, p.Images.GitLabJob = busybox, "registry.example.com/alpine:3"
	})
	const script = `
[ "$(id -u)" = 1001 ] || exit 11
[ "$CI_SERVER_TOKEN" = "` + testJIT + `" ] || exit 12
[ "$CI_SERVER_URL" = https://gitlab.com ] || exit 13
[ "$1 $2 $3" = "run-single --max-builds 1" ] || exit 14
[ "$DOCKER_HOST" = tcp://127.0.0.1:2375 ] || exit 15
touch "$HOME/_written" /tmp/_written || exit 16
[ ! -e /var/run/secrets/kubernetes.io ] || exit 17
[ ! -e /var/run/docker.sock ] || exit 18
tr '\0' ' ' < /proc/self/cmdline | grep -q eyJ && exit 19
grep -q 'NoNewPrivs:.1' /proc/self/status || exit 20
echo "the job has ended"
`
	launched(t, c, p, "", func(pod *corev1.Pod) {
		prepare, runner := &pod.Spec.InitContainers[0], &pod.Spec.Containers[0]
		prepare.Command[2] += "cat > /workspace/home/gitlab-runner <<'END'\n#!/bin/sh\n" + script + "\nEND\nchmod 755 /workspace/home/gitlab-runner\n"
		runner.Command[0] = runnerHome + "/gitlab-runner"
	})
	s := stands(t, c, p, time.Minute, "the runner has ended", ended)
	if s.Fault != FaultNone || s.ExitCode == nil || *s.ExitCode != 0 {
		t.Errorf("it stands as %+v", s)
	}
	if err := c.EndRunner(t.Context(), p.Application.Namespace, p.Name); err != nil {
		t.Fatal(err)
	}
	stands(t, c, p, time.Minute, "nothing is left of it", absent)
}
