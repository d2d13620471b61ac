package kube

import (
	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/slipway"
)

// dockerAddress is where the runner reaches the pod's own Docker daemon. The containers of
// a pod share their loopback, which nothing outside of the pod reaches; a socket on a shared
// volume would need the sandbox to pass sockets between containers.
const dockerAddress = "tcp://127.0.0.1:2375"

// The one pod outside of its own that a runner pod may reach in the cluster: a mirror of
// Docker Hub.
const (
	MirrorNamespace = "slipway-actions-mirror"
	MirrorName      = "registry-mirror"
	MirrorPort      = 5000
	mirrorURL       = "http://" + MirrorName + "." + MirrorNamespace + ".svc:5000"
)

// dockerScript starts the Docker daemon inside of the sandbox.
//
// gVisor has not all of netfilter that Docker would set up, so Docker leaves it alone and
// the one rule that its networks need stands here: what they send leaves under the pod's
// address. The daemon's networks take the pod's MTU; with Ethernet's 1500 in an overlay
// network large packets vanish, and downloads hang. The unix socket is for job containers
// that mount it: Docker looks for it in its own file system.
const dockerScript = `set -eu
device=$(ip route show default | sed -n 's/.* dev \([^ ]*\).*/\1/p' | head -n 1)
address=$(ip -4 addr show dev "$device" | sed -n 's/.* inet \([0-9.]*\).*/\1/p' | head -n 1)
mtu=$(ip link show dev "$device" | sed -n 's/.* mtu \([0-9]*\).*/\1/p' | head -n 1)
mtu=${mtu:-1500}
echo 1 > /proc/sys/net/ipv4/ip_forward
iptables-legacy -t nat -C POSTROUTING -o "$device" -j SNAT --to-source "$address" 2>/dev/null ||
	iptables-legacy -t nat -A POSTROUTING -o "$device" -j SNAT --to-source "$address"
rm -f /var/run/docker.pid /run/docker.pid
exec dockerd --host=unix:///var/run/docker.sock --host=` + dockerAddress + ` --tls=false \
	--storage-driver=vfs --iptables=false --ip6tables=false \
	--mtu="$mtu" --default-network-opt=bridge=com.docker.network.driver.mtu="$mtu" "$@"
`

// docker is the pod's Docker daemon: a sidecar, so that it runs before the runner begins,
// is started again when it falls, and does not keep the pod from ending with its runner.
// It is privileged within the sandbox, whose kernel is gVisor's and not the node's; with
// any other runtime the pod is not made.
func (p RunnerPod) docker(b budget) corev1.Container {
	args := []string{"/bin/sh", "-c", dockerScript, "dockerd"}
	// Bitbucket's steps have Atlassian's images, which are not of Docker Hub.
	if p.Mirror && p.Spec.Scope.Forge != slipway.Bitbucket {
		args = append(args, "--registry-mirror="+mirrorURL)
	}
	mounts := append(jobMounts(), corev1.VolumeMount{Name: workspaceVolume, MountPath: "/var/lib/docker", SubPath: "docker"})
	if p.Spec.Scope.Forge == slipway.Bitbucket {
		mounts = append(mounts, corev1.VolumeMount{Name: workspaceVolume, MountPath: stepsFolder, SubPath: "steps"})
	}
	return corev1.Container{
		Name: dockerContainer, Image: p.Images.Docker, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: args, WorkingDir: "/",
		RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		// Before it answers no runner starts: a job would be given to a runner without Docker.
		StartupProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"docker", "--host", dockerAddress, "version"}}},
			PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: dockerStarts,
		},
		SecurityContext:          &corev1.SecurityContext{RunAsUser: new(int64(0)), Privileged: new(true)},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Resources:                b.docker,
		VolumeMounts:             mounts,
	}
}
