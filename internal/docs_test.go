package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	testNamed  = regexp.MustCompile("`((?:internal|test)/[a-z0-9/]+)\\.(Test[A-Za-z0-9_]+)(?:/([^`]+))?`")
	pyTest     = regexp.MustCompile("`(python/tests/[a-z_]+\\.py)::(test_[a-z0-9_]+)`")
	anyNamed   = regexp.MustCompile("`[^`]*(?:Test[A-Z]|::test_)[^`]*`")
	tablePoint = regexp.MustCompile(`^\| ((?:C|D)[0-9][^|]*) \|`)
	adrLink    = regexp.MustCompile(`\]\(\.\./(adr/[^)]+)\)`)
)

// World: pure. docs/explain/hooks.md says which test holds which rule. A table that names
// what is not there, or leaves a point out, is worse than none.
func TestTheTableOfHooksIsTrue(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docs/explain/hooks.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)

	named := 0
	for _, m := range testNamed.FindAllStringSubmatch(text, -1) {
		named++
		folder, name, sub := m[1], m[2], m[3]
		content := testsIn(t, folder)
		if !strings.Contains(content, "func "+name+"(t *testing.T)") {
			t.Errorf("there is no %s in %s", name, folder)
		}
		if sub != "" && !strings.Contains(content, `"`+sub+`"`) {
			t.Errorf("%s in %s has no part %q", name, folder, sub)
		}
	}
	for _, m := range pyTest.FindAllStringSubmatch(text, -1) {
		named++
		content, err := os.ReadFile("../" + m[1])
		if err != nil || !strings.Contains(string(content), "def "+m[2]+"(") {
			t.Errorf("there is no %s in %s (%v)", m[2], m[1], err)
		}
	}
	if all := len(anyNamed.FindAllString(text, -1)); named != all || named < 100 {
		t.Errorf("of %d names of tests, %d could be read", all, named)
	}

	points := map[string]int{}
	for line := range strings.Lines(text) {
		if m := tablePoint.FindStringSubmatch(line); m != nil {
			for p := range strings.SplitSeq(m[1], ", ") {
				points[p]++
			}
			if !testNamed.MatchString(line) && !pyTest.MatchString(line) {
				t.Errorf("%s names no test", m[1])
			}
		}
	}
	for section, last := range map[string]int{"C1": 9, "C2": 5, "C3": 4, "C5": 6, "C6": 7, "C7": 5, "C8": 4, "C9": 12, "C10": 7, "C11": 8, "C12": 5} {
		for n := 1; n <= last; n++ {
			if p := section + "." + strconv.Itoa(n); points[p] != 1 {
				t.Errorf("%s stands in the tables %d times, want once", p, points[p])
			}
		}
	}
	for _, p := range []string{"C4", "C13"} {
		if points[p] != 1 {
			t.Errorf("%s stands in the tables %d times, want once", p, points[p])
		}
	}
	for _, m := range adrLink.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join("..", "docs", m[1])); err != nil {
			t.Errorf("a decision is named that is not there: %v", err)
		}
	}
}

// testsIn is the text of all tests of a folder, whatever their tags.
func testsIn(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Errorf("there are no tests in %s: %v", folder, err)
		return ""
	}
	var b strings.Builder
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(raw)
	}
	return b.String()
}
