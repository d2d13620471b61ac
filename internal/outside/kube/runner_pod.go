package kube

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/slipway"
)

// RunnerImages are the images of a runner pod. Package config holds the defaults, pinned
// by digest; here they must be given.
type RunnerImages struct {
	// Runner has GitHub's runner program in /home/runner, to be run as user 1001, and sh and
	// cp.
	Runner string
	// GitLab has gitlab-runner and sh.
	GitLab string
	// GitLabJob is what a GitLab job runs in that names no image, and GitLabHelper what
	// fetches its sources; empty: the runner program's own.
	GitLabJob, GitLabHelper string
	// Bitbucket has Atlassian's runner program in /opt/atlassian/pipelines/runner, and sh,
	// sed and printf.
	Bitbucket string
	// Docker has dockerd, the docker client, sh, ip and iptables-legacy.
	Docker string
}

// RunnerPod is one runner that is to be launched.
type RunnerPod struct {
	Application slipway.Application
	Pool        int64
	Slot        int64
	Name        string // of the pod, the Secret and the runner: unguessable, and never used again
	Spec        slipway.PoolSpec
	Images      RunnerImages
	// JIT is the runner's configuration: GitHub's for one job, a GitLab runner's token, or
	// a Bitbucket runner's OAuth client. It goes into the Secret and nowhere else.
	JIT string
	// Mirror has the Docker daemon ask the installation's mirror of Docker Hub first.
	Mirror bool
}

// What a runner pod is known by, and what it asks of its node.
const (
	LabelPool = "slipway.dev/pool" // the pool's ID
	LabelSlot = "slipway.dev/slot" // the slot's ID

	// RunnerNodeLabel marks the nodes that are prepared for runner pods.
	RunnerNodeLabel = "slipway.dev/actions-runtime"
	runnerNodeReady = "ready"
	// runnerTaint keeps everything but runner pods from a node. It is the one taint that
	// they tolerate.
	runnerTaint, runnerTaintValue = "slipway.dev/actions-only", "true"

	roleRunner = "runner"

	runnerContainer  = "runner"
	dockerContainer  = "docker"
	prepareContainer = "prepare"

	runnerUser = 1001
	runnerHome = "/home/runner"
	// runnerConfigKey is the key of the configuration in its Secret.
	runnerConfigKey = "jitconfig"
	workspaceVolume = "workspace"
	// runnerGrace is how long a runner that must end has for telling the forge: its job is
	// then cancelled and reported, instead of lost.
	runnerGrace = 60
	// dockerStarts is how long the Docker daemon may take to answer, in seconds.
	dockerStarts = 120
)

// buildRunnerPod makes the pod of a runner. It calls nobody. overhead is what the
// RuntimeClass adds to the pod by itself; what is left of the sandbox's allowance is
// given to the runner's container, so that the pod as a whole always reserves the slot's
// budget: no more, which the quota would refuse, and no less, which would crowd the node.
func buildRunnerPod(p RunnerPod, overhead corev1.ResourceList) (*corev1.Pod, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	b, err := splitBudget(p.Spec, overhead)
	if err != nil {
		return nil, err
	}
	deadline := int64(p.Spec.Timeout / time.Second)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Application.Namespace, Name: p.Name, Labels: p.labels(""),
			Annotations: map[string]string{
				// A job that runs is not moved to tidy up the cluster.
				"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
				"karpenter.sh/do-not-disrupt":                    "true",
				// A mesh's sidecar would be one more that sees the job's traffic.
				"sidecar.istio.io/inject": "false",
				"linkerd.io/inject":       "disabled",
			},
		},
		Spec: corev1.PodSpec{
			RuntimeClassName:              new(slipway.RunnerRuntimeClass),
			RestartPolicy:                 corev1.RestartPolicyNever,
			ActiveDeadlineSeconds:         &deadline,
			TerminationGracePeriodSeconds: new(int64(runnerGrace)),
			AutomountServiceAccountToken:  new(bool),
			EnableServiceLinks:            new(bool),
			OS:                            &corev1.PodOS{Name: corev1.Linux},
			SecurityContext: &corev1.PodSecurityContext{
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			NodeSelector: map[string]string{
				RunnerNodeLabel:        runnerNodeReady,
				corev1.LabelArchStable: string(p.Spec.Architecture),
			},
			Tolerations: []corev1.Toleration{{
				Key: runnerTaint, Operator: corev1.TolerationOpEqual, Value: runnerTaintValue, Effect: corev1.TaintEffectNoSchedule,
			}},
			InitContainers: []corev1.Container{p.prepare(b), p.docker(b)},
			Containers:     []corev1.Container{p.runner(b)},
			Volumes:        []corev1.Volume{emptyVolume(workspaceVolume, int64(p.Spec.WorkspaceGiB)*slipway.GiB)},
		},
	}
	if p.Spec.Scope.Forge != slipway.GitHub {
		pod.Spec.Volumes = append(pod.Spec.Volumes, emptyVolume(ownVolume, ownVolumeSize))
	}
	if p.Spec.NodeName != "" {
		// By the node's name and not its host name, which some clouds let differ; and through
		// the scheduler, which spec.nodeName would pass by with all its checks.
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{p.Spec.NodeName}}},
			}}},
		}}
	}
	return pod, nil
}

func emptyVolume(name string, size int64) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(size, resource.BinarySI)},
	}}
}

// check refuses what would make a pod that no runner can work in.
func (p RunnerPod) check() error {
	refuse := func(format string, args ...any) error {
		return slipway.Errorf(slipway.Invalid, "runner pod %s: "+format, append([]any{p.Name}, args...)...)
	}
	switch {
	case p.Name == "" || p.Pool == 0 || p.Slot == 0 || p.Application.ID == 0 || p.Application.Namespace == "":
		return refuse("it has no name, pool, slot, application or namespace")
	case p.Spec.Scope.Forge == slipway.GitLab && p.Images.GitLab == "":
		return slipway.Errorf(slipway.Invalid, "no image of the GitLab runner is set").
			WithHint("set runners.gitlab_image in slipway.toml, with its digest")
	case p.Spec.Scope.Forge == slipway.Bitbucket && p.Images.Bitbucket == "":
		return slipway.Errorf(slipway.Invalid, "no image of the Bitbucket runner is set").
			WithHint("set runners.bitbucket_image in slipway.toml, with its digest")
	case p.Spec.Scope.Forge == slipway.Bitbucket && p.JIT != "" && !flat(p.JIT):
		return refuse("its configuration is not of the form that its program is started with")
	case p.Images.Runner == "" && p.Spec.Scope.Forge == slipway.GitHub || p.Images.Docker == "":
		return slipway.Errorf(slipway.Invalid, "no image of the runner or of its Docker daemon is set").
			WithHint("set runners.image and runners.docker_image in slipway.toml, each with its digest")
	case p.JIT == "":
		return refuse("it has no configuration")
	case p.Spec.Architecture != slipway.AMD64 && p.Spec.Architecture != slipway.ARM64:
		return refuse("%q is not an architecture of runners", p.Spec.Architecture)
	case p.Spec.Timeout < time.Second:
		return refuse("its timeout is %s", p.Spec.Timeout)
	case p.Spec.WorkspaceGiB < 2 || p.Spec.WorkspaceGiB > 16:
		return refuse("its workspace is %d GiB, and may be 2 to 16", p.Spec.WorkspaceGiB)
	}
	return nil
}

// labels mark the pod and its Secret. They hold numbers only: a name of a team's may be
// longer than a label's value.
func (p RunnerPod) labels(installation string) map[string]string {
	return map[string]string{
		LabelManagedBy: managedBy, LabelRole: roleRunner, LabelInstallation: installation,
		LabelApplication: decimal(p.Application.ID), LabelPool: decimal(p.Pool), LabelSlot: decimal(p.Slot),
	}
}

// runner is the container of the forge's program.
func (p RunnerPod) runner(b budget) corev1.Container {
	switch p.Spec.Scope.Forge {
	case slipway.GitLab:
		return p.gitlabRunner(b)
	case slipway.Bitbucket:
		return p.bitbucketRunner(b)
	}
	return p.githubRunner(b)
}

// image is the image of the runner.
func (p RunnerPod) image() string {
	switch p.Spec.Scope.Forge {
	case slipway.GitLab:
		return p.Images.GitLab
	case slipway.Bitbucket:
		return p.Images.Bitbucket
	}
	return p.Images.Runner
}

// githubRunner is the container of GitHub's program. The configuration comes by the environment
// variable that the program reads itself and takes out of its environment: an argument
// would stand in the process list that every step of the job can read, and a file would
// bind the Secret to the pod for its whole life, when the container needs it once.
//
// The job runs in this very container, and can read what the program makes of the
// configuration. That gives it nothing: GitHub gives the runner one job, which is this one,
// and then removes it.
//
// The job may become root by sudo, as on GitHub's own machines, so privileges may grow;
// the sandbox is the boundary.
func (p RunnerPod) githubRunner(b budget) corev1.Container {
	return corev1.Container{
		Name: runnerContainer, Image: p.Images.Runner, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{runnerHome + "/run.sh"}, WorkingDir: runnerHome,
		Env: []corev1.EnvVar{
			{Name: "ACTIONS_RUNNER_INPUT_JITCONFIG", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: p.Name}, Key: runnerConfigKey,
			}}},
			{Name: "DOCKER_HOST", Value: dockerAddress},
			{Name: "HOME", Value: runnerHome},
			// Has run.sh hand on the signal to end, which a shell keeps to itself, and the
			// program's exit code, of which it makes 0 otherwise.
			{Name: "RUNNER_MANUALLY_TRAP_SIG", Value: "1"},
			// Has a program that GitHub does not take any more end with outdatedExit, and not
			// as if all were well (runner#3366).
			{Name: "ACTIONS_RUNNER_RETURN_VERSION_DEPRECATED_EXIT_CODE", Value: "1"},
		},
		SecurityContext:          &corev1.SecurityContext{RunAsUser: new(int64(runnerUser)), RunAsGroup: new(int64(runnerUser)), RunAsNonRoot: new(true)},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Resources:                b.runner,
		VolumeMounts:             jobMounts(),
	}
}

// prepare fills the workspace. On GitHub the home of the runner is there: what a job writes
// in it is bounded with all the rest, and Docker sees it under the same path, as job
// containers and bind mounts need. It is root without more, to keep the files' owners.
func (p RunnerPod) prepare(b budget) corev1.Container {
	script := "set -eu\nchmod 1777 /workspace/tmp\n"
	if p.Spec.Scope.Forge == slipway.GitHub { // whose program is in its own home
		script += "cp -a " + runnerHome + "/. /workspace/home/\n"
	}
	script += "chown 1001:1001 /workspace/home\n"
	mounts := []corev1.VolumeMount{
		{Name: workspaceVolume, MountPath: "/workspace/home", SubPath: "home"},
		{Name: workspaceVolume, MountPath: "/workspace/tmp", SubPath: "tmp"},
	}
	if p.Spec.Scope.Forge == slipway.Bitbucket {
		// Made by Kubernetes, a folder that is mounted alone would keep Docker's rights off.
		mounts = append(mounts, corev1.VolumeMount{Name: workspaceVolume, MountPath: "/workspace/docker", SubPath: "docker"})
		script += "mkdir -p /workspace/docker/containers\nchmod 710 /workspace/docker /workspace/docker/containers\n"
	}
	return corev1.Container{
		Name: prepareContainer, Image: p.image(), ImagePullPolicy: corev1.PullIfNotPresent,
		Command: []string{"/bin/sh", "-c", script}, WorkingDir: "/",
		SecurityContext: &corev1.SecurityContext{
			RunAsUser: new(int64(0)), RunAsGroup: new(int64(0)), AllowPrivilegeEscalation: new(bool),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"CHOWN", "DAC_OVERRIDE", "FOWNER"}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Resources:                b.docker, // it has ended before Docker begins
		VolumeMounts:             mounts,
	}
}

// jobMounts are the parts of the workspace that jobs write, in Docker and, on GitHub, beside
// the runner. A container with a credential for more than one job must have none of
// them; see bitbucketRunner for the one that cannot do without.
func jobMounts() []corev1.VolumeMount {
	return []corev1.VolumeMount{
		{Name: workspaceVolume, MountPath: runnerHome, SubPath: "home"},
		{Name: workspaceVolume, MountPath: "/tmp", SubPath: "tmp"},
	}
}

// budget is what each container of a pod has. One that ended before the other began takes
// nothing beside it.
type budget struct{ runner, docker corev1.ResourceRequirements }

// splitBudget divides what the sandbox leaves of a slot's budget. On GitHub a job runs
// beside its program, and Docker has a half; elsewhere all of it runs in Docker, which has
// three quarters.
func splitBudget(s slipway.PoolSpec, overhead corev1.ResourceList) (budget, error) {
	extraCPU, extraMemory := slipway.SandboxCPU-overhead.Cpu().MilliValue(), slipway.SandboxMemory-overhead.Memory().Value()
	if extraCPU < 0 || extraMemory < 0 {
		return budget{}, slipway.Errorf(slipway.Conflict, "the RuntimeClass %s adds %s CPU and %s memory to each pod, more than the %dm and %dMi that a slot's budget has for its sandbox",
			slipway.RunnerRuntimeClass, overhead.Cpu(), overhead.Memory(), slipway.SandboxCPU, slipway.SandboxMemory>>20).
			WithHint("set its overhead.podFixed to cpu: %dm and memory: %dMi", slipway.SandboxCPU, slipway.SandboxMemory>>20)
	}
	r := s.Resources
	if r.CPURequest < 2*slipway.SandboxCPU || r.MemoryRequest <= slipway.SandboxMemory || r.CPULimit < r.CPURequest || r.MemoryLimit < r.MemoryRequest {
		return budget{}, slipway.Errorf(slipway.Invalid, "a runner cannot live in %dm CPU and %dMi memory with the limits %dm and %dMi",
			r.CPURequest, r.MemoryRequest>>20, r.CPULimit, r.MemoryLimit>>20)
	}
	share := func(all int64) int64 { return all / 2 }
	if s.Scope.Forge != slipway.GitHub {
		share = func(all int64) int64 { return all - all/4 }
	}
	divide := func(cpu, memory int64) (runner, docker corev1.ResourceList) {
		cpu, memory = cpu-slipway.SandboxCPU, memory-slipway.SandboxMemory
		docker = amounts(share(cpu), share(memory))
		return amounts(cpu-share(cpu)+extraCPU, memory-share(memory)+extraMemory), docker
	}
	var b budget
	b.runner.Requests, b.docker.Requests = divide(r.CPURequest, r.MemoryRequest)
	b.runner.Limits, b.docker.Limits = divide(r.CPULimit, r.MemoryLimit)
	workspace := int64(s.WorkspaceGiB) * slipway.GiB
	for _, l := range []corev1.ResourceList{b.runner.Requests, b.runner.Limits} {
		l[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(workspace+slipway.RunnerDisk, resource.BinarySI)
	}
	for _, l := range []corev1.ResourceList{b.docker.Requests, b.docker.Limits} {
		l[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(slipway.DockerDisk, resource.BinarySI)
	}
	return b, nil
}

func amounts(milli, bytes int64) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(bytes, resource.BinarySI),
	}
}

// runnerIDs reads what labels() wrote. Labels of ours that hold no number are nobody's.
func runnerIDs(labels map[string]string) (application, pool, slot int64, err error) {
	for _, l := range []struct {
		key string
		to  *int64
	}{{LabelApplication, &application}, {LabelPool, &pool}, {LabelSlot, &slot}} {
		if *l.to, err = strconv.ParseInt(labels[l.key], 10, 64); err != nil {
			return 0, 0, 0, fmt.Errorf("the label %s is %q: %w", l.key, labels[l.key], err)
		}
	}
	return application, pool, slot, nil
}

// isRunner reports whether the labels are of a runner of this installation.
func (c *Client) isRunner(labels map[string]string) bool {
	return labels[LabelInstallation] == c.installation && labels[LabelRole] == roleRunner && c.installation != ""
}

// merged is a with b on top.
func merged(a, b map[string]string) map[string]string {
	out := maps.Clone(a)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, b)
	return out
}
