package kube

import (
	corev1 "k8s.io/api/core/v1"
)

// dockerSocket is where the pod's Docker daemon listens in its own file system.
const dockerSocket = "/var/run/docker.sock"

// ownVolume holds what GitLab's program writes: the log of its job until the server has it,
// which it cuts at 4 MiB. No other container has the volume.
const (
	ownVolume     = "own"
	ownVolumeSize = int64(256) << 20
)

// gitlabRunner is the container of GitLab's program, which has each job run in containers
// of the pod's own Docker daemon and ends after the first. The token comes by the
// environment variable that the program reads: an argument would stand in the process list.
// It is good for more than one job, so it must stay where no job is.
//
// A job has Docker's socket, so it is root in Docker's container, with all that is mounted
// there. The program takes what it trusts from its home: settings that name helper programs
// to run, and certificates, which it reads again before each request. So its home and its
// temporary files are on a volume of its own, and it works in a folder that it cannot write
// itself. It needs nothing of Docker's files: sources and caches are volumes of the daemon.
//
// What it shares with the job is the pod: the network, and with it Docker's answers; the
// files /etc/hosts and /etc/resolv.conf; /dev/shm, of which it reads nothing. A job can cut
// the program off, or lie to it about this one job. The token leaves the container to ask
// for a job, under TLS that the image's certificates check. Between the two stand the
// namespaces of the sandbox's kernel, not a second sandbox.
func (p RunnerPod) gitlabRunner(b budget) corev1.Container {
	args := []string{
		"gitlab-runner", "run-single", "--max-builds", "1", "--executor", "docker",
		"--docker-volumes", "/cache", "--docker-volumes", dockerSocket + ":" + dockerSocket,
	}
	if p.Images.GitLabJob != "" {
		args = append(args, "--docker-image", p.Images.GitLabJob)
	}
	if p.Images.GitLabHelper != "" {
		args = append(args, "--docker-helper-image", p.Images.GitLabHelper)
	}
	return corev1.Container{
		Name: runnerContainer, Image: p.Images.GitLab, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: args, WorkingDir: "/",
		Env: []corev1.EnvVar{
			{Name: "CI_SERVER_TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: p.Name}, Key: runnerConfigKey,
			}}},
			{Name: "CI_SERVER_URL", Value: p.Spec.Scope.Server()},
			{Name: "DOCKER_HOST", Value: dockerAddress},
			{Name: "HOME", Value: runnerHome},
		},
		SecurityContext: &corev1.SecurityContext{
			RunAsUser: new(int64(runnerUser)), RunAsGroup: new(int64(runnerUser)), RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(bool),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Resources:                b.runner,
		VolumeMounts: []corev1.VolumeMount{
			{Name: ownVolume, MountPath: runnerHome, SubPath: "home"},
			{Name: ownVolume, MountPath: "/tmp", SubPath: "tmp"},
		},
	}
}
