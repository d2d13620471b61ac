package helm

// World: pure. Measurements, not tests.

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkRender(b *testing.B) {
	c := New(nil, Options{})
	ch, err := c.LoadDir("testdata/shop", "sha256:shop")
	if err != nil {
		b.Fatal(err)
	}
	r := RenderRequest{Chart: ch, Release: "gb", Namespace: "ns", Patch: Patch{App: guestbook, Components: map[string]ComponentPatch{
		"web": {Selector: map[string]string{"app.kubernetes.io/component": "web"}, Container: "web", Image: "mine:1"}}}}
	for b.Loop() {
		if _, err := c.Render(b.Context(), r); err != nil {
			b.Fatal(err)
		}
	}
}

// Two hundred objects is a large application.
func BenchmarkPostRender(b *testing.B) {
	var docs []string
	for i := range 200 {
		docs = append(docs, strings.ReplaceAll(web, "name: web\n  labels", fmt.Sprintf("name: web-%d\n  labels", i)))
	}
	manifests := stream(docs...)
	p := Patch{App: guestbook, Components: map[string]ComponentPatch{"server": {Selector: front, Container: "web", Image: "mine:1"}}}
	for b.Loop() {
		if _, err := PostRender(manifests, p); err != nil {
			b.Fatal(err)
		}
	}
}
