package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// CompareOptions say how a comparison is told.
type CompareOptions struct {
	// Mask covers what is secret in a value of that name; hidden: nothing may be shown.
	Mask func(name, value string) (shown string, hidden bool)
}

// Comparison is how the cluster differs from what was applied.
type Comparison struct {
	Differences []slipway.Difference // in the order of the manifests
	Unable      []string             // what could not be compared, and why
	Back        []Manifest           // what PutBack must be given to put it right
}

// Compare looks in what the cluster differs from what was applied.
//
// Each object is compared twice. First here, and cheaply: is everything in it that was
// applied? Only where something seems to be lacking, or a person wrote by hand, the API
// server is asked what another apply would make of the object, without doing it. What that
// would change, and what would still be a person's then, is the difference: so defaults,
// the order of lists, and what programs have added, such as an injected container or the
// time of a restart, are none. The replicas of what an autoscaler scales are its own.
func (c *Client) Compare(ctx context.Context, app slipway.Application, ms []Manifest, o CompareOptions) (Comparison, error) {
	cmp := &comparing{c: c, app: app, mask: o.Mask}
	if cmp.mask == nil {
		return Comparison{}, slipway.Errorf(slipway.Internal, "%s was to be compared without a mask", app.Ref())
	}
	if err := cmp.look(ctx, ms); err != nil {
		return Comparison{}, err
	}
	for _, m := range ms {
		if err := cmp.manifest(ctx, m); err != nil {
			return Comparison{}, err
		}
	}
	cmp.extras(ms)
	return cmp.out, nil
}

// comparing is one comparison.
type comparing struct {
	c      *Client
	app    slipway.Application
	mask   func(name, value string) (string, bool)
	seen   map[Object]*unstructured.Unstructured // the objects with our labels
	scaled map[Object]bool                       // by an autoscaler
	out    Comparison
}

// manifest compares one object.
func (k *comparing) manifest(ctx context.Context, m Manifest) error {
	live, err := k.live(ctx, m)
	if err != nil {
		return err
	}
	if live == nil {
		if !passes(m) {
			k.differs(m, slipway.Difference{Kind: slipway.DiffMissing})
			k.out.Back = append(k.out.Back, m)
		}
		return nil
	}
	m = k.yield(m, live)
	lacking := fieldsOf(stripped(m.doc.Object), live.Object, true)
	if len(lacking) == 0 && !slices.ContainsFunc(writers(live), func(m managed) bool { return byHand(m.manager) }) {
		return nil
	}
	would, err := k.c.dryRun(ctx, m)
	switch {
	case err == nil:
	case apierrors.IsInvalid(err):
		// Another apply would be refused, such as of a field that cannot be changed. That it
		// differs is true all the same.
		k.fields(m, live, lacking)
		k.out.Unable = append(k.out.Unable, k.refused(m, err))
		k.out.Back = append(k.out.Back, m)
		return nil
	case away(err) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || ctx.Err() != nil:
		return explain(err, "compare %s in namespace %s", m.Object, m.Object.Namespace)
	default:
		k.out.Unable = append(k.out.Unable, k.refused(m, err))
		return nil
	}
	changes, more := fieldsOf(stripped(would.Object), stripped(live.Object), false), added(would)
	if k.scaled[m.Object.plain()] {
		more = slices.DeleteFunc(more, func(d deviation) bool { words, _ := pathWords(d.path); return words == "replicas" })
	}
	if len(changes)+len(more) > 0 {
		k.fields(m, live, append(changes, more...))
		for _, f := range more {
			m.remove = append(m.remove, f.path)
		}
		k.out.Back = append(k.out.Back, m)
	}
	return nil
}

// refused says why an object could not be compared. Of a Secret the API server may quote
// what nobody may see.
func (k *comparing) refused(m Manifest, err error) string {
	why := string(apierrors.ReasonForError(err))
	if m.Object.Kind != "Secret" {
		why, _ = k.mask("", plain(err))
	}
	return fmt.Sprintf("%s: another apply of it would be refused: %s", m.Object, why)
}

// live returns the object as it is; nil when it is not there or about to go.
func (k *comparing) live(ctx context.Context, m Manifest) (*unstructured.Unstructured, error) {
	u := k.seen[m.Object.plain()]
	if u == nil {
		// It may have lost its labels, which is no reason to call it missing.
		u = &unstructured.Unstructured{}
		u.SetGroupVersionKind(m.Object.kind())
		err := k.c.api.Get(ctx, client.ObjectKey{Namespace: m.Object.Namespace, Name: m.Object.Name}, u)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return nil, nil
		}
		if err != nil {
			return nil, explain(err, "read %s in namespace %s", m.Object, m.Object.Namespace)
		}
	}
	if u.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	return u, nil
}

// passes reports whether an object goes by itself, so that its absence says nothing.
func passes(m Manifest) bool {
	_, timed, _ := unstructured.NestedFieldNoCopy(m.doc.Object, "spec", "ttlSecondsAfterFinished")
	return m.Object.Kind == "Job" && timed
}

// yield leaves to an autoscaler what is the autoscaler's.
func (k *comparing) yield(m Manifest, live *unstructured.Unstructured) Manifest {
	if !k.scaled[m.Object.plain()] {
		return m
	}
	n, ok, _ := unstructured.NestedInt64(live.Object, "spec", "replicas")
	applied, said, _ := unstructured.NestedInt64(m.doc.Object, "spec", "replicas")
	if !ok || !said || applied == 0 { // none at all is a stop, which no autoscaler undoes
		return m
	}
	m = m.copied()
	setIn(m.doc.Object, n, "spec", "replicas")
	return m
}

// fields tells the fields in which an object differs.
func (k *comparing) fields(m Manifest, live *unstructured.Unstructured, fields []deviation) {
	who := writers(live)
	for _, f := range fields {
		words, name := pathWords(f.path)
		d := slipway.Difference{Kind: slipway.DiffChanged, Path: words, By: writerOf(who, f.path)}
		if m.Object.Kind == "Secret" && secretPath(f.path) {
			d.Hidden = true
		} else {
			var hiddenA, hiddenL bool
			if f.applied != nil {
				d.Applied, hiddenA = k.mask(name, shown(bare(f.applied)))
			}
			if f.live != nil {
				d.Live, hiddenL = k.mask(name, shown(bare(f.live)))
			}
			// Of two values that are masked alike nobody sees the difference.
			if d.Hidden = hiddenA || hiddenL || d.Applied == d.Live; d.Hidden {
				d.Applied, d.Live = "", ""
			}
		}
		k.differs(m, d)
	}
}

// bare is the value of a variable that was added or is gone as a whole.
func bare(v any) any {
	if m, ok := v.(map[string]any); ok && len(m) == 2 && m["name"] != nil && m["value"] != nil {
		return m["value"]
	}
	return v
}

func (k *comparing) differs(m Manifest, d slipway.Difference) {
	d.Object, d.Component = m.Object.String(), m.Object.Component
	if d.Path != "" && slices.Contains(k.out.Differences, d) {
		return // data and stringData of one key
	}
	k.out.Differences = append(k.out.Differences, d)
}

// ownGeneration is an annotation by which the API server counts a DaemonSet's templates.
const ownGeneration = "deprecated.daemonset.template.generation"

// stripped is what of an object is wanted by somebody: not its status, and of its metadata
// only what people write.
func stripped(doc map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range doc {
		switch k {
		case "status", "apiVersion", "kind":
		case "metadata":
			from, _ := v.(map[string]any)
			kept := map[string]any{}
			for _, name := range []string{"labels", "annotations", "finalizers"} {
				if part, ok := from[name]; ok {
					kept[name] = part
				}
				if notes, ok := kept[name].(map[string]any); ok && notes[ownGeneration] != nil {
					notes = maps.Clone(notes)
					delete(notes, ownGeneration)
					kept[name] = notes
				}
			}
			out[k] = kept
		default:
			out[k] = v
		}
	}
	return out
}

// plain is the object without what is not its name: the same in every version of its API.
func (o Object) plain() Object { o.Component, o.Version = "", ""; return o }

// MaskBy makes of a redactor a mask: what it would cover, alone or beside its name, is not
// shown at all.
func MaskBy(redact func(string) string) func(name, value string) (string, bool) {
	return func(name, value string) (string, bool) {
		beside := name + "=" + value
		if redact(value) == value && (name == "" || redact(beside) == beside) {
			return value, false
		}
		return redact(value), true
	}
}
