package kube

// World: pure.

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"slipway.dev/slipway/internal/slipway"
)

var guestbook = slipway.Application{ID: 7, Project: "shop", Environment: "production", Namespace: "shop-production", Name: "guestbook"}

// server is a workload with everything that a command may or may not take over.
func server() Workload {
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: guestbook.Namespace, Name: "server", Labels: map[string]string{LabelComponent: "server"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "server"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "server"}},
				Spec: corev1.PodSpec{
					ServiceAccountName: "reader",
					RuntimeClassName:   new("slipway-actions"),
					NodeSelector:       map[string]string{"disk": "fast"},
					Tolerations:        []corev1.Toleration{{Key: "batch", Operator: corev1.TolerationOpExists}},
					ImagePullSecrets:   []corev1.LocalObjectReference{{Name: "pull"}},
					SecurityContext:    &corev1.PodSecurityContext{RunAsNonRoot: new(true)},
					InitContainers:     []corev1.Container{{Name: "wait", Image: "init:1"}},
					Volumes:            []corev1.Volume{{Name: "data"}},
					Affinity: &corev1.Affinity{
						NodeAffinity: &corev1.NodeAffinity{},
						PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
							{TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "server"}}},
							{TopologyKey: "kubernetes.io/hostname", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "noisy"}}},
						}},
					},
					Containers: []corev1.Container{
						{Name: "proxy", Image: "proxy:1"},
						{
							Name: "server", Image: "registry.example.com/guestbook:1.0.0", Args: []string{"web"},
							Env: []corev1.EnvVar{
								{Name: "HOST", Value: "db"}, {Name: "URL", Value: "postgres://$(HOST)"}, {Name: "OLD", Value: "stays"},
							},
							EnvFrom:         []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "chart"}}}},
							Ports:           []corev1.ContainerPort{{ContainerPort: 8000}},
							VolumeMounts:    []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
							LivenessProbe:   &corev1.Probe{},
							SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false)},
							Resources: corev1.ResourceRequirements{
								Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
								Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")},
							},
						},
					},
				},
			},
		},
	}
	return ofDeployment(d)
}

func migrate() JobSpec {
	from := server()
	return JobSpec{
		App: guestbook, Release: "guestbook", TaskID: 41, TaskKind: slipway.UpgradeTask, StepID: 3,
		FlowRunID: "0f1e", CallKey: "0f1e/1/4",
		Command: []string{"guestbook", "migrate"}, Image: "registry.example.com/guestbook:1.1.0",
		From: &from, Container: "server", Timeout: 10 * time.Minute,
		Env: []EnvVar{{Name: "HOST", Value: "db-2"}, {Name: "NEW", Value: "1"}, {Name: "PASSWORD", SecretName: "guestbook-slipway", SecretKey: "db"}},
	}
}

func TestBuildJobIsTheCommandAlone(t *testing.T) {
	t.Parallel()
	job, err := BuildJob(migrate())
	if err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template.Spec
	c := pod.Containers[0]
	for what, ok := range map[string]bool{
		"no second pod, ever":               *job.Spec.BackoffLimit == 0 && *job.Spec.Parallelism == 1 && *job.Spec.Completions == 1,
		"no restart":                        pod.RestartPolicy == corev1.RestartPolicyNever,
		"ended within half a minute":        *pod.TerminationGracePeriodSeconds <= 15,
		"no removal by time":                job.Spec.TTLSecondsAfterFinished == nil,
		"the time-out is the deadline":      *job.Spec.ActiveDeadlineSeconds == 600,
		"the command replaces ENTRYPOINT":   cmp.Equal(c.Command, []string{"guestbook", "migrate"}) && c.Args == nil,
		"the image is the action's":         c.Image == "registry.example.com/guestbook:1.1.0",
		"the log's end survives the pod":    c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError,
		"no sidecar of a mesh":              job.Spec.Template.Annotations["sidecar.istio.io/inject"] == "false" && job.Spec.Template.Annotations["linkerd.io/inject"] == "disabled",
		"no label of the component's pods":  job.Spec.Template.Labels["app"] == "",
		"our labels":                        job.Labels[LabelApplication] == "guestbook" && job.Labels[LabelTask] == "41" && job.Labels[LabelStep] == "3" && job.Labels[LabelFlowRun] == "0f1e",
		"envFrom":                           len(c.EnvFrom) == 1 && c.EnvFrom[0].SecretRef.Name == "chart",
		"pull secrets":                      len(pod.ImagePullSecrets) == 1,
		"service account, with its token":   pod.ServiceAccountName == "reader" && pod.AutomountServiceAccountToken == nil,
		"security contexts":                 *pod.SecurityContext.RunAsNonRoot && !*c.SecurityContext.AllowPrivilegeEscalation,
		"placement":                         pod.NodeSelector["disk"] == "fast" && len(pod.Tolerations) == 1 && *pod.RuntimeClassName == "slipway-actions",
		"anti-affinity to others only":      len(pod.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) == 1 && pod.Affinity.NodeAffinity != nil,
		"limits, no requests":               len(c.Resources.Limits) == 1 && c.Resources.Requests == nil,
		"no ports, probes, mounts, volumes": c.Ports == nil && c.LivenessProbe == nil && c.VolumeMounts == nil && pod.Volumes == nil,
		"no init containers, no sidecars":   pod.InitContainers == nil && len(pod.Containers) == 1,
		"the name is the release's":         job.Name == "guestbook-action" && job.Namespace == "shop-production",
	} {
		if !ok {
			t.Errorf("not so: %s", what)
		}
	}
	want := []corev1.EnvVar{
		{Name: "HOST", Value: "db-2"}, {Name: "URL", Value: "postgres://$(HOST)"}, {Name: "OLD", Value: "stays"},
		{Name: "NEW", Value: "1"},
		{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "guestbook-slipway"}, Key: "db"}}},
	}
	if diff := cmp.Diff(c.Env, want); diff != "" {
		t.Errorf("the environment (-got +want):\n%s", diff)
	}
}

func TestBuildJobWithoutAComponentHasAnEmptyEnvironment(t *testing.T) {
	t.Parallel()
	s := migrate()
	s.From, s.Env, s.Timeout = nil, nil, 0
	job, err := BuildJob(s)
	if err != nil {
		t.Fatal(err)
	}
	pod := job.Spec.Template.Spec
	if len(pod.Containers[0].Env) != 0 || pod.ServiceAccountName != "" || *pod.AutomountServiceAccountToken {
		t.Errorf("env %v, service account %q, token mounted %v", pod.Containers[0].Env, pod.ServiceAccountName, *pod.AutomountServiceAccountToken)
	}
	if got := *job.Spec.ActiveDeadlineSeconds; got != 3600 {
		t.Errorf("the deadline is %d s, want the default of an hour", got)
	}
}

func TestBuildJobOfAStoppedDaemonSetCanBeScheduled(t *testing.T) {
	t.Parallel()
	s := migrate()
	key, value := StoppedNode()
	s.From.template.Spec.NodeSelector = map[string]string{key: value, "disk": "fast"}
	job, err := BuildJob(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(job.Spec.Template.Spec.NodeSelector, map[string]string{"disk": "fast"}); diff != "" {
		t.Errorf("the node selector (-got +want):\n%s", diff)
	}
	if s.From.template.Spec.NodeSelector[key] != value {
		t.Error("the component's own template was changed")
	}
}

func TestBuildJobHash(t *testing.T) {
	t.Parallel()
	hash := func(change func(*JobSpec)) string {
		s := migrate()
		change(&s)
		job, err := BuildJob(s)
		if err != nil {
			t.Fatal(err)
		}
		return job.Annotations[annotationSpecHash]
	}
	same := hash(func(*JobSpec) {})
	for name, change := range map[string]func(*JobSpec){
		"another command": func(s *JobSpec) { s.Command = []string{"guestbook", "check"} },
		"another image":   func(s *JobSpec) { s.Image = "x" },
		"another value":   func(s *JobSpec) { s.Env[0].Value = "db-3" },
		"another time":    func(s *JobSpec) { s.Timeout = time.Minute },
		"another task":    func(s *JobSpec) { s.TaskID++ },
	} {
		if hash(change) == same {
			t.Errorf("%s has the same hash", name)
		}
	}
	if hash(func(*JobSpec) {}) != same {
		t.Error("the same spec has another hash")
	}
}

func TestBuildJobRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		change func(*JobSpec)
		want   string
	}{
		{"an empty command", func(s *JobSpec) { s.Command = nil }, "the command is empty"},
		{"no image", func(s *JobSpec) { s.Image = "" }, `the command "guestbook" has no image`},
		{"a container that is not there", func(s *JobSpec) { s.Container = "web" }, `Deployment server has no container "web"; it has: proxy, server`},
	} {
		s := migrate()
		tc.change(&s)
		_, err := BuildJob(s)
		if CodeOf(err) != slipway.CodeInvalidArgument || err.Error() != tc.want {
			t.Errorf("%s: error %v with code %s, want %s", tc.name, err, CodeOf(err), tc.want)
		}
	}
}

func TestJobName(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ release, want string }{
		{"guestbook", "guestbook-action"},
		{"a23456789b23456789c23456789d23456789e23456789", "a23456789b23456789c23456789d23456789e23456789-action"},
		{"a23456789b23456789c23456789d23456789e23456789f", "a23456789b23456789c23456789d23456789-33d3f8e3-action"},
	} {
		got := JobName(tc.release)
		if got != tc.want || len(got) > 52 {
			t.Errorf("JobName(%s) = %s (%d characters), want %s", tc.release, got, len(got), tc.want)
		}
	}
	if JobName("a23456789b23456789c23456789d23456789e23456789f") == JobName("a23456789b23456789c23456789d23456789e23456789g") {
		t.Error("two long releases have one name")
	}
}
