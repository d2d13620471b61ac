package kube

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// EnvVar is one environment variable that a team set: a value, or a key of the
// application's Secret.
type EnvVar struct {
	Name       string
	Value      string
	SecretName string // of the Kubernetes Secret; empty: Value counts
	SecretKey  string
}

func (e EnvVar) core() corev1.EnvVar {
	if e.SecretName == "" {
		return corev1.EnvVar{Name: e.Name, Value: e.Value}
	}
	return corev1.EnvVar{Name: e.Name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: e.SecretName}, Key: e.SecretKey,
	}}}
}

// MergeEnv sets set on top of base: a variable of the same name is replaced in its place,
// because a later variable may use it as $(NAME), and new ones are added at the end in
// the order of set.
func MergeEnv(base []corev1.EnvVar, set []EnvVar) []corev1.EnvVar {
	out := make([]corev1.EnvVar, 0, len(base)+len(set))
	out = append(out, base...)
	at := map[string]int{}
	for i, v := range out {
		at[v.Name] = i // of two with one name the last counts, as in a container
	}
	for _, v := range set {
		if i, ok := at[v.Name]; ok {
			out[i] = v.core()
			continue
		}
		at[v.Name] = len(out)
		out = append(out, v.core())
	}
	return out
}

// sameEnvironment reports whether the named container (the first when empty) has the same
// environment in both workloads.
func sameEnvironment(a, b Workload, container string) bool {
	ca, cb := a.environmentOf(container), b.environmentOf(container)
	if ca == nil || cb == nil {
		return ca == cb
	}
	return reflect.DeepEqual(ca.Env, cb.Env) && reflect.DeepEqual(ca.EnvFrom, cb.EnvFrom)
}

func (w Workload) environmentOf(container string) *corev1.Container {
	if container != "" {
		return w.container(container)
	}
	if len(w.template.Spec.Containers) == 0 {
		return nil
	}
	return &w.template.Spec.Containers[0]
}
