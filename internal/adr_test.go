package internal_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDecisionsAreNumberedOnce stands in the pure world: two branches that each wrote "the
// next decision" must not both keep their number.
func TestDecisionsAreNumberedOnce(t *testing.T) {
	t.Parallel()
	const folder = "../docs/adr/"
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range files {
		text, err := os.ReadFile(folder + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%04d-", i+1); !strings.HasPrefix(f.Name(), want) {
			t.Errorf("%s: the decision in this place has the number %s", f.Name(), want)
		}
		if want := fmt.Sprintf("# %d. ", i+1); !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: its title does not begin with %q", f.Name(), want)
		}
	}
}
