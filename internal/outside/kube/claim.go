package kube

import (
	"context"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

func copyAll(to io.Writer, from io.Reader) (int64, error) { return io.Copy(to, from) }

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// Claim is a volume claim that holds a component's data.
type Claim struct {
	Name     string
	Volume   string // of the pod template
	Node     string // where a pod uses it now; empty: nowhere
	Workload Workload
}

// Claims finds the claims behind volumes of workloads: one that the pod template names, or
// those that a StatefulSet has made for its pods, also while it has none. Each volume must
// be behind one, or its data would be thought safe and is not.
func (c *Client) Claims(ctx context.Context, ws []Workload, volumes []string) ([]Claim, error) {
	var out []Claim
	for _, volume := range volumes {
		found := false
		for _, w := range ws {
			names, err := c.claimsOf(ctx, w, volume)
			if err != nil {
				return nil, err
			}
			for _, name := range names {
				found = true
				if !slices.ContainsFunc(out, func(o Claim) bool { return o.Name == name }) {
					out = append(out, Claim{Name: name, Volume: volume, Workload: w})
				}
			}
		}
		if !found {
			return nil, slipway.Errorf(slipway.Conflict, "no workload of the component has a volume %s", volume).
				WithHint("correct the component's backup.volumes in the driver")
		}
	}
	return out, c.whereUsed(ctx, ws, out)
}

func (c *Client) claimsOf(ctx context.Context, w Workload, volume string) ([]string, error) {
	for _, v := range w.template.Spec.Volumes {
		if v.Name != volume {
			continue
		}
		if v.PersistentVolumeClaim == nil {
			return nil, slipway.Errorf(slipway.Conflict, "the volume %s of %s is no claim: what it holds does not outlive a pod, and is not backed up", volume, w).
				WithHint("correct the component's backup.volumes in the driver")
		}
		return []string{v.PersistentVolumeClaim.ClaimName}, nil
	}
	if w.Kind != KindStatefulSet {
		return nil, nil
	}
	var set appsv1.StatefulSet
	if err := c.api.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, &set); err != nil {
		return nil, explain(err, "read the %s in namespace %s", w, w.Namespace)
	}
	if !slices.ContainsFunc(set.Spec.VolumeClaimTemplates, func(p corev1.PersistentVolumeClaim) bool { return p.Name == volume }) {
		return nil, nil
	}
	var claims corev1.PersistentVolumeClaimList
	if err := c.api.List(ctx, &claims, client.InNamespace(w.Namespace)); err != nil {
		return nil, explain(err, "list the volume claims in namespace %s", w.Namespace)
	}
	var out []string
	for _, p := range claims.Items {
		if rest, ok := strings.CutPrefix(p.Name, volume+"-"+set.Name+"-"); ok && ordinal.MatchString(rest) {
			out = append(out, p.Name)
		}
	}
	slices.Sort(out)
	return out, nil
}

var ordinal = regexp.MustCompile(`^[0-9]+$`)

// whereUsed adds the node of the pod that uses each claim.
func (c *Client) whereUsed(ctx context.Context, ws []Workload, claims []Claim) error {
	if len(claims) == 0 || len(ws) == 0 {
		return nil
	}
	var pods corev1.PodList
	if err := c.api.List(ctx, &pods, client.InNamespace(ws[0].Namespace)); err != nil {
		return explain(err, "list the pods in namespace %s", ws[0].Namespace)
	}
	for i := range claims {
		for _, p := range pods.Items {
			if p.Spec.NodeName == "" || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
				continue
			}
			if slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
				return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claims[i].Name
			}) {
				claims[i].Node = p.Spec.NodeName
			}
		}
	}
	return nil
}

// ServiceOf finds the name under which the pods of a workload are reached: that of a
// Service of theirs, one with an address of its own before a headless one. Empty when
// there is none.
func (c *Client) ServiceOf(ctx context.Context, w Workload) (name string, port int, err error) {
	var list corev1.ServiceList
	if err := c.api.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
		return "", 0, explain(err, "list the Services in namespace %s", w.Namespace)
	}
	slices.SortFunc(list.Items, func(a, b corev1.Service) int {
		if headless := func(s corev1.Service) bool { return s.Spec.ClusterIP == corev1.ClusterIPNone }; headless(a) != headless(b) {
			if headless(b) {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, s := range list.Items {
		if len(s.Spec.Selector) == 0 || len(s.Spec.Ports) == 0 || !labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(w.PodLabels)) {
			continue
		}
		return s.Name, int(s.Spec.Ports[0].Port), nil
	}
	return "", 0, nil
}
