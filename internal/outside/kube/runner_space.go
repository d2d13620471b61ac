package kube

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// RunnerSpace is the namespace of a runner application: what its pods may take together,
// and whom they may reach.
type RunnerSpace struct {
	Application slipway.Application
	// Pools are the application's, each with all the runners that it may have at once.
	Pools []RunnerShare
	// AllowEgress are networks that runners may reach although they are private: of a GitHub
	// Enterprise Server, for one.
	AllowEgress []string
	// DNS are addresses of name servers beside the cluster's own kube-dns, such as that of
	// a cache on each node. Only their port 53 is open.
	DNS []string
	// Mirror lets runners reach the installation's mirror of Docker Hub.
	Mirror bool
	// Existing makes no namespace: what is there is put right, and what is not is left so.
	// It is for those who keep spaces beside a task that may be removing one.
	Existing bool
}

// RunnerShare is one pool's part of a RunnerSpace.
type RunnerShare struct {
	Spec  slipway.PoolSpec
	Slots int
}

// The names of what a runner namespace holds beside pods and their Secrets.
const (
	runnerQuotaName   = "slipway-runners"
	policyDenyName    = "slipway-deny-all"
	policyPublicName  = "slipway-runners-public"
	policyDNSName     = "slipway-runners-dns"
	policyMirrorName  = "slipway-runners-mirror"
	policyAllowedName = "slipway-runners-allowed"
)

// podSecurity is how strict the cluster is with pods of the namespace. Nothing short of
// privileged lets the Docker sidecar in, although it is privileged within its sandbox
// only. The namespace therefore holds nothing but runner pods, and no account but
// Slipway's needs a right in it.
var podSecurity = map[string]string{
	"pod-security.kubernetes.io/enforce": "privileged",
	"pod-security.kubernetes.io/warn":    "privileged",
	"pod-security.kubernetes.io/audit":   "privileged",
}

// PrepareRunners makes the namespace of a runner application with its quota and its
// network policies, and puts back what is not as it should be. It may be called at any
// time, and writes only what differs. The policies come before any pod, since a pod is
// launched only into a namespace that was prepared.
func (c *Client) PrepareRunners(ctx context.Context, s RunnerSpace) error {
	there, err := c.ensureRunnerNamespace(ctx, s.Application, !s.Existing)
	if err != nil || !there {
		return err
	}
	inside, err := c.clusterNetworks(ctx)
	if err != nil {
		return err
	}
	policies, err := runnerPolicies(s, inside)
	if err != nil {
		return err
	}
	// The denial first: what the others open is closed until then.
	for _, p := range policies {
		if err := c.put(ctx, s.Application, p); err != nil {
			return err
		}
	}
	if err := c.dropPolicies(ctx, s.Application, policies); err != nil {
		return err
	}
	return c.put(ctx, s.Application, runnerQuota(s))
}

// runnersReady reports whether the namespace was prepared: it is ours, and denies what is
// not allowed. LaunchRunner asks, so that no runner ever starts in the open.
func (c *Client) runnersReady(ctx context.Context, app slipway.Application) error {
	var deny networkingv1.NetworkPolicy
	err := c.api.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: policyDenyName}, &deny)
	if err == nil && c.isOurs(deny.Labels, app) && reflect.DeepEqual(deny.Spec, denyAll().Spec) {
		return nil
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return explain(err, "read the network policies of namespace %s", app.Namespace)
	}
	return slipway.Errorf(slipway.Conflict, "the namespace %s is not prepared for runners: its network policies are missing or changed", app.Namespace).
		WithHint("they are put back within minutes; if this stays, see who changes them, or deploy the application again")
}

// ensureRunnerNamespace makes the namespace, or checks that it is this application's. One
// that somebody else made is refused: privileged pods would be let into it. Without make,
// there is false when there is none, or it is on its way out.
func (c *Client) ensureRunnerNamespace(ctx context.Context, app slipway.Application, make bool) (there bool, err error) {
	want := merged(podSecurity, c.runnerSpaceLabels(app))
	for try := 0; ; try++ {
		var ns corev1.Namespace
		err := c.api.Get(ctx, client.ObjectKey{Name: app.Namespace}, &ns)
		switch {
		case apierrors.IsNotFound(err) && !make:
			return false, nil
		case apierrors.IsNotFound(err):
			ns = corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app.Namespace, Labels: want}}
			err = c.api.Create(ctx, &ns, client.FieldOwner(fieldManager))
			if err == nil {
				return true, nil
			}
		case err != nil:
			return false, explain(err, "read namespace %s", app.Namespace)
		case !c.isOurs(ns.Labels, app):
			return false, foreignRunnerSpace(app, ns.Labels)
		case ns.DeletionTimestamp != nil && !make:
			return false, nil
		case ns.DeletionTimestamp != nil:
			return false, slipway.Errorf(slipway.Conflict, "the namespace %s is being deleted", app.Namespace).
				WithHint("it is tried again when it is gone")
		case within(want, ns.Labels):
			return true, nil
		default:
			ns.Labels = merged(ns.Labels, want)
			err = c.api.Update(ctx, &ns, client.FieldOwner(fieldManager))
			if err == nil {
				return true, nil
			}
		}
		if !again(err) || try == maxTries {
			return false, explain(err, "write namespace %s", app.Namespace)
		}
		if err := pause(ctx, try); err != nil {
			return false, fmt.Errorf("write namespace %s: %w", app.Namespace, err)
		}
	}
}

func foreignRunnerSpace(app slipway.Application, labels map[string]string) error {
	whose := "was not made by Slipway"
	if other := labels[LabelInstallation]; other != "" {
		whose = fmt.Sprintf("belongs to installation %s, application %s", other, labels[LabelApplication])
	}
	return slipway.Errorf(slipway.Conflict, "the namespace %s %s; runners of %s are not put into it", app.Namespace, whose, app.Ref()).
		WithHint("remove the namespace or give the application another name")
}

// runnerSpaceLabels mark everything of a runner application.
func (c *Client) runnerSpaceLabels(app slipway.Application) map[string]string {
	return map[string]string{LabelManagedBy: managedBy, LabelInstallation: c.installation, LabelApplication: decimal(app.ID)}
}

func (c *Client) isOurs(labels map[string]string, app slipway.Application) bool {
	return within(c.runnerSpaceLabels(app), labels)
}

// put makes an object of a runner namespace, or puts it back as it is wanted. An object of
// that name that is not ours is taken over: the namespace is ours alone, and what stands
// in the place of a policy would open it.
func (c *Client) put(ctx context.Context, app slipway.Application, want client.Object) error {
	kind := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", want), "*v1."))
	want.SetNamespace(app.Namespace)
	want.SetLabels(c.runnerSpaceLabels(app))
	for try := 0; ; try++ {
		have := copied(want)
		err := c.api.Get(ctx, client.ObjectKeyFromObject(want), have)
		switch {
		case apierrors.IsNotFound(err):
			fresh := copied(want)
			if err = c.api.Create(ctx, fresh, client.FieldOwner(fieldManager)); err == nil {
				return nil
			}
		case err != nil:
			return explain(err, "read the %s %s in namespace %s", kind, want.GetName(), app.Namespace)
		case within(want.GetLabels(), have.GetLabels()) && sameSpec(want, have):
			return nil
		default:
			next := copied(want)
			next.SetLabels(merged(have.GetLabels(), want.GetLabels()))
			next.SetResourceVersion(have.GetResourceVersion())
			if err = c.api.Update(ctx, next, client.FieldOwner(fieldManager)); err == nil {
				return nil
			}
		}
		if !again(err) || try == maxTries {
			return explain(err, "write the %s %s in namespace %s", kind, want.GetName(), app.Namespace)
		}
		if err := pause(ctx, try); err != nil {
			return fmt.Errorf("write the %s %s in namespace %s: %w", kind, want.GetName(), app.Namespace, err)
		}
	}
}

func copied(o client.Object) client.Object {
	return o.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of what it copies
}

// sameSpec compares what the API server gives back with what was written. Both kinds are
// written with all their defaults, so that equal means equal.
func sameSpec(a, b client.Object) bool {
	switch a := a.(type) {
	case *networkingv1.NetworkPolicy:
		b, ok := b.(*networkingv1.NetworkPolicy)
		return ok && reflect.DeepEqual(a.Spec, b.Spec)
	case *corev1.ResourceQuota:
		b, ok := b.(*corev1.ResourceQuota)
		if !ok {
			return false
		}
		x, y := a.Spec.Hard, b.Spec.Hard
		if len(x) != len(y) {
			return false
		}
		for name, q := range x {
			if other, ok := y[name]; !ok || q.Cmp(other) != 0 {
				return false
			}
		}
		return len(b.Spec.Scopes) == 0 && b.Spec.ScopeSelector == nil
	}
	return false
}

// dropPolicies removes network policies that are not wanted. Policies add up, so one more
// is one more opening, whoever made it.
func (c *Client) dropPolicies(ctx context.Context, app slipway.Application, wanted []*networkingv1.NetworkPolicy) error {
	keep := map[string]bool{}
	for _, p := range wanted {
		keep[p.Name] = true
	}
	var list networkingv1.NetworkPolicyList
	if err := c.api.List(ctx, &list, client.InNamespace(app.Namespace)); err != nil {
		return explain(err, "list the network policies of namespace %s", app.Namespace)
	}
	for i := range list.Items {
		p := &list.Items[i]
		if keep[p.Name] {
			continue
		}
		c.log.WarnContext(ctx, "a network policy that is not Slipway's opened a runner namespace; it is removed", "namespace", app.Namespace, "policy", p.Name)
		err := client.IgnoreNotFound(c.api.Delete(ctx, p, client.Preconditions{UID: &p.UID}))
		if err != nil && !apierrors.IsConflict(err) {
			return explain(err, "delete the network policy %s in namespace %s", p.Name, app.Namespace)
		}
	}
	return nil
}

// runnerQuota bounds what the pods of the namespace take together, whatever a fault of
// ours may launch: exactly the budgets of all slots.
func runnerQuota(s RunnerSpace) *corev1.ResourceQuota {
	var pods, cpu, cpuLimit, memory, memoryLimit, disk int64
	for _, p := range s.Pools {
		n, one := int64(p.Slots), p.Spec.Reserved()
		pods += n
		cpu, cpuLimit = cpu+n*one.CPU, cpuLimit+n*p.Spec.Resources.CPULimit
		memory, memoryLimit = memory+n*one.Memory, memoryLimit+n*p.Spec.Resources.MemoryLimit
		disk += n * one.Disk
	}
	bytes := func(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.BinarySI) }
	milli := func(n int64) resource.Quantity { return *resource.NewMilliQuantity(n, resource.DecimalSI) }
	return &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: runnerQuotaName},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourcePods:                     *resource.NewQuantity(pods, resource.DecimalSI),
			corev1.ResourceRequestsCPU:              milli(cpu),
			corev1.ResourceLimitsCPU:                milli(cpuLimit),
			corev1.ResourceRequestsMemory:           bytes(memory),
			corev1.ResourceLimitsMemory:             bytes(memoryLimit),
			corev1.ResourceRequestsEphemeralStorage: bytes(disk),
			corev1.ResourceLimitsEphemeralStorage:   bytes(disk),
		}},
	}
}

// removeWithin bounds a wait for the end of a namespace; the caller asks again.
const removeWithin = 2 * time.Minute

// RemoveRunners deletes the namespace of a runner application with all that is in it, and
// returns when nothing is left. A namespace that is not the application's is left alone.
func (c *Client) RemoveRunners(ctx context.Context, app slipway.Application) error {
	key := client.ObjectKey{Name: app.Namespace}
	var ns corev1.Namespace
	remaining := ""
	err := c.await(ctx, removeWithin, nil, func(ctx context.Context) (bool, error) {
		err := c.api.Get(ctx, key, &ns)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, explain(err, "read namespace %s", app.Namespace)
		}
		if !c.isOurs(ns.Labels, app) {
			return true, nil
		}
		if ns.DeletionTimestamp == nil {
			err := c.api.Delete(ctx, &ns, client.Preconditions{UID: &ns.UID})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return false, explain(err, "delete namespace %s", app.Namespace)
			}
		}
		remaining = remains(&ns)
		return false, nil
	})
	if errors.Is(err, errTimeout) {
		return slipway.Errorf(slipway.Unavailable, "the namespace %s did not go within %s%s", app.Namespace, removeWithin, remaining).
			WithHint("see what keeps it with  kubectl describe namespace %s", app.Namespace)
	}
	if err != nil {
		return fmt.Errorf("remove the runners of %s: %w", app.Ref(), err)
	}
	return nil
}

// remains is what the cluster says of a namespace that is not gone yet.
func remains(ns *corev1.Namespace) string {
	for _, cond := range ns.Status.Conditions {
		if cond.Status == corev1.ConditionTrue && strings.Contains(string(cond.Type), "Remaining") {
			return ": " + cond.Message
		}
	}
	return ""
}
