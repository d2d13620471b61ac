package kube

// World: fake API server (controller-runtime's).

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"slipway.dev/slipway/internal/slipway"
)

func change(n int64) Record {
	return Record{Change: n, Revision: n, Version: "1.0." + decimal(n), Driver: slipway.DriverRef{Name: "guestbook", Version: "1.0.0"}, DriverDigest: "sha256:5f1c"}
}

var conflict = apierrors.NewConflict(schema.GroupResource{Resource: "applications"}, "guestbook", errors.New("modified"))

func TestPutRecordComparesAndSets(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newWorld(t, interceptor.Funcs{})
	for _, tc := range []struct {
		name  string
		put   int64
		newer int64 // what ErrNewer must tell; 0: no error
		want  int64 // on the cluster afterwards
	}{
		{"the first change", 2, 0, 2},
		{"the same change again", 2, 0, 2},
		{"a later one", 5, 0, 5},
		{"an earlier one is told", 3, 5, 5},
		{"the same again, after that", 5, 0, 5},
	} {
		err := w.PutRecord(ctx, guestbook, change(tc.put))
		var newer *ErrNewer
		if errors.As(err, &newer) != (tc.newer > 0) || newer != nil && newer.Number != tc.newer || newer == nil && err != nil {
			t.Errorf("%s: PutRecord(%d) = %v, want newer %d", tc.name, tc.put, err, tc.newer)
		}
		got, err := w.GetRecord(ctx, guestbook)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, change(tc.want)); diff != "" {
			t.Errorf("%s: the record (-got +want):\n%s", tc.name, diff)
		}
	}
}

func TestPutRecordReadsAgainWhenSomebodyWroteMeanwhile(t *testing.T) {
	t.Parallel()
	var w *world
	raced := false
	w = newWorld(t, interceptor.Funcs{Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
		if !raced {
			raced = true // change 9 slips in between our reading and our writing
			if err := w.PutRecord(ctx, guestbook, change(9)); err != nil {
				t.Error(err)
			}
		}
		return c.Update(ctx, o, opts...)
	}})
	if err := w.PutRecord(t.Context(), guestbook, change(1)); err != nil {
		t.Fatal(err)
	}
	err := w.PutRecord(t.Context(), guestbook, change(4))
	var newer *ErrNewer
	if !errors.As(err, &newer) || newer.Number != 9 {
		t.Errorf("PutRecord(4) = %v, want that change 9 is there", err)
	}
}

func TestPutRecordRepeatsWhatMayPassAndNoMore(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		fails int
		with  error
		kind  slipway.Kind
		tries int
	}{
		{"two conflicts", 2, conflict, "", 3},
		{"a moment without an API server", 3, apierrors.NewServiceUnavailable("starting"), "", 4},
		{"conflicts for ever", 1000, conflict, slipway.Conflict, maxTries + 1},
		{"no rights", 1000, apierrors.NewForbidden(schema.GroupResource{Resource: "applications"}, "guestbook", errors.New("no")), slipway.Forbidden, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tries := 0
			w := newWorld(t, interceptor.Funcs{Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				if tries++; tries <= tc.fails {
					return tc.with
				}
				return c.Update(ctx, o, opts...)
			}})
			if err := w.PutRecord(t.Context(), guestbook, change(1)); err != nil {
				t.Fatal(err)
			}
			err := w.PutRecord(t.Context(), guestbook, change(2))
			if got := slipway.KindOf(err); got != tc.kind || tries != tc.tries {
				t.Errorf("after %d tries: %v (%s), want %d tries and %q", tries, err, got, tc.tries, tc.kind)
			}
		})
	}
}

func TestPutRecordLeavesAnotherInstallationAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, interceptor.Funcs{})
	if err := w.PutRecord(t.Context(), guestbook, change(1)); err != nil {
		t.Fatal(err)
	}
	w.installation = "installation-2"
	err := w.PutRecord(t.Context(), guestbook, change(2))
	if !slipway.Is(err, slipway.Conflict) || !strings.Contains(err.Error(), "installation-1") {
		t.Errorf("PutRecord() = %v, want a conflict that names installation-1", err)
	}
}

func TestRecordStatus(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newWorld(t, interceptor.Funcs{})
	day := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	w.now = func() time.Time { return day }
	if err := w.SetRecordStatus(ctx, guestbook, RecordStatus{Change: 1}); !slipway.Is(err, slipway.NotFound) {
		t.Errorf("the status of no record: %v, want not found", err)
	}
	if err := w.PutRecord(ctx, guestbook, change(3)); err != nil {
		t.Fatal(err)
	}
	conditions := func() map[string]string {
		u, err := w.record(ctx, guestbook)
		if err != nil {
			t.Fatal(err)
		}
		list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		out := map[string]string{}
		for _, item := range list {
			m := item.(map[string]any)
			out[m["type"].(string)] = strings.Join([]string{m["status"].(string), m["reason"].(string), m["message"].(string), m["lastTransitionTime"].(string)}, " | ")
		}
		return out
	}
	for _, tc := range []struct {
		name  string
		set   RecordStatus
		after time.Duration
		want  map[string]string
	}{
		{"under way", RecordStatus{Change: 3, State: RecordProgressing, Message: "task 41 applies it"}, 0, map[string]string{
			"Ready":       "False | ChangeUnderWay | task 41 applies it | 2026-03-02T10:00:00Z",
			"Progressing": "True | ChangeUnderWay | task 41 applies it | 2026-03-02T10:00:00Z",
			"Stalled":     "False | ChangeUnderWay | task 41 applies it | 2026-03-02T10:00:00Z",
		}},
		{"failed: what stays as it was keeps its time", RecordStatus{Change: 3, State: RecordFailed, Reason: "HookFailed", Message: "no"}, time.Hour, map[string]string{
			"Ready":       "False | HookFailed | no | 2026-03-02T10:00:00Z",
			"Progressing": "False | HookFailed | no | 2026-03-02T11:00:00Z",
			"Stalled":     "True | HookFailed | no | 2026-03-02T11:00:00Z",
		}},
		{"ready", RecordStatus{Change: 3, State: RecordReady, Message: "1.0.3 is ready", Version: "1.0.3"}, 2 * time.Hour, map[string]string{
			"Ready":       "True | ChangeComplete | 1.0.3 is ready | 2026-03-02T12:00:00Z",
			"Progressing": "False | ChangeComplete | 1.0.3 is ready | 2026-03-02T11:00:00Z",
			"Stalled":     "False | ChangeComplete | 1.0.3 is ready | 2026-03-02T12:00:00Z",
		}},
	} {
		w.now = func() time.Time { return day.Add(tc.after) }
		if err := w.SetRecordStatus(ctx, guestbook, tc.set); err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if diff := cmp.Diff(conditions(), tc.want); diff != "" {
			t.Errorf("%s: the conditions (-got +want):\n%s", tc.name, diff)
		}
	}
	var newer *ErrNewer
	if err := w.SetRecordStatus(ctx, guestbook, RecordStatus{Change: 2, State: RecordReady}); !errors.As(err, &newer) || newer.Number != 3 {
		t.Errorf("the status of an overtaken change: %v, want that change 3 is there", err)
	}
	if err := w.DeleteRecord(ctx, guestbook); err != nil {
		t.Error(err)
	}
	if err := w.DeleteRecord(ctx, guestbook); err != nil {
		t.Errorf("deleting twice: %v", err)
	}
}
