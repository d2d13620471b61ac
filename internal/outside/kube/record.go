package kube

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

var recordKind = schema.GroupVersionKind{Group: "slipway.dev", Version: "v1alpha1", Kind: "Application"}

// Record is what the cluster says of an application: which change has reached it. The
// custom resource bears the application's name.
type Record struct {
	Change       int64
	Revision     int64
	Version      string
	Driver       slipway.DriverRef
	DriverDigest string
}

// RecordState is what a record's conditions tell people and other tools.
type RecordState string

const (
	RecordProgressing RecordState = "progressing" // the change is on its way
	RecordReady       RecordState = "ready"       // the change has arrived and all is ready
	RecordFailed      RecordState = "failed"      // the change has ended and something is not as it should be
)

// RecordStatus is the outcome of a change so far.
type RecordStatus struct {
	Change  int64
	State   RecordState
	Reason  string // one CamelCase word: HookFailed; empty: a fitting one
	Message string // one sentence, redacted
	Version string // the version that is ready; empty: as before
}

// PutRecord compares and sets: it writes r unless the cluster already holds a later
// change, which is left as it is and told as an *ErrNewer. The same change again is no
// error, so a repeat after a crash goes on.
func (c *Client) PutRecord(ctx context.Context, app slipway.Application, r Record) error {
	for try := 0; ; try++ {
		seen, err := c.record(ctx, app)
		switch {
		case apierrors.IsNotFound(err):
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(recordKind)
			u.SetNamespace(app.Namespace)
			u.SetName(app.Name)
			if err := c.fillRecord(u, app, r); err != nil {
				return err
			}
			err = c.api.Create(ctx, u, client.FieldOwner(fieldManager))
			if err == nil {
				return nil
			}
			// Someone else made it just now: read theirs, and compare.
			if !again(err) || try == maxTries {
				return c.explainRecord(err, app, "write")
			}
		case err != nil:
			return c.explainRecord(err, app, "read")
		default:
			if other, _, _ := unstructured.NestedString(seen.Object, "spec", "installation"); other != "" && other != c.installation {
				return slipway.Errorf(slipway.Conflict, "the application %s in namespace %s belongs to another Slipway (installation %s)", app.Name, app.Namespace, other)
			}
			if n := recordChange(seen); n > r.Change {
				return &ErrNewer{Number: n}
			}
			if err := c.fillRecord(seen, app, r); err != nil {
				return err
			}
			// The resource version of what was read goes with it: had somebody written
			// meanwhile, this is refused, and read again.
			err = c.api.Update(ctx, seen, client.FieldOwner(fieldManager))
			if err == nil {
				return nil
			}
			if !apierrors.IsNotFound(err) && !again(err) || try == maxTries {
				return c.explainRecord(err, app, "write")
			}
		}
		if err := pause(ctx, try); err != nil {
			return fmt.Errorf("write the record of %s: %w", app.Ref(), err)
		}
	}
}

// GetRecord returns the record of the application, and an error of kind NotFound when the
// cluster has none.
func (c *Client) GetRecord(ctx context.Context, app slipway.Application) (Record, error) {
	u, err := c.record(ctx, app)
	if err != nil {
		return Record{}, c.explainRecord(err, app, "read")
	}
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(u.Object, append([]string{"spec"}, path...)...)
		return s
	}
	revision, _, _ := unstructured.NestedInt64(u.Object, "spec", "revision")
	return Record{
		Change: recordChange(u), Revision: revision, Version: text("version"),
		Driver:       slipway.DriverRef{Name: text("driver", "name"), Version: text("driver", "version")},
		DriverDigest: text("driver", "digest"),
	}, nil
}

// SetRecordStatus writes the conditions Ready, Progressing and Stalled. The status of a
// change that a later one has overtaken is dropped, with an *ErrNewer.
func (c *Client) SetRecordStatus(ctx context.Context, app slipway.Application, s RecordStatus) error {
	for try := 0; ; try++ {
		u, err := c.record(ctx, app)
		if err != nil {
			return c.explainRecord(err, app, "read")
		}
		if n := recordChange(u); n > s.Change {
			return &ErrNewer{Number: n}
		}
		if err := fillStatus(u, s, c.now()); err != nil {
			return err
		}
		err = c.api.Status().Update(ctx, u, client.FieldOwner(fieldManager))
		if err == nil {
			return nil
		}
		if !again(err) || try == maxTries {
			return c.explainRecord(err, app, "write the status of")
		}
		if err := pause(ctx, try); err != nil {
			return fmt.Errorf("write the status of the record of %s: %w", app.Ref(), err)
		}
	}
}

// DeleteRecord removes the record; one that is gone already is no error.
func (c *Client) DeleteRecord(ctx context.Context, app slipway.Application) error {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(recordKind)
	u.SetNamespace(app.Namespace)
	u.SetName(app.Name)
	return c.explainRecord(client.IgnoreNotFound(c.api.Delete(ctx, u)), app, "delete")
}

func (c *Client) record(ctx context.Context, app slipway.Application) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(recordKind)
	err := c.api.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: app.Name}, u)
	return u, err
}

func (c *Client) explainRecord(err error, app slipway.Application, doing string) error {
	return explain(err, "%s the record of %s in namespace %s", doing, app.Name, app.Namespace)
}

func recordChange(u *unstructured.Unstructured) int64 {
	n, _, _ := unstructured.NestedInt64(u.Object, "spec", "change")
	return n
}

func (c *Client) fillRecord(u *unstructured.Unstructured, app slipway.Application, r Record) error {
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	for k, v := range ApplicationLabels(app) {
		labels[k] = v
	}
	labels[LabelManagedBy] = managedBy
	u.SetLabels(labels)
	spec := map[string]any{
		"change": r.Change, "revision": r.Revision, "version": r.Version,
		"project": app.Project, "environment": app.Environment, "installation": c.installation,
		"driver": map[string]any{
			"name": r.Driver.Name, "version": r.Driver.Version, "digest": r.DriverDigest,
			"ref": r.Driver.Name + "@" + r.Driver.Version,
		},
	}
	if err := unstructured.SetNestedMap(u.Object, spec, "spec"); err != nil {
		return fmt.Errorf("write the record of %s: %w", app.Ref(), err)
	}
	return nil
}

// fillStatus writes s into u. A condition's time changes only with its status, so that
// people see since when it holds.
func fillStatus(u *unstructured.Unstructured, s RecordStatus, now time.Time) error {
	since := map[string]map[string]any{}
	old, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, item := range old {
		if m, ok := item.(map[string]any); ok {
			kind, _ := m["type"].(string)
			since[kind] = m
		}
	}
	var list []any
	for _, cond := range recordConditions(s) {
		at := now.UTC().Format(time.RFC3339)
		if was := since[cond.kind]; was != nil && was["status"] == cond.status {
			if t, ok := was["lastTransitionTime"].(string); ok {
				at = t
			}
		}
		list = append(list, map[string]any{
			"type": cond.kind, "status": cond.status, "reason": cond.reason, "message": cond.message,
			"observedGeneration": u.GetGeneration(), "lastTransitionTime": at,
		})
	}
	if drift := since[conditionDrift]; drift != nil {
		list = append(list, drift)
	}
	status := map[string]any{"observedGeneration": u.GetGeneration(), "change": s.Change, "conditions": list}
	if s.Version != "" {
		status["version"] = s.Version
	} else if v, ok, _ := unstructured.NestedString(u.Object, "status", "version"); ok {
		status["version"] = v
	}
	return unstructured.SetNestedMap(u.Object, status, "status")
}

// recordConditions says s in the three conditions that kstatus and people understand:
// Ready tells, Progressing and Stalled say why not.
func recordConditions(s RecordStatus) []condition {
	reason := func(otherwise string) string {
		if s.Reason != "" {
			return s.Reason
		}
		return otherwise
	}
	switch s.State {
	case RecordReady:
		r := reason("ChangeComplete")
		return []condition{{"Ready", "True", r, s.Message}, {"Progressing", "False", r, s.Message}, {"Stalled", "False", r, s.Message}}
	case RecordFailed:
		r := reason("ChangeFailed")
		return []condition{{"Ready", "False", r, s.Message}, {"Progressing", "False", r, s.Message}, {"Stalled", "True", r, s.Message}}
	default:
		r := reason("ChangeUnderWay")
		return []condition{{"Ready", "False", r, s.Message}, {"Progressing", "True", r, s.Message}, {"Stalled", "False", r, s.Message}}
	}
}
