package kube

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresources "k8s.io/component-helpers/resource"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/slipway"
)

// The tests of this file stand in the pure world.

const testJIT = "eyJydW5uZXIiOiJ0aGlzLWlzLXRoZS1zZWNyZXQtb2YtdGhlLXRlc3QifQ=="

func runnerPod(change func(*RunnerPod)) RunnerPod {
	p := RunnerPod{
		Application: slipway.Application{ID: 7, Name: "team-ci", Project: "shop", Environment: "dev", Namespace: "slipway-runners-7"},
		Pool:        3, Slot: 41, Name: "slw-3-k7qd2m9x4b", JIT: testJIT,
		Images: RunnerImages{
			Runner: "registry.example.com/runner:1@sha256:aa", Docker: "registry.example.com/docker:1@sha256:bb",
			GitLab: "registry.example.com/gitlab-runner:1@sha256:cc", GitLabJob: "registry.example.com/alpine:3@sha256:dd",
			Bitbucket: "registry.example.com/bitbucket-pipelines-runner:3@sha256:ee",
		},
		Spec: slipway.PoolSpec{
			Architecture: slipway.AMD64, Timeout: time.Hour, WorkspaceGiB: 8,
			Resources: slipway.RunnerResources{CPURequest: 2000, CPULimit: 2000, MemoryRequest: 4 * slipway.GiB, MemoryLimit: 4 * slipway.GiB},
		},
	}
	if change != nil {
		change(&p)
	}
	return p
}

// sandboxOverhead is what a RuntimeClass made by our host preparation declares.
var sandboxOverhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("512Mi")}

func built(t *testing.T, change func(*RunnerPod)) *corev1.Pod {
	t.Helper()
	p, err := buildRunnerPod(runnerPod(change), sandboxOverhead)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func containersOf(p *corev1.Pod) map[string]corev1.Container {
	all := map[string]corev1.Container{}
	for _, c := range append(append([]corev1.Container{}, p.Spec.InitContainers...), p.Spec.Containers...) {
		all[c.Name] = c
	}
	return all
}

// The pod holds the one-job configuration by reference only, and nothing else of value: not
// the cluster's token, not the node's files, network or processes.
func TestRunnerPodHoldsNothingOfValue(t *testing.T) {
	t.Parallel()
	for _, kind := range []slipway.ForgeKind{slipway.GitHub, slipway.GitLab, slipway.Bitbucket} {
		t.Run(kind.Name(), func(t *testing.T) {
			t.Parallel()
			holdsNothingOfValue(t, built(t, func(p *RunnerPod) { p.Spec.Scope.Forge, p.JIT = kind, testConfig(kind) }))
		})
	}
}

func holdsNothingOfValue(t *testing.T, p *corev1.Pod) {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(raw), testJIT) {
		t.Error("the pod's manifest holds the configuration")
	}
	for _, forbidden := range []string{"hostPath", "hostNetwork", "hostPID", "hostIPC", "hostPort", "serviceAccountName", "projected", "persistentVolumeClaim", "nodeName", "volumeDevices"} {
		if strings.Contains(string(raw), `"`+forbidden+`"`) {
			t.Errorf("the pod's manifest has %s", forbidden)
		}
	}
	s := p.Spec
	if s.AutomountServiceAccountToken == nil || *s.AutomountServiceAccountToken {
		t.Error("a token of the cluster is mounted")
	}
	if s.EnableServiceLinks == nil || *s.EnableServiceLinks {
		t.Error("the cluster's services are told in the environment")
	}
	if s.ShareProcessNamespace != nil {
		t.Error("the containers see each other's processes, and with them the configuration")
	}
	refs := 0
	for name, c := range containersOf(p) {
		for _, e := range c.Env {
			if e.ValueFrom != nil {
				refs++
				if name != runnerContainer || e.ValueFrom.SecretKeyRef == nil || e.ValueFrom.SecretKeyRef.Name != p.Name {
					t.Errorf("container %s takes %s from %+v", name, e.Name, e.ValueFrom)
				}
			}
		}
		if len(c.EnvFrom) > 0 || len(c.Ports) > 0 {
			t.Errorf("container %s has envFrom or ports", name)
		}
	}
	if refs != 1 {
		t.Errorf("%d references to Secrets, want the configuration's alone", refs)
	}
	for _, v := range s.Volumes {
		if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil || v.EmptyDir.SizeLimit.Sign() <= 0 {
			t.Errorf("volume %+v, want an empty one with a bound", v)
		}
	}
}

// The rule of every forge: a container with a credential for more than one job shares no
// volume with any other, and what its program trusts is not where jobs write. Bitbucket's
// program cannot work so: it binds folders of its own into a step's containers, and reads
// their logs from Docker's files. What it shares is those two, and is told in the docs.
func TestAReusableCredentialIsWhereNoJobWrites(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		forge    slipway.ForgeKind
		reusable bool // the credential that the pod is given
	}{
		{slipway.GitHub, false}, // for one job: the very one that could read it
		{slipway.GitLab, true},
		{slipway.Bitbucket, true},
	} {
		t.Run(tc.forge.Name(), func(t *testing.T) {
			t.Parallel()
			pod := built(t, func(p *RunnerPod) { p.Spec.Scope.Forge, p.JIT = tc.forge, testConfig(tc.forge) })
			allowed := map[string]bool{} // paths of the container that jobs may write to, under any name
			if tc.forge == slipway.Bitbucket {
				allowed = map[string]bool{stepsFolder: false, "/var/lib/docker/containers": true} // whether it is only read
			}
			holders := map[string]corev1.Container{}
			for name, c := range containersOf(pod) {
				for _, e := range c.Env {
					if e.ValueFrom != nil {
						holders[name] = c
					}
				}
			}
			if len(holders) != 1 {
				t.Fatalf("%d containers hold a credential", len(holders))
			}
			if !tc.reusable {
				return
			}
			defer func() {
				if len(allowed) > 0 {
					t.Errorf("it does without %v: take the exception away", allowed)
				}
			}()
			for name, c := range holders {
				if privileged := c.SecurityContext.Privileged; privileged != nil && *privileged || *c.SecurityContext.AllowPrivilegeEscalation {
					t.Errorf("%s may become more than its user", name)
				}
				own := map[string]string{}
				for _, m := range c.VolumeMounts {
					if readOnly, may := allowed[m.MountPath]; may {
						if m.ReadOnly != readOnly {
							t.Errorf("%s may write to %s: %t", name, m.MountPath, !m.ReadOnly)
						}
						delete(allowed, m.MountPath)
						continue
					}
					own[m.MountPath] = m.Name
					if m.MountPropagation != nil {
						t.Errorf("%s sees what others mount in %s", name, m.MountPath)
					}
				}
				for other, o := range containersOf(pod) {
					for _, m := range o.VolumeMounts {
						for at, volume := range own {
							if other != name && m.Name == volume {
								t.Errorf("%s writes at %s what %s has at %s", other, m.MountPath, name, at)
							}
						}
					}
				}
				home := ""
				for _, e := range c.Env {
					if e.Name == "HOME" {
						home = e.Value
					}
				}
				// Not of the image: its user may not write there.
				if own[home] == "" || own["/tmp"] == "" {
					t.Errorf("%s has its home at %q and the mounts %v", name, home, own)
				}
				// The root of the image is nobody's to write but root's, and no relative path
				// of a setting leads from it to a file of a job.
				if c.WorkingDir != "/" {
					t.Errorf("%s works in %q", name, c.WorkingDir)
				}
			}
		})
	}
}

func TestRunnerPodRunsInTheSandboxOnly(t *testing.T) {
	t.Parallel()
	p := built(t, nil)
	if got := p.Spec.RuntimeClassName; got == nil || *got != "slipway-actions" {
		t.Fatalf("runtimeClassName %v", got)
	}
	for name, c := range containersOf(p) {
		privileged := c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
		if privileged != (name == dockerContainer) {
			t.Errorf("container %s is privileged: %v", name, privileged)
		}
	}
	r := containersOf(p)[runnerContainer]
	if u := r.SecurityContext.RunAsUser; u == nil || *u != 1001 || !*r.SecurityContext.RunAsNonRoot {
		t.Errorf("the runner is %+v, want user 1001", r.SecurityContext)
	}
	if got := strings.Join(append(r.Command, r.Args...), " "); got != "/home/runner/run.sh" {
		t.Errorf("the runner runs %q; its configuration comes by the environment", got)
	}
	told := map[string]string{}
	for _, e := range r.Env {
		told[e.Name] = e.Value
	}
	// runner#3366: without both, an outdated runner ends with 0, as one that did its job.
	if told["ACTIONS_RUNNER_RETURN_VERSION_DEPRECATED_EXIT_CODE"] != "1" || told["RUNNER_MANUALLY_TRAP_SIG"] != "1" {
		t.Errorf("the runner is told %v", told)
	}
	d := containersOf(p)[dockerContainer]
	if d.RestartPolicy == nil || *d.RestartPolicy != corev1.ContainerRestartPolicyAlways || d.StartupProbe == nil {
		t.Error("Docker is no sidecar that the runner waits for")
	}
	// google/gvisor#12475: in the sandbox a newer Docker cannot mount its overlay.
	if text := strings.Join(d.Command, " "); !strings.Contains(text, "--storage-driver=vfs") || strings.Contains(text, "0.0.0.0") {
		t.Errorf("Docker runs as %q", text)
	}
	if len(p.Spec.Containers) != 1 {
		t.Error("a second container beside the runner would keep the pod from ending with it")
	}
}

// GitLab's program runs one job, in containers of the pod's own Docker daemon.
func TestAGitLabRunnerEndsAfterItsJob(t *testing.T) {
	t.Parallel()
	p := built(t, func(p *RunnerPod) {
		p.Spec.Scope = slipway.ForgeScope{Forge: slipway.GitLab, Owner: "acme"}
		p.Images.GitLabHelper = "registry.example.com/helper:1"
	})
	r := containersOf(p)[runnerContainer]
	runs := strings.Join(append(r.Command, r.Args...), " ")
	for _, w := range []string{
		"gitlab-runner run-single --max-builds 1 ", "--executor docker", "--docker-image registry.example.com/alpine:3@sha256:dd",
		"--docker-helper-image registry.example.com/helper:1", "--docker-volumes /var/run/docker.sock:/var/run/docker.sock",
	} {
		if !strings.Contains(runs, w) {
			t.Errorf("it runs %q, without %q", runs, w)
		}
	}
	if strings.Contains(runs, "--token") || strings.Contains(runs, "privileged") {
		t.Errorf("it runs %q", runs)
	}
	told := map[string]string{}
	for _, e := range r.Env {
		told[e.Name] = e.Value
		if e.ValueFrom != nil {
			told[e.Name] = "key " + e.ValueFrom.SecretKeyRef.Key
		}
	}
	want := map[string]string{"CI_SERVER_TOKEN": "key jitconfig", "CI_SERVER_URL": "https://gitlab.com", "DOCKER_HOST": dockerAddress, "HOME": "/home/runner"}
	if !maps.Equal(told, want) {
		t.Errorf("it is told %v, want %v", told, want)
	}
	if s := r.SecurityContext; *s.RunAsUser != 1001 || *s.AllowPrivilegeEscalation || r.Image != "registry.example.com/gitlab-runner:1@sha256:cc" {
		t.Errorf("it is %s with %+v", r.Image, s)
	}
	prepare := containersOf(p)[prepareContainer]
	if prepare.Image != r.Image || strings.Contains(strings.Join(prepare.Command, " "), "cp -a") {
		t.Errorf("its workspace is prepared by %s: %v", prepare.Image, prepare.Command)
	}
	own := built(t, func(p *RunnerPod) {
		p.Spec.Scope = slipway.ForgeScope{Forge: slipway.GitLab, Owner: "acme", BaseURL: "https://git.example.com"}
	})
	for _, e := range containersOf(own)[runnerContainer].Env {
		if e.Name == "CI_SERVER_URL" && e.Value != "https://git.example.com" {
			t.Errorf("its server is %s", e.Value)
		}
	}
	// Its jobs are in Docker, so Docker has the larger part.
	if l := containersOf(p)[dockerContainer].Resources.Limits; l.Cpu().String() != "1425m" || l.Memory().String() != "2688Mi" {
		t.Errorf("Docker has the limits %s and %s", l.Cpu(), l.Memory())
	}
}

func TestRunnerPodsPlace(t *testing.T) {
	t.Parallel()
	p := built(t, func(p *RunnerPod) { p.Spec.Architecture = slipway.ARM64 })
	if got := p.Spec.NodeSelector; len(got) != 2 || got["kubernetes.io/arch"] != "arm64" || got["slipway.dev/actions-runtime"] != "ready" {
		t.Errorf("nodeSelector %v", got)
	}
	if got := p.Spec.Tolerations; len(got) != 1 || got[0] != (corev1.Toleration{Key: "slipway.dev/actions-only", Operator: "Equal", Value: "true", Effect: "NoSchedule"}) {
		t.Errorf("tolerations %v, want exactly one", got)
	}
	if p.Spec.Affinity != nil {
		t.Errorf("affinity %v for a pool that names no node", p.Spec.Affinity)
	}
	pinned := built(t, func(p *RunnerPod) { p.Spec.NodeName = "worker-2" })
	if got := pinnedNode(pinned); got != "worker-2" {
		t.Errorf("pinned to %q", got)
	}
	if pinned.Spec.NodeName != "" {
		t.Error("the scheduler and its checks are passed by")
	}
	if a := pinned.Spec.Affinity.NodeAffinity; len(a.PreferredDuringSchedulingIgnoredDuringExecution) != 0 || len(a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms) != 1 {
		t.Error("there is another term to fall back to")
	}
}

func TestRunnerPodsLife(t *testing.T) {
	t.Parallel()
	p := built(t, func(p *RunnerPod) { p.Spec.Timeout = 90 * time.Minute })
	if d := p.Spec.ActiveDeadlineSeconds; d == nil || *d != 5400 {
		t.Errorf("activeDeadlineSeconds %v", d)
	}
	if p.Spec.RestartPolicy != corev1.RestartPolicyNever {
		t.Errorf("restartPolicy %s: a runner runs one job", p.Spec.RestartPolicy)
	}
	if g := p.Spec.TerminationGracePeriodSeconds; g == nil || *g < 30 {
		t.Errorf("grace %v", g)
	}
	if p.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] != "false" || p.Annotations["karpenter.sh/do-not-disrupt"] != "true" {
		t.Error("an autoscaler may take a busy runner away")
	}
}

func TestMirrorOnlyWhenConfigured(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{true, false} {
		d := containersOf(built(t, func(p *RunnerPod) { p.Mirror = on }))[dockerContainer]
		has := strings.Contains(strings.Join(d.Command, " "), "--registry-mirror=http://registry-mirror.slipway-actions-mirror.svc:5000")
		if has != on {
			t.Errorf("mirror %v, and Docker runs %v", on, d.Command)
		}
	}
}

// The reference's figures: 2 cores are 950m for the runner and 950m for Docker, with 100m
// for the sandbox.
func TestBudgetOfTheReference(t *testing.T) {
	t.Parallel()
	p := built(t, nil)
	for _, name := range []string{runnerContainer, dockerContainer} {
		l := containersOf(p)[name].Resources.Limits
		if l.Cpu().String() != "950m" || l.Memory().String() != "1792Mi" {
			t.Errorf("%s has the limits %s and %s", name, l.Cpu(), l.Memory())
		}
	}
	if got := workspaceSize(p); got != "8Gi" || len(p.Spec.Volumes) != 1 {
		t.Errorf("the workspace is %s, of %d volumes", got, len(p.Spec.Volumes))
	}
	least := built(t, func(p *RunnerPod) {
		p.Spec.Resources = slipway.RunnerResources{CPURequest: 200, CPULimit: 1000, MemoryRequest: 768 << 20, MemoryLimit: 4 * slipway.GiB}
	})
	for _, name := range []string{runnerContainer, dockerContainer} {
		r := containersOf(least)[name].Resources.Requests
		if r.Cpu().String() != "50m" || r.Memory().String() != "128Mi" {
			t.Errorf("%s reserves %s and %s of the least budget", name, r.Cpu(), r.Memory())
		}
	}
}

// Whatever the budget and the RuntimeClass, the pod as the scheduler and the quota count it
// is the slot's budget, and its disk is the workspace with its headroom.
func TestPodIsItsBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := runnerPod(nil)
		p.Spec.Scope.Forge = rapid.SampledFrom([]slipway.ForgeKind{slipway.GitHub, slipway.GitLab, slipway.Bitbucket}).Draw(t, "forge")
		p.JIT = testConfig(p.Spec.Scope.Forge)
		r := &p.Spec.Resources
		r.CPURequest = rapid.Int64Range(200, 8000).Draw(t, "cpu")
		r.CPULimit = r.CPURequest + rapid.Int64Range(0, 4000).Draw(t, "more cpu")
		r.MemoryRequest = rapid.Int64Range(768<<20, 16<<30).Draw(t, "memory")
		r.MemoryLimit = r.MemoryRequest + rapid.Int64Range(0, 8<<30).Draw(t, "more memory")
		p.Spec.WorkspaceGiB = rapid.IntRange(2, 16).Draw(t, "workspace")
		overhead := sandboxOverhead
		if rapid.Bool().Draw(t, "a class without overhead") {
			overhead = nil
		}
		pod, err := buildRunnerPod(p, overhead)
		if err != nil {
			t.Fatal(err)
		}
		pod.Spec.Overhead = overhead // as the API server's admission does
		if got, want := reservedBy(pod), p.Spec.Reserved(); got != want {
			t.Fatalf("the pod reserves %+v, its budget is %+v", got, want)
		}
		l := podresources.PodLimits(pod, podresources.PodResourcesOptions{})
		if l.Cpu().MilliValue() != r.CPULimit || l.Memory().Value() != r.MemoryLimit || l.StorageEphemeral().Value() != p.Spec.Reserved().Disk {
			t.Fatalf("the pod's limits are %v, its budget's %+v", l, r)
		}
		for name, c := range containersOf(pod) {
			for what, limit := range c.Resources.Limits {
				if request := c.Resources.Requests[what]; request.Cmp(limit) > 0 || request.Sign() <= 0 {
					t.Fatalf("%s requests %s of %s within a limit of %s", name, request.String(), what, limit.String())
				}
			}
			if len(c.Resources.Limits) != 3 {
				t.Fatalf("%s has the limits %v: the quota counts three", name, c.Resources.Limits)
			}
		}
	})
}

// What jobs and Docker write is on the one bounded volume, under the same paths in both.
func TestWorkspaceIsSharedAndBounded(t *testing.T) {
	t.Parallel()
	all := containersOf(built(t, nil))
	mounts := func(c corev1.Container) map[string]string {
		out := map[string]string{}
		for _, m := range c.VolumeMounts {
			out[m.MountPath] = m.SubPath
		}
		return out
	}
	runner, docker, prepare := mounts(all[runnerContainer]), mounts(all[dockerContainer]), mounts(all[prepareContainer])
	for path, sub := range runner {
		if docker[path] != sub {
			t.Errorf("Docker has %q where the runner has %s", docker[path], path)
		}
	}
	if runner["/home/runner"] != "home" || docker["/var/lib/docker"] != "docker" || prepare["/workspace/home"] != "home" {
		t.Errorf("mounts: runner %v, docker %v, prepare %v", runner, docker, prepare)
	}
	if _, sees := runner["/var/lib/docker"]; sees {
		t.Error("the runner sees Docker's own files")
	}
}

func TestRunnerPodRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*RunnerPod)
		says   string
	}{
		{"no image", func(p *RunnerPod) { p.Images.Docker = "" }, "no image of the runner or of its Docker daemon is set"},
		{"no image of GitLab's", func(p *RunnerPod) { p.Spec.Scope.Forge, p.Images.GitLab = slipway.GitLab, "" }, "no image of the GitLab runner is set"},
		{"no image of Bitbucket's", func(p *RunnerPod) { p.Spec.Scope.Forge, p.Images.Bitbucket = slipway.Bitbucket, "" }, "no image of the Bitbucket runner is set"},
		{"a configuration that Bitbucket's is not", func(p *RunnerPod) { p.Spec.Scope.Forge = slipway.Bitbucket }, "is not of the form"},
		{"no configuration", func(p *RunnerPod) { p.JIT = "" }, "has no configuration"},
		{"no slot", func(p *RunnerPod) { p.Slot = 0 }, "no name, pool, slot"},
		{"an architecture that runners have not", func(p *RunnerPod) { p.Spec.Architecture = "riscv64" }, `"riscv64" is not an architecture`},
		{"a workspace of 1 GiB", func(p *RunnerPod) { p.Spec.WorkspaceGiB = 1 }, "may be 2 to 16"},
		{"a workspace of 17 GiB", func(p *RunnerPod) { p.Spec.WorkspaceGiB = 17 }, "may be 2 to 16"},
		{"no time", func(p *RunnerPod) { p.Spec.Timeout = 0 }, "its timeout is 0s"},
		{"less than its sandbox takes", func(p *RunnerPod) { p.Spec.Resources.MemoryRequest = 512 << 20 }, "a runner cannot live in"},
		{"a request over its limit", func(p *RunnerPod) { p.Spec.Resources.CPULimit = 1000 }, "a runner cannot live in"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := buildRunnerPod(runnerPod(tc.change), sandboxOverhead)
			if !slipway.Is(err, slipway.Invalid) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v, want %q", err, tc.says)
			}
		})
	}
	_, err := buildRunnerPod(runnerPod(nil), corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")})
	if !slipway.Is(err, slipway.Conflict) || !strings.Contains(err.Error(), "adds 0 CPU and 2Gi memory to each pod, more than the 100m and 512Mi") {
		t.Errorf("a RuntimeClass that takes more than the budget has for it: %v", err)
	}
}

// testConfig is a configuration of a forge's runner.
func testConfig(f slipway.ForgeKind) string {
	if f == slipway.Bitbucket {
		return `{"account_uuid":"{a-1}","runner_uuid":"{r-1}","oauth_client_id":"id","oauth_client_secret":"` + testJIT + `"}`
	}
	return testJIT
}

// Bitbucket's program has its step in containers of the pod's own Docker daemon, which find
// its folders under the same paths.
func TestABitbucketRunnerSharesTheFoldersOfItsSteps(t *testing.T) {
	t.Parallel()
	p := built(t, func(p *RunnerPod) {
		p.Spec.Scope.Forge, p.JIT, p.Mirror = slipway.Bitbucket, testConfig(slipway.Bitbucket), true
	})
	r, d := containersOf(p)[runnerContainer], containersOf(p)[dockerContainer]
	told := map[string]string{}
	for _, e := range r.Env {
		told[e.Name] = e.Value
	}
	if told["WORKING_DIRECTORY"] != stepsFolder || told["DOCKER_URI"] != dockerAddress || told["RUNTIME_PREREQUISITES_ENABLED"] != "true" || told["JAVA_TOOL_OPTIONS"] != "-XX:-UsePerfData" {
		t.Errorf("it is told %v", told)
	}
	if *r.SecurityContext.RunAsUser != 0 || !slices.Equal(r.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(r.SecurityContext.Capabilities.Add) > 0 {
		t.Errorf("it is %+v", r.SecurityContext)
	}
	at := func(c corev1.Container, path string) string {
		for _, m := range c.VolumeMounts {
			if m.MountPath == path {
				return m.Name + "/" + m.SubPath
			}
		}
		return ""
	}
	if got := at(r, stepsFolder); got == "" || got != at(d, stepsFolder) {
		t.Errorf("the folder of its steps is %q, and Docker's %q", got, at(d, stepsFolder))
	}
	if got := at(r, "/var/lib/docker/containers"); got == "" || got != at(d, "/var/lib/docker")+"/containers" {
		t.Errorf("the logs are %q, and Docker's files %q", got, at(d, "/var/lib/docker"))
	}
	if strings.Contains(strings.Join(d.Command, " "), "registry-mirror") {
		t.Error("its Docker asks the mirror of Docker Hub")
	}
	if prepare := strings.Join(containersOf(p)[prepareContainer].Command, " "); !strings.Contains(prepare, "mkdir -p /workspace/docker/containers") {
		t.Errorf("its workspace is prepared by %q", prepare)
	}
}

// World: a real shell, and a stand-in for the program's start script.
func TestBitbucketsScriptTellsTheProgramWhatItWasRegisteredWith(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ config, want string }{
		{
			`{"account_uuid":"{a-1}","repository_uuid":"{b-2}","runner_uuid":"{c-3}","oauth_client_id":"id_4","oauth_client_secret":"s-5+/="}`,
			"{a-1}|{b-2}|{c-3}|id_4|s-5+/=|unset",
		},
		{
			`{"account_uuid":"{a-1}","runner_uuid":"{c-3}","oauth_client_id":"id_4","oauth_client_secret":"s"}`,
			"{a-1}|unset|{c-3}|id_4|s|unset",
		},
	} {
		dir := t.TempDir()
		program := "#!/bin/sh\necho \"$ACCOUNT_UUID|${REPOSITORY_UUID-unset}|$RUNNER_UUID|$OAUTH_CLIENT_ID|$OAUTH_CLIENT_SECRET|${RUNNER_CONFIG-unset}\"\n"
		if err := os.WriteFile(filepath.Join(dir, "entrypoint.sh"), []byte(program), 0o700); err != nil { //nolint:gosec // it is to be run
			t.Fatal(err)
		}
		script := strings.Replace(bitbucketScript, "/opt/atlassian/pipelines/runner", dir, 1)
		c := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "RUNNER_CONFIG=" + tc.config}
		out, err := c.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != tc.want {
			t.Errorf("it told %q, %v; want %q", got, err, tc.want)
		}
	}
}
