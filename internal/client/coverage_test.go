package client

import (
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

// TestEveryOperationHasAMethod stands in the fake world: it calls every exported method
// with whatever arguments, and compares what was asked with the API's description.
func TestEveryOperationHasAMethod(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../../contract/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Paths map[string]map[string]any
	}
	if err := yaml.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for path, item := range d.Paths {
		for method := range item {
			want[strings.ToUpper(method)+" "+path] = true
		}
	}

	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(s.Close)
	c, err := New(Options{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	c.observe = func(method, path string) { got[method+" "+path] = true }
	v := reflect.ValueOf(c)
	for i := range v.NumMethod() {
		m := v.Method(i)
		in := []reflect.Value{reflect.ValueOf(t.Context())}
		for j := 1; j < m.Type().NumIn(); j++ {
			in = append(in, anything(m.Type().In(j)))
		}
		out := m.Call(in)
		if err, ok := out[len(out)-1].Interface().(error); ok && err != nil {
			t.Errorf("%s: %v", v.Type().Method(i).Name, err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-described +called by the client):\n%s", diff)
	}
}

func anything(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int64:
		v.SetInt(1)
	case reflect.Func:
		v = reflect.MakeFunc(t, func([]reflect.Value) []reflect.Value { return []reflect.Value{reflect.Zero(t.Out(0))} })
	}
	return v
}
