package kube

// World: fake API server (controller-runtime's).

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// helmed is a ConfigMap that Helm made for a release.
func helmed(name, release, policy string) *corev1.ConfigMap {
	notes := map[string]string{"meta.helm.sh/release-name": release, "meta.helm.sh/release-namespace": guestbook.Namespace}
	if policy != "" {
		notes["helm.sh/resource-policy"] = policy
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: guestbook.Namespace, Name: name, Annotations: notes}}
}

func TestDeleteOwnedTouchesNothingElse(t *testing.T) {
	t.Parallel()
	leaving := helmed("leaving", "guestbook", "")
	leaving.DeletionTimestamp, leaving.Finalizers = new(metav1.Now()), []string{"test/stays"}
	plain := helmed("plain", "guestbook", "")
	plain.Annotations = nil
	w := newWorld(t, interceptor.Funcs{}, helmed("ours", "guestbook", ""), helmed("other", "another", ""), helmed("kept", "guestbook", "keep"), plain, leaving)
	for name, want := range map[string]bool{"ours": true, "other": false, "kept": false, "plain": false, "leaving": false, "none": false} {
		got, err := w.DeleteOwned(t.Context(), object("ConfigMap", name), "guestbook", guestbook.Namespace)
		if got != want || err != nil {
			t.Errorf("DeleteOwned(%s) = %v, %v; want %v", name, got, err, want)
		}
	}
	for _, name := range []string{"other", "kept", "plain", "leaving"} {
		if err := w.api.Get(t.Context(), client.ObjectKey{Namespace: guestbook.Namespace, Name: name}, &corev1.ConfigMap{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGoneWaitsForObjectsAndPods(t *testing.T) {
	t.Parallel()
	app := func(p *corev1.Pod) *corev1.Pod { p.Labels[LabelApplication] = guestbook.Name; return p }
	action := app(podOf("guestbook-action-x", "action", corev1.PodSucceeded))
	action.Labels[LabelRole] = roleAction
	w := newWorld(t, interceptor.Funcs{}, helmed("ours", "guestbook", ""), helmed("kept", "guestbook", "keep"), app(podOf("web-1", "web", corev1.PodRunning)), action)
	objects := []Object{object("ConfigMap", "ours"), object("ConfigMap", "kept"), object("ConfigMap", "never")}
	err := w.Gone(soon(t), guestbook, "guestbook", objects, 150*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "ConfigMap ours, pod web-1 of guestbook did not go within 150ms") {
		t.Errorf("Gone() = %v, want what is left named", err)
	}
	for _, o := range []client.Object{helmed("ours", "guestbook", ""), podOf("web-1", "web", "")} {
		if err := w.api.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Gone(soon(t), guestbook, "guestbook", objects, 5*time.Second); err != nil {
		t.Error(err)
	}
}
