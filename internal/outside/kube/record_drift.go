package kube

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"slipway.dev/slipway/internal/slipway"
)

// conditionDrift is the condition of a record that tells of drift: True when the cluster
// differs from what was applied. It is written beside the others and by another hand, so
// each leaves the other's alone.
const conditionDrift = "Drift"

// SetRecordDrift writes the condition Drift. It writes nothing when the record says so
// already.
func (c *Client) SetRecordDrift(ctx context.Context, app slipway.Application, state slipway.DriftState, message string) error {
	want := condition{conditionDrift, "Unknown", "NotChecked", message}
	switch state {
	case slipway.Drifted:
		want.status, want.reason = "True", "Differs"
	case slipway.DriftNone:
		want.status, want.reason = "False", "AsApplied"
	}
	for try := 0; ; try++ {
		u, err := c.record(ctx, app)
		if err != nil {
			return c.explainRecord(err, app, "read")
		}
		if !setCondition(u, want, c.now()) {
			return nil
		}
		err = c.api.Status().Update(ctx, u, client.FieldOwner(fieldManager))
		if err == nil {
			return nil
		}
		if !again(err) || try == maxTries {
			return c.explainRecord(err, app, "write the status of")
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
}

// setCondition puts one condition among the others, and reports whether that changed it.
func setCondition(u *unstructured.Unstructured, want condition, now time.Time) bool {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	at := now.UTC().Format(time.RFC3339)
	place := len(list)
	for i, item := range list {
		m, ok := item.(map[string]any)
		if !ok || m["type"] != want.kind {
			continue
		}
		if m["status"] == want.status && m["reason"] == want.reason && m["message"] == want.message {
			return false
		}
		if t, ok := m["lastTransitionTime"].(string); ok && m["status"] == want.status {
			at = t
		}
		place = i
	}
	entry := map[string]any{
		"type": want.kind, "status": want.status, "reason": want.reason, "message": want.message,
		"observedGeneration": u.GetGeneration(), "lastTransitionTime": at,
	}
	if place == len(list) {
		list = append(list, entry)
	} else {
		list[place] = entry
	}
	setIn(u.Object, list, "status", "conditions")
	return true
}
