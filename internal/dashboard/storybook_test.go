package dashboard

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var storybook = flag.String("storybook", "", "write every page, from canned data, into this folder")

// TestStorybook stands in the pure world: it renders every page from the sample, with no
// server behind it. With -storybook DIR the pages are kept, to be looked at:
//
//	go test ./internal/dashboard -run TestStorybook -storybook /tmp/book
//	python3 -m http.server -d /tmp/book
func TestStorybook(t *testing.T) {
	t.Parallel()
	for name, page := range samplePages() {
		html, err := renderTo(t.Context(), page)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, most := len(html), 200<<10; got > most {
			t.Errorf("%s has %d bytes, want at most %d", name, got, most)
		}
		if *storybook != "" {
			keep(t, name+".html", []byte(html))
		}
	}
	if *storybook == "" {
		return
	}
	for _, a := range assets {
		keep(t, a.address, a.content)
	}
}

func keep(t *testing.T, name string, content []byte) {
	t.Helper()
	path := filepath.Join(*storybook, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}
