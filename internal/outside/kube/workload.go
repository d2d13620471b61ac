package kube

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// The kinds of workloads that a component may have.
const (
	KindDeployment  = "Deployment"
	KindStatefulSet = "StatefulSet"
	KindDaemonSet   = "DaemonSet"
	KindCronJob     = "CronJob"
)

// Workload is one Deployment, StatefulSet, DaemonSet or CronJob.
type Workload struct {
	Kind      string
	Namespace string
	Name      string
	Component string            // by its label; empty: none
	Labels    map[string]string // its own
	PodLabels map[string]string // of its pod template
	Replicas  int               // wanted; 0 for kinds that have none
	Ready     int               // pods that are ready; active Jobs of a CronJob
	Stopped   bool              // by Slipway's means: no replicas, suspended, or no node
	Remember  string            // the replicas it had before it was stopped; empty: not known

	Containers []Container // the regular ones, in pod order

	uid      types.UID
	selector labels.Selector // of its pods; nil for a CronJob
	template corev1.PodTemplateSpec
}

// Container is what people ask of a container.
type Container struct {
	Name  string
	Image string
}

// String names the workload as people do: Deployment web.
func (w Workload) String() string { return w.Kind + " " + w.Name }

// Object is the reference of the workload.
func (w Workload) Object() Object {
	o := Object{Version: "v1", Group: "apps", Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Component: w.Component}
	if w.Kind == KindCronJob {
		o.Group = "batch"
	}
	return o
}

// Matches reports whether selector picks the workload: by its own labels or by those of
// its pods, since charts differ in which of the two they are careful with.
func (w Workload) Matches(selector map[string]string) bool {
	return len(selector) > 0 && (within(selector, w.Labels) || within(selector, w.PodLabels))
}

// ContainerNames lists the regular containers in pod order.
func (w Workload) ContainerNames() []string {
	out := make([]string, len(w.Containers))
	for i, c := range w.Containers {
		out[i] = c.Name
	}
	return out
}

func (w Workload) container(name string) *corev1.Container {
	for i := range w.template.Spec.Containers {
		if w.template.Spec.Containers[i].Name == name {
			return &w.template.Spec.Containers[i]
		}
	}
	return nil
}

// Object names one object of the cluster. Component is set when it is a component's workload.
type Object struct {
	Group     string `json:"group,omitempty"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"` // empty: cluster-wide
	Name      string `json:"name"`
	Component string `json:"component,omitempty"`
}

// String names the object as people do: Deployment web.
func (o Object) String() string { return o.Kind + " " + o.Name }

// Workloads returns the application's workloads that selector picks, sorted by kind and
// name; with an empty selector, all of the application's.
func (c *Client) Workloads(ctx context.Context, app slipway.Application, selector map[string]string) ([]Workload, error) {
	in := []client.ListOption{client.InNamespace(app.Namespace), client.MatchingLabels{LabelApplication: app.Name}}
	var (
		deployments  appsv1.DeploymentList
		statefulSets appsv1.StatefulSetList
		daemonSets   appsv1.DaemonSetList
		cronJobs     batchv1.CronJobList
		all          []Workload
	)
	for _, list := range []client.ObjectList{&deployments, &statefulSets, &daemonSets, &cronJobs} {
		if err := c.api.List(ctx, list, in...); err != nil {
			return nil, explain(err, "list the workloads of %s in namespace %s", app.Name, app.Namespace)
		}
	}
	for i := range deployments.Items {
		all = append(all, ofDeployment(&deployments.Items[i]))
	}
	for i := range statefulSets.Items {
		all = append(all, ofStatefulSet(&statefulSets.Items[i]))
	}
	for i := range daemonSets.Items {
		all = append(all, ofDaemonSet(&daemonSets.Items[i]))
	}
	for i := range cronJobs.Items {
		all = append(all, ofCronJob(&cronJobs.Items[i]))
	}
	if len(selector) > 0 {
		all = slices.DeleteFunc(all, func(w Workload) bool { return !w.Matches(selector) })
	}
	sortWorkloads(all)
	return all, nil
}

func sortWorkloads(ws []Workload) {
	slices.SortStableFunc(ws, func(a, b Workload) int {
		return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
}

// WorkloadOf reads the workload in a manifest; ok is false for every other kind.
func WorkloadOf(u *unstructured.Unstructured) (w Workload, ok bool, err error) {
	convert := func(into any) error {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into); err != nil {
			return fmt.Errorf("read the %s %s: %w", u.GetKind(), u.GetName(), err)
		}
		return nil
	}
	switch kind := u.GroupVersionKind(); {
	case kind.Group == "apps" && kind.Kind == KindDeployment:
		var d appsv1.Deployment
		err = convert(&d)
		w = ofDeployment(&d)
	case kind.Group == "apps" && kind.Kind == KindStatefulSet:
		var s appsv1.StatefulSet
		err = convert(&s)
		w = ofStatefulSet(&s)
	case kind.Group == "apps" && kind.Kind == KindDaemonSet:
		var d appsv1.DaemonSet
		err = convert(&d)
		w = ofDaemonSet(&d)
	case kind.Group == "batch" && kind.Kind == KindCronJob:
		var j batchv1.CronJob
		err = convert(&j)
		w = ofCronJob(&j)
	default:
		return Workload{}, false, nil
	}
	return w, err == nil, err
}

func ofDeployment(d *appsv1.Deployment) Workload {
	w := workload(KindDeployment, &d.ObjectMeta, d.Spec.Selector, d.Spec.Template)
	w.Replicas, w.Ready = count(d.Spec.Replicas), int(d.Status.ReadyReplicas)
	w.Stopped = w.Replicas == 0
	return w
}

func ofStatefulSet(s *appsv1.StatefulSet) Workload {
	w := workload(KindStatefulSet, &s.ObjectMeta, s.Spec.Selector, s.Spec.Template)
	w.Replicas, w.Ready = count(s.Spec.Replicas), int(s.Status.ReadyReplicas)
	w.Stopped = w.Replicas == 0
	return w
}

func ofDaemonSet(d *appsv1.DaemonSet) Workload {
	w := workload(KindDaemonSet, &d.ObjectMeta, d.Spec.Selector, d.Spec.Template)
	w.Ready = int(d.Status.NumberReady)
	w.Stopped = within(stoppedNode, d.Spec.Template.Spec.NodeSelector)
	return w
}

func ofCronJob(j *batchv1.CronJob) Workload {
	w := workload(KindCronJob, &j.ObjectMeta, nil, j.Spec.JobTemplate.Spec.Template)
	w.Ready = len(j.Status.Active)
	w.Stopped = j.Spec.Suspend != nil && *j.Spec.Suspend
	return w
}

func workload(kind string, m *metav1.ObjectMeta, selector *metav1.LabelSelector, t corev1.PodTemplateSpec) Workload {
	w := Workload{
		Kind: kind, Namespace: m.Namespace, Name: m.Name, Component: m.Labels[LabelComponent],
		Labels: m.Labels, PodLabels: t.Labels, Remember: m.Annotations[AnnotationReplicas],
		uid: m.UID, template: t,
	}
	if selector != nil {
		// An error here means a selector that the API server would have refused.
		if s, err := metav1.LabelSelectorAsSelector(selector); err == nil {
			w.selector = s
		}
	}
	for _, c := range t.Spec.Containers {
		w.Containers = append(w.Containers, Container{Name: c.Name, Image: c.Image})
	}
	return w
}

// count is the number of replicas, which is one when the manifest does not say.
func count(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// clusterWide are the built-in kinds that belong to no namespace.
var clusterWide = map[string]bool{
	"Namespace": true, "Node": true, "PersistentVolume": true, "CustomResourceDefinition": true,
	"ClusterRole": true, "ClusterRoleBinding": true, "PriorityClass": true, "StorageClass": true,
	"VolumeAttributesClass": true, "IngressClass": true, "RuntimeClass": true, "APIService": true,
	"CSIDriver": true, "CSINode": true, "VolumeAttachment": true, "CertificateSigningRequest": true,
	"ClusterTrustBundle": true, "DeviceClass": true, "ResourceSlice": true, "IPAddress": true,
	"ServiceCIDR": true, "FlowSchema": true, "PriorityLevelConfiguration": true,
	"MutatingWebhookConfiguration": true, "ValidatingWebhookConfiguration": true,
	"ValidatingAdmissionPolicy": true, "ValidatingAdmissionPolicyBinding": true,
	"MutatingAdmissionPolicy": true, "MutatingAdmissionPolicyBinding": true,
}

// ClusterWide reports whether the object is of a built-in kind that belongs to no
// namespace. Of a custom kind only the cluster knows.
func ClusterWide(o Object) bool { return builtIn(o.Group) && clusterWide[o.Kind] }

// builtIn reports whether the API group is Kubernetes's own.
func builtIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}
