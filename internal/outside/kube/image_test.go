package kube

// World: pure.

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"slipway.dev/slipway/internal/slipway"
)

func pod(kind, name string, containers ...corev1.Container) Workload {
	w := Workload{Kind: kind, Name: name, Namespace: "shop-production"}
	w.template.Spec.Containers = containers
	w.template.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:1"}}
	for _, c := range containers {
		w.Containers = append(w.Containers, Container{c.Name, c.Image})
	}
	return w
}

func c(name, image string, env ...corev1.EnvVar) corev1.Container {
	return corev1.Container{Name: name, Image: image, Env: env}
}

func TestComponentImages(t *testing.T) {
	t.Parallel()
	two := pod(KindDeployment, "server", c("proxy", "proxy:2"), c("server", "reg:5000/gb:1.0.0@sha256:aa"), c("log", "log:3"))
	for _, tc := range []struct {
		name string
		ws   []Workload
		rule ImageRule
		want []string
		code string
	}{
		{"the declared container first, the others in pod order, no init containers", []Workload{two},
			ImageRule{"server", "server", ""}, []string{"reg:5000/gb:1.0.0@sha256:aa", "proxy:2", "log:3"}, ""},
		{"pod order when none is declared", []Workload{two},
			ImageRule{"server", "", ""}, []string{"proxy:2", "reg:5000/gb:1.0.0@sha256:aa", "log:3"}, ""},
		{"the override in the declared container's place, though the workload has another", []Workload{two},
			ImageRule{"server", "server", "mine:1.1.0"}, []string{"mine:1.1.0", "proxy:2", "log:3"}, ""},
		{"the override of a pod's only container", []Workload{pod(KindDeployment, "w", c("w", "gb:1"))},
			ImageRule{"worker", "", "mine:1.1.0"}, []string{"mine:1.1.0"}, ""},
		{"an override that no container can be told for", []Workload{two}, ImageRule{"server", "", "mine:1"}, nil, slipway.CodeInvalidArgument},
		{"the override before there is a workload", nil, ImageRule{"server", "server", "mine:1.1.0"}, []string{"mine:1.1.0"}, ""},
		{"no workload", nil, ImageRule{"server", "server", ""}, nil, slipway.CodeNoWorkload},
		{"a declared container that is not there", []Workload{two}, ImageRule{"server", "web", ""}, nil, slipway.CodeInvalidArgument},
		{"several workloads by kind and name", []Workload{
			pod(KindStatefulSet, "a", c("w", "gb:1"), c("s", "side:1")), pod(KindDeployment, "b", c("w", "gb:1"), c("s", "side:2")), pod(KindDeployment, "a", c("w", "gb:1"))},
			ImageRule{"w", "w", ""}, []string{"gb:1", "gb:1", "gb:1", "side:2", "side:1"}, ""},
		{"several workloads with different images", []Workload{pod(KindDeployment, "a", c("w", "gb:1")), pod(KindDeployment, "b", c("w", "gb:2"))},
			ImageRule{"w", "w", ""}, nil, slipway.CodeAmbiguousWorkload},
		{"several workloads with different images, and an override", []Workload{pod(KindDeployment, "a", c("w", "gb:1")), pod(KindDeployment, "b", c("w", "gb:2"))},
			ImageRule{"w", "w", "mine:1"}, []string{"mine:1", "mine:1"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := ComponentImages(tc.ws, tc.rule)
			if tc.code != "" {
				if err == nil || CodeOf(err) != tc.code {
					t.Fatalf("error %v with code %s, want %s", err, CodeOf(err), tc.code)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, tc.want); diff != "" {
				t.Errorf("the images (-got +want):\n%s", diff)
			}
		})
	}
}

func TestPickWorkload(t *testing.T) {
	t.Parallel()
	env := func(v string) corev1.EnvVar { return corev1.EnvVar{Name: "A", Value: v} }
	for _, tc := range []struct {
		name      string
		ws        []Workload
		container string
		want      string
		code      string
	}{
		{"none", nil, "w", "", slipway.CodeNoWorkload},
		{"the one that has the declared container", []Workload{pod(KindDeployment, "a", c("x", "")), pod(KindDeployment, "b", c("w", ""))}, "w", "b", ""},
		{"none has it", []Workload{pod(KindDeployment, "a", c("x", ""))}, "w", "", slipway.CodeInvalidArgument},
		{"a Deployment before a CronJob", []Workload{pod(KindCronJob, "a", c("w", "", env("1"))), pod(KindDeployment, "b", c("w", "", env("2")))}, "w", "b", ""},
		{"a CronJob when there is nothing else", []Workload{pod(KindCronJob, "a", c("w", ""))}, "w", "a", ""},
		{"two alike", []Workload{pod(KindDeployment, "b", c("w", "", env("1"))), pod(KindDeployment, "a", c("w", "", env("1")))}, "", "a", ""},
		{"two that differ", []Workload{pod(KindDeployment, "a", c("w", "", env("1"))), pod(KindDeployment, "b", c("w", "", env("2")))}, "w", "", slipway.CodeAmbiguousWorkload},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := PickWorkload(tc.ws, "server", tc.container, "shop-production")
			if got.Name != tc.want || err != nil && CodeOf(err) != tc.code || err == nil && tc.code != "" {
				t.Errorf("PickWorkload() = %q, %v; want %q, %s", got.Name, err, tc.want, tc.code)
			}
		})
	}
	_, err := PickWorkload(nil, "server", "", "shop-production")
	if want := `the component "server" has no workload in namespace shop-production yet; a setup pre action cannot copy its environment`; err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func TestMergeEnv(t *testing.T) {
	t.Parallel()
	base := []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "$(A)"}, {Name: "A", Value: "2"}}
	got := MergeEnv(base, []EnvVar{{Name: "A", Value: "3"}, {Name: "Z", Value: "9"}, {Name: "C", SecretName: "s", SecretKey: "k"}})
	want := []corev1.EnvVar{
		{Name: "A", Value: "1"}, {Name: "B", Value: "$(A)"}, {Name: "A", Value: "3"}, {Name: "Z", Value: "9"},
		{Name: "C", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"}}},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("MergeEnv (-got +want):\n%s", diff)
	}
	if base[2].Value != "2" {
		t.Error("the base was changed")
	}
}
