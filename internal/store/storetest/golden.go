package storetest

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Golden compares a text with a committed file, or writes the file when update is set.
func Golden(t *testing.T, file, got string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (write it with -update)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s is not what the migrations make; write it anew with -update (-committed +made):\n%s", file, diff)
	}
}
