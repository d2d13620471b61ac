package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// ReadyOptions bound a wait for readiness. Zero values mean the defaults.
type ReadyOptions struct {
	Timeout    time.Duration            // of every object without its own
	Components map[string]time.Duration // a component's own time-out, by its name
	ImageAfter time.Duration            // how long a container may be unable to start before that counts as final
	Restarts   int                      // how often a crashing container is given another chance
	Redact     func(string) string      // messages of containers and events pass it
	Progress   func(string)             // hears what is waited for, when that changes
}

// Defaults of ReadyOptions.
const (
	DefaultReadyTimeout = 10 * time.Minute
	DefaultImageAfter   = 5 * time.Minute
	DefaultRestarts     = 5
)

// Ready waits until every object is ready: its newest generation observed, and its status
// current as kstatus has it. It ends early with an error when something stands in the way
// that does not heal by itself. The error names the object, its condition and reason, the
// container, and the last event.
func (c *Client) Ready(ctx context.Context, app slipway.Application, objects []Object, opts ReadyOptions) error {
	opts.Timeout = cmp.Or(opts.Timeout, DefaultReadyTimeout)
	opts.ImageAfter = cmp.Or(opts.ImageAfter, DefaultImageAfter)
	opts.Restarts = cmp.Or(opts.Restarts, DefaultRestarts)
	if opts.Redact == nil {
		opts.Redact = func(s string) string { return s }
	}
	w := &readiness{c: c, app: app, opts: opts, begun: c.now(), stuck: map[string]time.Time{}, steady: map[types.UID]steadiness{}}
	longest := opts.Timeout
	for _, o := range objects {
		if !hasStatus(o) {
			continue
		}
		w.pending = append(w.pending, o)
		longest = max(longest, w.timeoutOf(o))
	}
	if len(w.pending) == 0 {
		return nil
	}
	// The last reading falls after the longest time-out, so it is check that ends the wait.
	err := c.awaitAgain(ctx, longest, w.watches(), w.check)
	if errors.Is(err, errTimeout) {
		return slipway.Errorf(slipway.Unavailable, "%s is not ready after %s", w.pending[0], longest)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("wait until %s is ready: %w", app.Name, err)
	}
	return err
}

// noStatus are the kinds that are what they are once they exist. Reading them again would
// cost a request each and tell nothing.
var noStatus = map[string]bool{
	"ConfigMap": true, "Secret": true, "ServiceAccount": true, "Role": true, "RoleBinding": true,
	"ClusterRole": true, "ClusterRoleBinding": true, "NetworkPolicy": true, "LimitRange": true,
	"PriorityClass": true, "StorageClass": true, "IngressClass": true, "Endpoints": true,
	// A claim may wait for its first consumer, which none need ever be; a pod that does
	// need it is not ready without it.
	"PersistentVolumeClaim": true,
}

func hasStatus(o Object) bool { return !builtIn(o.Group) || !noStatus[o.Kind] }

// readiness is one wait.
type readiness struct {
	c       *Client
	app     slipway.Application
	opts    ReadyOptions
	begun   time.Time
	pending []Object
	stuck   map[string]time.Time     // since when a container cannot start, by pod and container
	steady  map[types.UID]steadiness // since when each pod runs
	told    string
	again   time.Duration // until the next reading, at the latest
}

func (w *readiness) timeoutOf(o Object) time.Duration {
	return cmp.Or(w.opts.Components[o.Component], w.opts.Timeout)
}

// watches are the pods of the application, and every kind that is waited for.
func (w *readiness) watches() []watched {
	on := []watched{{&corev1.PodList{}, []client.ListOption{client.InNamespace(w.app.Namespace)}}}
	seen := map[schema.GroupVersionKind]bool{}
	for _, o := range w.pending {
		kind := o.kind()
		if seen[kind] || o.Namespace == "" {
			continue // cluster-wide objects are few; the readings at intervals will do
		}
		seen[kind] = true
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		on = append(on, watched{list, []client.ListOption{client.InNamespace(o.Namespace)}})
	}
	return on
}

// check reads what is pending. It keeps the order of the objects, so that the same state
// always gives the same words.
func (w *readiness) check(ctx context.Context) (bool, time.Duration, error) {
	w.again = w.c.resync
	var still []Object
	var why []string
	for _, o := range w.pending {
		message, err := w.examine(ctx, o)
		if err != nil {
			return false, w.again, err
		}
		if message != "" {
			still = append(still, o)
			why = append(why, message)
		}
	}
	if len(still) == 0 {
		return true, 0, nil
	}
	if w.opts.Progress != nil {
		if now := strings.Join(why, "; "); now != w.told {
			w.told = now
			w.opts.Progress(w.opts.Redact(now))
		}
	}
	return false, w.again, nil
}

// examine returns "" when o is ready, what it lacks while there is hope, and an error
// when there is none or its time is up.
func (w *readiness) examine(ctx context.Context, o Object) (string, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(o.kind())
	err := w.c.api.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Name}, u)
	if err != nil && !apierrors.IsNotFound(err) {
		return "", explain(err, "read %s in namespace %s", o, o.Namespace)
	}
	spent := w.c.now().Sub(w.begun)
	if err != nil {
		if spent >= w.timeoutOf(o) {
			return "", w.notReady(ctx, o, nil, "it does not exist", spent)
		}
		return o.String() + " does not exist", nil
	}
	res, err := status.Compute(u)
	if err != nil {
		return "", fmt.Errorf("read the status of %s: %w", o, err)
	}
	lacks := strings.TrimSuffix(strings.ToLower(res.Message[:min(1, len(res.Message))])+res.Message[min(1, len(res.Message)):], ".")
	switch {
	case res.Status == status.CurrentStatus:
		lacks, err := w.unsteady(ctx, u)
		if err != nil || lacks == "" {
			return "", err
		}
		if spent >= w.timeoutOf(o) {
			return "", w.notReady(ctx, o, u, lacks, spent)
		}
		return fmt.Sprintf("%s: %s", o, lacks), nil
	case res.Status == status.FailedStatus && o.Kind == "Job":
		return "", w.notReady(ctx, o, u, w.conditionText(u, lacks), spent)
	}
	pods, err := w.newestPods(ctx, u)
	if err != nil {
		return "", err
	}
	w.watchRunning(pods)
	if final := w.finalFault(u, pods); final != "" {
		return "", w.notReady(ctx, o, u, final, spent)
	}
	if spent >= w.timeoutOf(o) {
		return "", w.notReady(ctx, o, u, w.conditionText(u, lacks), spent)
	}
	return fmt.Sprintf("%s: %s", o, lacks), nil
}

// finalFault names a fault of the pods that has lasted so long that it will not heal by
// itself; "" when there is none.
func (w *readiness) finalFault(u *unstructured.Unstructured, pods []corev1.Pod) string {
	now := w.c.now()
	present := map[string]bool{}
	found := ""
	note := func(key, text string, limit time.Duration) {
		present[key] = true
		if _, ok := w.stuck[key]; !ok {
			w.stuck[key] = now
		}
		if found == "" && now.Sub(w.stuck[key]) >= limit {
			found = text
		}
	}
	prefix := u.GetKind() + "/" + u.GetName() + "/"
	for _, cond := range conditionsOf(u) {
		if cond.kind == "ReplicaFailure" && cond.status == "True" {
			note(prefix+cond.reason, fmt.Sprintf("no pod can be made: %s: %s", cond.reason, cond.message), w.opts.ImageAfter)
		}
	}
	for i := range pods {
		for _, f := range faultsOf(&pods[i]) {
			// Without the reason: of one fault they take turns, as ErrImagePull and
			// ImagePullBackOff, and each turn would begin the time anew.
			key := prefix + pods[i].Name + "/" + f.container
			switch {
			case f.cannotStart:
				note(key, f.text(pods[i].Name), w.opts.ImageAfter)
			case f.crashes && f.restarts >= w.opts.Restarts:
				note(key, f.text(pods[i].Name), 0)
			}
		}
	}
	for key := range w.stuck {
		if strings.HasPrefix(key, prefix) && !present[key] {
			delete(w.stuck, key) // it healed; should it return, its time begins anew
		}
	}
	return found
}

// notReady is the error for an object: what is wrong, how its pods stand, the last event.
func (w *readiness) notReady(ctx context.Context, o Object, u *unstructured.Unstructured, why string, spent time.Duration) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is not ready after %s: %s", o, spent.Round(time.Second), why)
	if u != nil {
		for _, line := range w.c.evidence(ctx, u, why, w.opts.Redact) {
			b.WriteString("; " + line)
		}
	}
	return slipway.Errorf(slipway.Unavailable, "%s", w.opts.Redact(b.String())).
		WithHint("see more with  kubectl describe %s %s -n %s", strings.ToLower(o.Kind), o.Name, o.Namespace)
}

// conditionText says what kstatus lacks, and the object's own condition beside it.
func (w *readiness) conditionText(u *unstructured.Unstructured, lacks string) string {
	for _, cond := range conditionsOf(u) {
		bad := cond.status == "False" && slices.Contains([]string{"Available", "Ready", "Progressing", "Established"}, cond.kind) ||
			cond.status == "True" && slices.Contains([]string{"Failed", "ReplicaFailure", "Stalled"}, cond.kind)
		if bad {
			return fmt.Sprintf("%s (condition %s=%s, %s: %s)", lacks, cond.kind, cond.status, cond.reason, strings.TrimSuffix(cond.message, "."))
		}
	}
	return lacks
}

func (o Object) kind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: o.Group, Version: o.Version, Kind: o.Kind}
}
