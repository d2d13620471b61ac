//go:build cluster

package kube

// World: real cluster.

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"slipway.dev/slipway/internal/slipway"
)

func quantity(s string) *resource.Quantity { q := resource.MustParse(s); return &q }

func TestRealRecord(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	c, app := realCluster(t)
	// Twenty changes reach the cluster in no order at all, some of them twice.
	var all sync.WaitGroup
	for i := range 40 {
		n := int64(i%20 + 1)
		all.Go(func() {
			err := c.PutRecord(ctx, app, change(n))
			var newer *ErrNewer
			if err != nil && (!errors.As(err, &newer) || newer.Number <= n) {
				t.Errorf("PutRecord(%d) = %v", n, err)
			}
		})
	}
	all.Wait()
	got, err := c.GetRecord(ctx, app)
	if err != nil || got != change(20) {
		t.Errorf("the record is %+v, %v; want change 20", got, err)
	}
	if err := c.SetRecordStatus(ctx, app, RecordStatus{Change: 20, State: RecordReady, Message: "1.0.20 is ready", Version: "1.0.20"}); err != nil {
		t.Fatal(err)
	}
	var newer *ErrNewer
	if err := c.SetRecordStatus(ctx, app, RecordStatus{Change: 19, State: RecordFailed}); !errors.As(err, &newer) {
		t.Errorf("the status of an overtaken change: %v", err)
	}

	if row := table(t, c, app.Namespace); row != "guestbook | 1.0.20 | guestbook@1.0.0 | 20 | True | <nil>" {
		t.Errorf("kubectl get shows %s", row)
	}
	if err := c.SetRecordDrift(ctx, app, slipway.Drifted, "one difference"); err != nil {
		t.Fatal(err)
	}
	if row := table(t, c, app.Namespace); row != "guestbook | 1.0.20 | guestbook@1.0.0 | 20 | True | True" {
		t.Errorf("kubectl get shows %s after a difference was seen", row)
	}

	// Not even by hand does the change go back: the definition forbids it.
	u, err := c.record(ctx, app)
	if err != nil {
		t.Fatal(err)
	}
	if u.GetGeneration() == 0 {
		t.Error("the record has no generation")
	}
	if err := unstructured.SetNestedField(u.Object, int64(3), "spec", "change"); err != nil {
		t.Fatal(err)
	}
	if err := c.api.Update(ctx, u); err == nil || !strings.Contains(err.Error(), "a change never replaces a later one") {
		t.Errorf("setting the change back by hand: %v", err)
	}
	if err := c.DeleteRecord(ctx, app); err != nil {
		t.Error(err)
	}
}

// table asks for the records as kubectl get does, and returns the one row without its age.
func table(t *testing.T, c *Client, namespace string) string {
	t.Helper()
	set := kubernetes.NewForConfigOrDie(rest.CopyConfig(c.config))
	raw, err := set.RESTClient().Get().AbsPath("/apis/slipway.dev/v1alpha1/namespaces/"+namespace+"/applications").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got metav1.Table
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	var head, cells []string
	for i, column := range got.ColumnDefinitions {
		if column.Priority != 0 || column.Name == "Age" {
			continue
		}
		head = append(head, column.Name)
		cells = append(cells, fmt.Sprint(got.Rows[0].Cells[i]))
	}
	if got, want := strings.Join(head, " | "), "Name | Version | Driver | Change | Ready | Drift"; got != want {
		t.Errorf("the columns are %s, want %s", got, want)
	}
	return strings.Join(cells, " | ")
}
