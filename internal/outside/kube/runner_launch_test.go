package kube

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"slipway.dev/slipway/internal/slipway"
)

// The tests of this file stand on a fake API server.

func runtimeClass() *nodev1.RuntimeClass {
	return &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: slipway.RunnerRuntimeClass}, Handler: slipway.RunnerRuntimeClass, Overhead: &nodev1.Overhead{PodFixed: sandboxOverhead}}
}

// anyField lets lists with field selectors through, which the fake does not know; what they
// leave out is left out by the code under test as well.
func anyField(funcs interceptor.Funcs) interceptor.Funcs {
	next := funcs.List
	funcs.List = func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		var o client.ListOptions
		o.ApplyOptions(opts)
		o.FieldSelector = nil
		if next != nil {
			return next(ctx, c, list, &o)
		}
		return c.List(ctx, list, &o)
	}
	return funcs
}

func space() RunnerSpace {
	p := runnerPod(nil)
	return RunnerSpace{Application: p.Application, Pools: []RunnerShare{{Spec: p.Spec, Slots: 2}}}
}

// prepared is a world with the sandbox and a namespace for runners.
func prepared(t *testing.T, funcs interceptor.Funcs, objects ...client.Object) *world {
	t.Helper()
	w := newWorld(t, anyField(funcs), append(objects, runtimeClass())...)
	if err := w.PrepareRunners(soon(t), space()); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestPrepareRunnersPutsBackWhatWasChanged(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	writes := 0
	w := prepared(t, interceptor.Funcs{Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
		writes++
		return c.Update(ctx, o, opts...)
	}})
	read := func(o client.Object, name string) {
		t.Helper()
		if err := w.api.Get(ctx, client.ObjectKey{Namespace: "slipway-runners-7", Name: name}, o); err != nil {
			t.Fatal(err)
		}
	}
	var ns corev1.Namespace
	if err := w.api.Get(ctx, client.ObjectKey{Name: "slipway-runners-7"}, &ns); err != nil || ns.Labels["pod-security.kubernetes.io/enforce"] != "privileged" || ns.Labels[LabelApplication] != "7" {
		t.Fatalf("namespace %+v, %v", ns.Labels, err)
	}
	if err := w.PrepareRunners(ctx, space()); err != nil || writes != 0 {
		t.Fatalf("again, with nothing to do: %v, %d writes", err, writes)
	}

	var deny networkingv1.NetworkPolicy
	read(&deny, policyDenyName)
	deny.Spec.PolicyTypes = deny.Spec.PolicyTypes[:1]
	var quota corev1.ResourceQuota
	read(&quota, runnerQuotaName)
	quota.Spec.Hard[corev1.ResourcePods] = sandboxOverhead["cpu"]
	open := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-runners-7", Name: "let-me-out"}, Spec: networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{}}}}
	for _, change := range []func() error{
		func() error { return w.api.Update(ctx, &deny) },
		func() error { return w.api.Update(ctx, &quota) },
		func() error { return w.api.Create(ctx, open) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.LaunchRunner(ctx, runnerPod(nil)); !slipway.Is(err, slipway.Conflict) || !strings.Contains(err.Error(), "not prepared for runners") {
		t.Errorf("a launch into a namespace that is open: %v", err)
	}
	if err := w.PrepareRunners(ctx, space()); err != nil {
		t.Fatal(err)
	}
	read(&deny, policyDenyName)
	read(&quota, runnerQuotaName)
	if got := quota.Spec.Hard.Pods().Value(); len(deny.Spec.PolicyTypes) != 2 || got != 2 {
		t.Errorf("put back: %v, %d pods", deny.Spec.PolicyTypes, got)
	}
	if err := w.api.Get(ctx, client.ObjectKeyFromObject(open), open); !apierrors.IsNotFound(err) {
		t.Errorf("the policy that opens everything is still there: %v", err)
	}
	if got, want := quota.Spec.Hard[corev1.ResourceRequestsCPU], "4"; got.String() != want {
		t.Errorf("quota of CPU %s, want two slots of 2", got.String())
	}
}

// Who keeps a space must not make one that a deletion has just removed.
func TestKeepingMakesNoNamespace(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	w := newWorld(t, anyField(interceptor.Funcs{}), runtimeClass())
	keep := space()
	keep.Existing = true
	if err := w.PrepareRunners(ctx, keep); err != nil {
		t.Fatal(err)
	}
	var ns corev1.Namespace
	if err := w.api.Get(ctx, client.ObjectKey{Name: "slipway-runners-7"}, &ns); !apierrors.IsNotFound(err) {
		t.Fatalf("a namespace was made: %v", err)
	}
	if err := w.PrepareRunners(ctx, space()); err != nil {
		t.Fatal(err)
	}
	var deny networkingv1.NetworkPolicy
	if err := w.api.Get(ctx, client.ObjectKey{Namespace: "slipway-runners-7", Name: policyDenyName}, &deny); err != nil {
		t.Fatal(err)
	}
	if err := w.api.Delete(ctx, &deny); err != nil {
		t.Fatal(err)
	}
	if err := w.PrepareRunners(ctx, keep); err != nil {
		t.Fatal(err)
	}
	if _, err := w.LaunchRunner(ctx, runnerPod(nil)); err != nil {
		t.Errorf("after the denial was put back: %v", err)
	}
}

func TestRunnersAreNotPutIntoANamespaceOfAnother(t *testing.T) {
	t.Parallel()
	for name, labels := range map[string]map[string]string{
		"somebody's own":         {},
		"another application":    {LabelManagedBy: managedBy, LabelInstallation: "installation-1", LabelApplication: "8"},
		"another installation":   {LabelManagedBy: managedBy, LabelInstallation: "installation-2", LabelApplication: "7"},
		"an environment's":       {LabelManagedBy: managedBy, LabelInstallation: "installation-1", LabelProject: "shop", LabelEnvironment: "dev"},
		"made by another's tool": {LabelManagedBy: "Helm", LabelInstallation: "installation-1", LabelApplication: "7"},
	} {
		w := newWorld(t, anyField(interceptor.Funcs{}), runtimeClass(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "slipway-runners-7", Labels: labels}})
		if err := w.PrepareRunners(soon(t), space()); !slipway.Is(err, slipway.Conflict) {
			t.Errorf("%s: prepared, %v", name, err)
		}
		if err := w.RemoveRunners(soon(t), space().Application); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var ns corev1.Namespace
		if err := w.api.Get(soon(t), client.ObjectKey{Name: "slipway-runners-7"}, &ns); err != nil || ns.Labels["pod-security.kubernetes.io/enforce"] != "" {
			t.Errorf("%s: %v, labels %v", name, err, ns.Labels)
		}
	}
}

func TestLaunchTwiceIsOneRunner(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	w := prepared(t, interceptor.Funcs{})
	first, err := w.LaunchRunner(ctx, runnerPod(nil))
	if err != nil {
		t.Fatal(err)
	}
	second, err := w.LaunchRunner(ctx, runnerPod(nil))
	if err != nil || second != first {
		t.Fatalf("again: %s, %v; first %s", second, err, first)
	}
	var s corev1.Secret
	if err := w.api.Get(ctx, client.ObjectKey{Namespace: "slipway-runners-7", Name: "slw-3-k7qd2m9x4b"}, &s); err != nil {
		t.Fatal(err)
	}
	if len(s.OwnerReferences) != 1 || string(s.OwnerReferences[0].UID) != first || s.Immutable == nil || !*s.Immutable || string(s.Data[runnerConfigKey]) != testJIT || len(s.Data) != 1 {
		t.Errorf("the Secret: owners %v, immutable %v, %d keys", s.OwnerReferences, s.Immutable, len(s.Data))
	}
	states, err := w.RunnerPods(ctx, "slipway-runners-7")
	if err != nil || len(states) != 1 || states[0].Slot != 41 || states[0].Pool != 3 || states[0].Application != 7 || !states[0].Config || states[0].UID != first {
		t.Errorf("listed %+v, %v", states, err)
	}
}

// The API server looks at the quota before it looks at the name: a repeat meets the quota
// that its own pod has used up.
func TestLaunchTwiceUnderAFullQuota(t *testing.T) {
	t.Parallel()
	pods := 0
	w := prepared(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if _, pod := o.(*corev1.Pod); pod {
			if pods++; pods > 1 {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, o.GetName(), errors.New("exceeded quota: slipway-runners, requested: pods=1, used: pods=1, limited: pods=1"))
			}
		}
		return c.Create(ctx, o, opts...)
	}})
	first, err := w.LaunchRunner(soon(t), runnerPod(nil))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.LaunchRunner(soon(t), runnerPod(nil)); err != nil || again != first {
		t.Errorf("again: %s, %v; first %s", again, err, first)
	}
	other := runnerPod(func(p *RunnerPod) { p.Name, p.Slot = p.Name+"-b", 42 })
	if _, err := w.LaunchRunner(soon(t), other); !slipway.Is(err, slipway.Throttled) {
		t.Errorf("another: %v", err)
	}
}

// Wherever a launch breaks off, the same call again completes it, and EndRunner leaves
// nothing.
func TestLaunchAfterEachLostReply(t *testing.T) {
	t.Parallel()
	for _, writes := range []int{1, 2, 3} {
		for _, written := range []bool{true, false} {
			n := 0
			armed := false
			lose := func(do func() error) error {
				if !armed {
					return do()
				}
				if n++; n != writes {
					return do()
				}
				if written {
					if err := do(); err != nil {
						return err
					}
				}
				return errors.New("connection reset by peer")
			}
			w := prepared(t, interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					return lose(func() error { return c.Create(ctx, o, opts...) })
				},
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					return lose(func() error { return c.Patch(ctx, o, p, opts...) })
				},
			})
			armed = true
			if _, err := w.LaunchRunner(soon(t), runnerPod(nil)); !slipway.Is(err, slipway.Unavailable) {
				t.Errorf("write %d lost (written %v): %v", writes, written, err)
			}
			if err := errors.Join(w.EndRunner(soon(t), "slipway-runners-7", "slw-3-k7qd2m9x4b")); err != nil {
				t.Errorf("end after write %d was lost: %v", writes, err)
			}
			if left, err := w.RunnerPods(soon(t), "slipway-runners-7"); err != nil || len(left) != 0 {
				t.Errorf("left after write %d was lost (written %v): %+v, %v", writes, written, left, err)
			}
			uid, err := w.LaunchRunner(soon(t), runnerPod(nil))
			if err != nil || uid == "" {
				t.Errorf("again after write %d was lost: %v", writes, err)
			}
		}
	}
}

func TestForeignPodIsLeftAlone(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	p := runnerPod(nil)
	for name, labels := range map[string]map[string]string{
		"without labels":          nil,
		"of another installation": p.labels("installation-2"),
		"of another slot":         func() map[string]string { q := p; q.Slot = 42; return q.labels("installation-1") }(),
	} {
		w := prepared(t, interceptor.Funcs{}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-runners-7", Name: p.Name, Labels: labels}})
		if _, err := w.LaunchRunner(ctx, p); !slipway.Is(err, slipway.Conflict) || !strings.Contains(err.Error(), "not of this slot") {
			t.Errorf("%s: launch: %v", name, err)
		}
		if name == "of another slot" {
			continue // ours, so EndRunner may
		}
		if err := w.EndRunner(ctx, "slipway-runners-7", p.Name); err != nil {
			t.Errorf("%s: end: %v", name, err)
		}
		var pod corev1.Pod
		if err := w.api.Get(ctx, client.ObjectKey{Namespace: "slipway-runners-7", Name: p.Name}, &pod); err != nil {
			t.Errorf("%s: the foreign pod: %v", name, err)
		}
		if states, err := w.RunnerPods(ctx, "slipway-runners-7"); err != nil || len(states) != 0 {
			t.Errorf("%s: listed %+v, %v", name, states, err)
		}
		var s corev1.Secret
		if err := w.api.Get(ctx, client.ObjectKey{Namespace: "slipway-runners-7", Name: p.Name}, &s); !apierrors.IsNotFound(err) {
			t.Errorf("%s: our Secret stays: %v", name, err)
		}
	}
}

func TestNoSandboxNoRunner(t *testing.T) {
	t.Parallel()
	made := 0
	w := newWorld(t, anyField(interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if _, pod := o.(*corev1.Pod); pod {
			made++
		}
		return c.Create(ctx, o, opts...)
	}}))
	if err := w.PrepareRunners(soon(t), space()); err != nil {
		t.Fatal(err)
	}
	_, err := w.LaunchRunner(soon(t), runnerPod(nil))
	if !slipway.Is(err, slipway.Unavailable) || !strings.Contains(err.Error(), "no RuntimeClass slipway-actions") || made != 0 || Away(err) {
		t.Errorf("%v, %d pods were asked for", err, made)
	}
	if left, err := w.RunnerPods(soon(t), "slipway-runners-7"); err != nil || len(left) != 0 {
		t.Errorf("left: %+v, %v", left, err)
	}
}

// The API server's own refusals, in its own words.
func TestRefusalsOfThePod(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	for _, tc := range []struct {
		name string
		err  error
		kind slipway.Kind
		says string
	}{
		{
			"the quota is used up", apierrors.NewForbidden(pods, "x", errors.New("exceeded quota: slipway-runners, requested: limits.cpu=2,pods=1, used: limits.cpu=4,pods=2, limited: limits.cpu=4,pods=2")),
			slipway.Throttled, "does not fit into the quota of namespace slipway-runners-7 yet: limits.cpu 4 of 4 used, 2 asked; pods 2 of 2 used, 1 asked",
		},
		{
			"the RuntimeClass went meanwhile", apierrors.NewForbidden(pods, "x", errors.New(`pod rejected: RuntimeClass "slipway-actions" not found`)),
			slipway.Unavailable, "no RuntimeClass",
		},
		{"the namespace is being deleted", apierrors.NewForbidden(pods, "x", errors.New("unable to create new content in namespace slipway-runners-7 because it is being terminated")), slipway.Conflict, "being deleted"},
		{
			"Pod Security", apierrors.NewForbidden(pods, "x", errors.New(`violates PodSecurity "restricted:latest": privileged (container "docker" must not set securityContext.privileged=true)`)),
			slipway.Conflict, "Pod Security refuses runner pods",
		},
		{"no right", apierrors.NewForbidden(pods, "x", errors.New(`User "slipway" cannot create resource "pods"`)), slipway.Forbidden, "cannot create"},
		{"no answer", errors.New("connection refused"), slipway.Unavailable, "does not answer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := prepared(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if _, pod := o.(*corev1.Pod); pod {
					return tc.err
				}
				return c.Create(ctx, o, opts...)
			}})
			_, err := w.LaunchRunner(soon(t), runnerPod(nil))
			if !slipway.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), testJIT) {
				t.Errorf("got %v (%s), want %q (%s)", err, slipway.KindOf(err), tc.says, tc.kind)
			}
		})
	}
}

// A refusal of the Secret may quote its value.
func TestSecretIsNotInErrors(t *testing.T) {
	t.Parallel()
	w := prepared(t, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if _, secret := o.(*corev1.Secret); secret {
			return apierrors.NewBadRequest("cannot decode " + testJIT)
		}
		return c.Create(ctx, o, opts...)
	}})
	if _, err := w.LaunchRunner(soon(t), runnerPod(nil)); err == nil || strings.Contains(err.Error(), testJIT) {
		t.Errorf("got %v", err)
	}
}

// garm#91: rows were deleted on the word of a list that had left instances out. A list that
// breaks off is an error here, and nothing of it is returned.
func TestPartialListIsAnError(t *testing.T) {
	t.Parallel()
	pages, fail := 0, true
	w := prepared(t, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		pods, ok := list.(*corev1.PodList)
		if !ok {
			return c.List(ctx, list, opts...)
		}
		var o client.ListOptions
		o.ApplyOptions(opts)
		pages++
		item := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p" + o.Continue, Labels: runnerPod(nil).labels("installation-1")}}
		switch {
		case o.Continue == "":
			pods.Items, pods.Continue = []corev1.Pod{item}, "2"
			return nil
		case fail:
			fail = false
			return errors.New("connection reset by peer")
		}
		pods.Items = []corev1.Pod{item}
		return nil
	}})
	if got, err := w.RunnerPods(soon(t), "slipway-runners-7"); err == nil || got != nil {
		t.Errorf("half a list: %+v, %v", got, err)
	}
	if got, err := w.RunnerPods(soon(t), "slipway-runners-7"); err != nil || len(got) != 2 || pages != 4 {
		t.Errorf("a whole one: %d pods in %d pages, %v", len(got), pages, err)
	}
}

// gcp-hosted-github-runner#6: a deletion of what was gone was retried, and held up the rest.
func TestEndRunnerOfNobody(t *testing.T) {
	t.Parallel()
	w := prepared(t, interceptor.Funcs{})
	for range 2 {
		if err := w.EndRunner(soon(t), "slipway-runners-7", "slw-3-k7qd2m9x4b"); err != nil {
			t.Error(err)
		}
	}
}

func TestDropRunnerConfigLeavesThePod(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	w := prepared(t, interceptor.Funcs{})
	if _, err := w.LaunchRunner(ctx, runnerPod(nil)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.DropRunnerConfig(ctx, "slipway-runners-7", "slw-3-k7qd2m9x4b"); err != nil {
			t.Fatal(err)
		}
	}
	got, err := w.RunnerPods(ctx, "slipway-runners-7")
	if err != nil || len(got) != 1 || got[0].Config {
		t.Errorf("got %+v, %v", got, err)
	}
}
