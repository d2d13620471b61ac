package kube

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// stepsFolder is where Bitbucket's program has the sources, caches and scripts of its step.
// It binds them into the step's containers, so Docker must have them under the same path.
const stepsFolder = "/srv/steps"

// bitbucketScript starts Bitbucket's program with the configuration of its registration,
// which is JSON without escapes. The program's own start script puts what it is told on the
// command line of Java, which leaves it in a file of performance counters in /tmp: so that
// is off, and /tmp is the container's own.
const bitbucketScript = `set -eu
told() { printf %s "$RUNNER_CONFIG" | sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'; }
ACCOUNT_UUID=$(told account_uuid) REPOSITORY_UUID=$(told repository_uuid) RUNNER_UUID=$(told runner_uuid)
OAUTH_CLIENT_ID=$(told oauth_client_id) OAUTH_CLIENT_SECRET=$(told oauth_client_secret)
export ACCOUNT_UUID RUNNER_UUID OAUTH_CLIENT_ID OAUTH_CLIENT_SECRET
if [ -n "$REPOSITORY_UUID" ]; then export REPOSITORY_UUID; else unset REPOSITORY_UUID; fi
unset RUNNER_CONFIG
cd /opt/atlassian/pipelines/runner
exec ./entrypoint.sh
`

// bitbucketRunner is the container of Bitbucket's program, which has each step run in
// containers of the pod's own Docker daemon, and takes one step after another.
//
// The credential is good for more than one step, and the rule for those, that no job writes
// where its container reads, cannot be kept: the program binds folders of its own into the
// step's containers, and reads the log of each container from Docker's files. So two folders
// are shared with Docker, the latter without the right to write, and no other: not its home,
// not /tmp, not Docker's socket. A step that is root in Docker can lay a link there that
// leads the program to its own environment, and with it to the credential.
//
// The program is root, who owns Docker's logs, and has none of root's capabilities.
func (p RunnerPod) bitbucketRunner(b budget) corev1.Container {
	return corev1.Container{
		Name: runnerContainer, Image: p.Images.Bitbucket, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{"/bin/sh", "-c", bitbucketScript}, WorkingDir: "/",
		Env: []corev1.EnvVar{
			{Name: "RUNNER_CONFIG", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: p.Name}, Key: runnerConfigKey,
			}}},
			{Name: "RUNTIME_PREREQUISITES_ENABLED", Value: "true"},
			{Name: "WORKING_DIRECTORY", Value: stepsFolder},
			{Name: "DOCKER_URI", Value: dockerAddress},
			{Name: "DOCKER_HOST", Value: dockerAddress},
			{Name: "HOME", Value: runnerHome},
			{Name: "JAVA_TOOL_OPTIONS", Value: "-XX:-UsePerfData"},
		},
		SecurityContext: &corev1.SecurityContext{
			RunAsUser: new(int64(0)), RunAsGroup: new(int64(0)), AllowPrivilegeEscalation: new(bool),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Resources:                b.runner,
		VolumeMounts: []corev1.VolumeMount{
			{Name: ownVolume, MountPath: runnerHome, SubPath: "home"},
			{Name: ownVolume, MountPath: "/tmp", SubPath: "tmp"},
			{Name: workspaceVolume, MountPath: stepsFolder, SubPath: "steps"},
			{Name: workspaceVolume, MountPath: "/var/lib/docker/containers", SubPath: "docker/containers", ReadOnly: true},
		},
	}
}

// flat reports whether a configuration is what bitbucketScript reads.
func flat(config string) bool {
	return strings.HasPrefix(config, "{") && !strings.ContainsAny(config, "\\\n")
}
