package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// LaunchRunner makes the Secret and the pod of a runner and returns the pod's UID. It may
// be repeated: what is there already, of the same slot, is a success. It refuses with
//
//	Throttled    the quota is used up, by runners that are still on their way out
//	Conflict     the namespace is not prepared, or a pod or Secret of that name is another's
//	Unavailable  the sandbox's RuntimeClass is missing, or the API server does not answer
//	Invalid      such a pod can never be
//
// After any error something may be there; EndRunner removes it.
func (c *Client) LaunchRunner(ctx context.Context, p RunnerPod) (uid string, err error) {
	overhead, err := c.sandbox(ctx)
	if err != nil {
		return "", err
	}
	pod, err := buildRunnerPod(p, overhead)
	if err != nil {
		return "", err
	}
	return c.launch(ctx, p, pod)
}

func (c *Client) launch(ctx context.Context, p RunnerPod, pod *corev1.Pod) (uid string, err error) {
	if c.installation == "" {
		return "", errors.New("launch a runner: the client has no installation, and would not know the pod again")
	}
	if err := c.runnersReady(ctx, p.Application); err != nil {
		return "", err
	}
	pod.Labels = p.labels(c.installation)
	// The Secret first: a pod that is placed before it waits for its next try. It is the
	// pod's from the moment that the pod is, and goes with it; between the two, EndRunner
	// finds it by its name.
	secret, err := c.runnerSecret(ctx, p)
	if err != nil {
		return "", err
	}
	have, err := c.createOrGet(ctx, pod)
	if err != nil {
		return "", launchError(err, p)
	}
	switch {
	case !c.sameSlot(have.Labels, p):
		return "", slipway.Errorf(slipway.Conflict, "a pod %s is in namespace %s, and is not of this slot", p.Name, pod.Namespace).
			WithHint("it is left alone; the slot gets another name")
	case have.DeletionTimestamp != nil:
		return "", slipway.Errorf(slipway.Conflict, "the runner pod %s is being deleted", p.Name)
	}
	return string(have.UID), c.own(ctx, secret, have)
}

// createOrGet makes the pod, or returns the one of its name that is there.
func (c *Client) createOrGet(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	for try := 0; ; try++ {
		made := pod.DeepCopy()
		err := c.api.Create(ctx, made, client.FieldOwner(fieldManager))
		if err == nil {
			return made, nil
		}
		// Admission comes before the name is looked at: a repeat meets a quota that the pod
		// itself has used up, or a namespace that closes, and not itself. So it is looked for.
		if apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) {
			have := &corev1.Pod{}
			getErr := c.api.Get(ctx, client.ObjectKeyFromObject(pod), have)
			if getErr == nil {
				return have, nil
			}
			if !apierrors.IsNotFound(getErr) {
				return nil, getErr
			}
		}
		if !again(err) || try == maxTries {
			return nil, err
		}
		if pauseErr := pause(ctx, try); pauseErr != nil {
			return nil, pauseErr
		}
	}
}

func (c *Client) sameSlot(labels map[string]string, p RunnerPod) bool {
	return within(p.labels(c.installation), labels)
}

// sandbox returns what the sandbox's RuntimeClass adds to each pod. Without the class no
// pod is made: one without a runtimeClassName would run under the node's own kernel.
func (c *Client) sandbox(ctx context.Context) (corev1.ResourceList, error) {
	var rc nodev1.RuntimeClass
	err := c.api.Get(ctx, client.ObjectKey{Name: slipway.RunnerRuntimeClass}, &rc)
	if apierrors.IsNotFound(err) {
		return nil, noSandbox()
	}
	if err != nil {
		return nil, explain(err, "read the RuntimeClass %s", slipway.RunnerRuntimeClass)
	}
	if rc.Overhead == nil {
		return nil, nil
	}
	return rc.Overhead.PodFixed, nil
}

func noSandbox() error {
	return slipway.Errorf(slipway.Unavailable, "the cluster has no sandbox for runners: there is no RuntimeClass %s", slipway.RunnerRuntimeClass).
		WithHint("prepare a node for runners, which makes the RuntimeClass; runners never run without it")
}

// runnerSecret writes the configuration. It is immutable and has one key.
func (c *Client) runnerSecret(ctx context.Context, p RunnerPod) (*corev1.Secret, error) {
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Application.Namespace, Name: p.Name, Labels: p.labels(c.installation)},
		Type:       corev1.SecretTypeOpaque, Immutable: new(true),
		Data: map[string][]byte{runnerConfigKey: []byte(p.JIT)},
	}
	for try := 0; ; try++ {
		made := s.DeepCopy()
		err := c.api.Create(ctx, made, client.FieldOwner(fieldManager))
		if err == nil {
			return made, nil
		}
		if apierrors.IsAlreadyExists(err) {
			have := &metav1.PartialObjectMetadata{}
			have.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
			err = c.api.Get(ctx, client.ObjectKeyFromObject(s), have)
			if err == nil {
				if !c.sameSlot(have.Labels, p) {
					return nil, foreignSecret(s.Namespace, s.Name)
				}
				// Names are never used again, so it is the same configuration.
				made.ObjectMeta = have.ObjectMeta
				return made, nil
			}
			if !apierrors.IsNotFound(err) {
				return nil, secretError(err, s.Namespace, s.Name)
			}
		}
		if !again(err) || try == maxTries {
			return nil, secretError(err, s.Namespace, s.Name)
		}
		if err := pause(ctx, try); err != nil {
			return nil, fmt.Errorf("write the Secret %s in namespace %s: %w", s.Name, s.Namespace, err)
		}
	}
}

// own makes the Secret the pod's, so that the cluster removes it with the pod.
func (c *Client) own(ctx context.Context, s *corev1.Secret, pod *corev1.Pod) error {
	for _, o := range s.OwnerReferences {
		if o.UID == pod.UID {
			return nil
		}
	}
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	meta.SetNamespace(s.Namespace)
	meta.SetName(s.Name)
	before := meta.DeepCopy()
	meta.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}})
	err := c.api.Patch(ctx, meta, client.MergeFrom(before), client.FieldOwner(fieldManager))
	if apierrors.IsNotFound(err) {
		// It was ended, or its runner began and the configuration was dropped, meanwhile.
		return nil
	}
	if err != nil {
		return secretError(err, s.Namespace, s.Name)
	}
	return nil
}

// launchError sorts the refusal of a pod by what can be done about it.
func launchError(err error, p RunnerPod) error {
	said := plain(err)
	switch {
	case apierrors.IsForbidden(err) && strings.Contains(said, "exceeded quota"):
		return &slipway.Error{
			Kind: slipway.Throttled, Msg: fmt.Sprintf("the runner pod %s does not fit into the quota of namespace %s yet: %s", p.Name, p.Application.Namespace, quotaWords(said)),
			Hint: "runners that drain still count; it is tried again", Err: err,
		}
	case apierrors.IsForbidden(err) && strings.Contains(said, "RuntimeClass") && strings.Contains(said, "not found"):
		return noSandbox()
	case apierrors.IsNotFound(err):
		return &slipway.Error{
			Kind: slipway.Conflict, Msg: fmt.Sprintf("the namespace %s of the runner pod %s is not there", p.Application.Namespace, p.Name),
			Hint: "deploy the application again, which makes it", Err: err,
		}
	case apierrors.IsForbidden(err) && strings.Contains(said, "being terminated"):
		return &slipway.Error{Kind: slipway.Conflict, Msg: fmt.Sprintf("the namespace %s of the runner pod %s is being deleted", p.Application.Namespace, p.Name), Err: err}
	case apierrors.IsForbidden(err) && strings.Contains(said, "PodSecurity"):
		return &slipway.Error{
			Kind: slipway.Conflict, Msg: "the cluster's Pod Security refuses runner pods: " + said,
			Hint: "let the namespace " + p.Application.Namespace + " have pod-security.kubernetes.io/enforce=privileged", Err: err,
		}
	}
	return explain(err, "launch the runner pod %s in namespace %s", p.Name, p.Application.Namespace)
}

// quotaWords makes of the API server's three lists one of what is used up.
func quotaWords(said string) string {
	part := func(name string) map[string]string {
		out := map[string]string{}
		_, list, _ := strings.Cut(said, name+": ")
		list, _, _ = strings.Cut(list, ", ")
		for pair := range strings.SplitSeq(list, ",") {
			if k, v, ok := strings.Cut(pair, "="); ok {
				out[k] = v
			}
		}
		return out
	}
	asked, used, limited := part("requested"), part("used"), part("limited")
	var words []string
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		words = append(words, fmt.Sprintf("%s %s of %s used, %s asked", name, used[name], limited[name], asked[name]))
	}
	if len(words) == 0 {
		return said
	}
	return strings.Join(words, "; ")
}

// EndRunner deletes the pod and the Secret of a runner. It is no error when they are gone,
// or are not ours: those are left alone. A pod takes a while to go, so it is gone only when
// RunnerPods does not list it any more.
func (c *Client) EndRunner(ctx context.Context, namespace, name string) error {
	var pod corev1.Pod
	err := c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return explain(err, "read the runner pod %s in namespace %s", name, namespace)
	case c.isRunner(pod.Labels) && pod.DeletionTimestamp == nil:
		err := c.api.Delete(ctx, &pod, client.Preconditions{UID: &pod.UID})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return explain(err, "delete the runner pod %s in namespace %s", name, namespace)
		}
	}
	// The cluster removes an owned Secret by itself, some time after the pod.
	return c.DropRunnerConfig(ctx, namespace, name)
}

// DropRunnerConfig deletes the Secret of a runner. Once the runner's container has begun,
// nobody needs it any more, and nobody can read it.
func (c *Client) DropRunnerConfig(ctx context.Context, namespace, name string) error {
	s := &metav1.PartialObjectMetadata{}
	s.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	err := c.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, s)
	if apierrors.IsNotFound(err) || err == nil && !c.isRunner(s.Labels) {
		return nil
	}
	if err != nil {
		return explain(err, "read the Secret %s in namespace %s", name, namespace)
	}
	err = c.api.Delete(ctx, s, client.Preconditions{UID: &s.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return explain(err, "delete the Secret %s in namespace %s", name, namespace)
	}
	return nil
}
