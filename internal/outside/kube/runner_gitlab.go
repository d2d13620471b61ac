package kube

import (
	corev1 "k8s.io/api/core/v1"
)

// dockerSocket is where the pod's Docker daemon listens in its own file system.
const dockerSocket = "/var/run/docker.sock"

// gitlabRunner is the container of GitLab's program, which has each job run in containers
// of the pod's own Docker daemon and ends after the first. The token comes by the
// environment variable that the program reads: an argument would stand in the process list.
// It is good for more than one job, so it must stay where no job is: a job sees the Docker
// daemon, by its socket, and not this container.
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
		Command: args, WorkingDir: runnerHome,
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
		VolumeMounts:             jobMounts(),
	}
}
