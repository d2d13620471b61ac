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
[ "$PWD" = / ] || exit 21
touch /_written 2>/dev/null && exit 22
tr '\0' ' ' < /proc/self/cmdline | grep -q eyJ && exit 19
grep -q 'NoNewPrivs:.1' /proc/self/status || exit 20
echo "the job has ended"
`
	launched(t, c, p, "", func(pod *corev1.Pod) { asGitLabRunner(pod, script) })
	s := stands(t, c, p, time.Minute, "the runner has ended", ended)
	if s.Fault != FaultNone || s.ExitCode == nil || *s.ExitCode != 0 {
		t.Errorf("it stands as %+v", s)
	}
	if err := c.EndRunner(t.Context(), p.Application.Namespace, p.Name); err != nil {
		t.Fatal(err)
	}
	stands(t, c, p, time.Minute, "nothing is left of it", absent)
}

// A job is root in Docker's container. What it leaves there, in every folder that is mounted,
// is not in the container with the token, but for the memory that a pod shares.
func TestAGitLabJobWritesNothingOfTheRunners(t *testing.T) {
	c, p := realRunners(t, 1, func(p *RunnerPod) {
		p.Spec.Scope = slipway.ForgeScope{Forge: slipway.GitLab, Owner: "acme"}
		p.Images.GitLab = busybox
	})
	const job = `
mkdir -p /home/runner/.docker /home/runner/.gitlab-runner/certs
touch /home/runner/.docker/config.json /home/runner/.gitlab-runner/certs/gitlab.com.crt
for at in $(cut -d ' ' -f 2 /proc/mounts); do
	mkdir "$at/_of_a_job" 2>/dev/null && echo "$at"
done > /tmp/_left
grep -qx /home/runner /tmp/_left && grep -qx /tmp /tmp/_left && grep -qx /var/lib/docker /tmp/_left || exit 31
`
	const script = `
[ ! -e "$HOME/.docker" ] || exit 11
[ ! -e "$HOME/.gitlab-runner" ] || exit 12
[ ! -e /tmp/_left ] || exit 13
found=$(find / -path /proc -prune -o -name _of_a_job -print 2>/dev/null | grep -v '^/dev/shm/')
[ -z "$found" ] || { echo "of a job: $found"; exit 14; }
`
	launched(t, c, p, "", func(pod *corev1.Pod) {
		asGitLabRunner(pod, script)
		docker := &pod.Spec.InitContainers[1]
		docker.Command[2] = job + docker.Command[2]
	})
	s := stands(t, c, p, time.Minute, "the runner has ended", ended)
	if s.Fault != FaultNone || s.ExitCode == nil || *s.ExitCode != 0 {
		t.Errorf("it stands as %+v", s)
	}
}

// asGitLabRunner has the script play GitLab's program, put where only its container finds it.
func asGitLabRunner(pod *corev1.Pod, script string) {
	prepare, runner := &pod.Spec.InitContainers[0], &pod.Spec.Containers[0]
	home := runner.VolumeMounts[0]
	home.MountPath = "/_own"
	prepare.VolumeMounts = append(prepare.VolumeMounts, home)
	prepare.Command[2] += "cat > /_own/gitlab-runner <<'END'\n#!/bin/sh\n" + script + "\nEND\nchmod 755 /_own/gitlab-runner\n"
	runner.Command[0] = runnerHome + "/gitlab-runner"
}
