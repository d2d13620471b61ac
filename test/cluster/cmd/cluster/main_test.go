package main

import (
	"bytes"
	"strings"
	"testing"
)

// World: pure. Only what is refused before anything is done.
func TestWrongUse(t *testing.T) {
	for _, test := range []struct {
		arguments []string
		code      int
		text      string
	}{
		{nil, 0, "usage: cluster COMMAND"},
		{[]string{"help"}, 0, "SLIPWAY_CLUSTER_DIR"},
		{[]string{"upp"}, 2, `there is no command "upp"`},
		{[]string{"load-image"}, 1, "name at least one tarball"},
		{[]string{"build-image", "file"}, 1, "give --name NAME:TAG"},
		{[]string{"status"}, 1, "no cluster is up in"},
	} {
		t.Setenv("SLIPWAY_CLUSTER_DIR", t.TempDir()+"/none")
		var out, problems bytes.Buffer
		code := run(t.Context(), test.arguments, &out, &problems)
		if code != test.code || !strings.Contains(out.String()+problems.String(), test.text) {
			t.Errorf("cluster %v: exit code %d, want %d with %q:\n%s%s", test.arguments, code, test.code, test.text, &out, &problems)
		}
	}
}
