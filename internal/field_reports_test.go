package internal_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	report     = regexp.MustCompile(`^[A-Za-z][\w./-]*( PR)?#[0-9]+$`)
	reportTest = regexp.MustCompile("^`((?:internal|test)/[a-z0-9/]+)\\.(Test[A-Za-z0-9]+)`$")
)

// World: pure. docs/explain/field-reports.md says which test holds which report. Each of
// them must be there, and each report must stand in the text of one of its tests or above it.
func TestTheTableOfReportsIsTrue(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../docs/explain/field-reports.md")
	if err != nil {
		t.Fatal(err)
	}
	reports, numbers := 0, []string{}
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) < 3 || strings.Contains(line, "---") || strings.Contains(line, "| reports |") {
			continue
		}
		if len(cells) == 4 {
			numbers = append(numbers, strings.TrimSpace(cells[0]))
			cells = cells[1:]
		}
		var bodies strings.Builder
		named := false
		for name := range strings.SplitSeq(strings.TrimSpace(cells[2]), ", ") {
			m := reportTest.FindStringSubmatch(name)
			if m == nil {
				continue
			}
			named = true
			body := testText(testsIn(t, m[1]), m[2])
			if body == "" {
				t.Errorf("there is no %s in %s", m[2], m[1])
			}
			bodies.WriteString(body)
		}
		if !named && !strings.Contains(cells[2], "machines of a cloud") && !strings.Contains(cells[2], "not here") {
			t.Errorf("%s: no test, and no reason why there is none", cells[0])
		}
		for r := range strings.SplitSeq(strings.TrimSpace(cells[0]), ", ") {
			reports++
			if !report.MatchString(r) {
				t.Errorf("%q is no report", r)
			}
			if named && !regexp.MustCompile(regexp.QuoteMeta(r)+`\b`).MatchString(bodies.String()) {
				t.Errorf("%s: none of its tests names it", r)
			}
		}
	}
	want := strings.Fields("1 2 3 5 6 7 8 9 11 12 13 15 16 18 21 22 23 24 26 27 28 29 31 32 33 35 36 38 39 40 41 47 48 49")
	if !slices.Equal(numbers, want) || reports < 90 {
		t.Errorf("%d reports with the numbers %v, want %v", reports, numbers, want)
	}
}

// testText is a test with the comment above it: from the end of what stands before it to
// where the next function begins.
func testText(all, name string) string {
	at := strings.Index(all, "\nfunc "+name+"(t *testing.T)")
	if at < 0 {
		return ""
	}
	from := strings.LastIndex(all[:at], "\n}\n")
	text := all[max(from, 0):]
	at -= max(from, 0)
	if end := strings.Index(text[at+1:], "\nfunc "); end >= 0 {
		return text[:at+1+end]
	}
	return text
}
