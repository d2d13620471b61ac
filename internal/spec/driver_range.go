package spec

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// versionRange reads a range of versions and returns it in semver's spelling. Python's
// spelling of ranges (PEP 440) is taken too, where it means the same, with a warning.
func (d *driverReader) versionRange(n *node, path string) string {
	const example = `write it as in ">=1.5.0 <2.0.0"`
	if n != nil && (n.shape == numberShape || n.shape == wholeShape) {
		d.fault(n.pos, path, fmt.Sprintf("write %q", "="+n.raw), "must be text, not %s", n.shape)
		return ""
	}
	s := strings.TrimSpace(d.filled(n, path, example))
	if s == "" {
		return ""
	}
	converted, changed, err := convertRange(s)
	if err == nil {
		_, err = semver.NewConstraint(converted)
	}
	if err != nil {
		d.fault(n.pos, path, example, "%q is no range of versions", cut(s, 80))
		return ""
	}
	if changed {
		d.note(n.pos, path, fmt.Sprintf("write %q", converted), "is written as Python writes ranges; read as %s", converted)
	}
	return converted
}

var pythonClause = regexp.MustCompile(`^(===|==|~=|!=|<=|>=|<|>)\s*v?([0-9]+(?:\.[0-9]+)*)(\.\*)?((?:a|b|rc)[0-9]+)?$`)

// convertRange turns PEP 440's spelling into semver's, and leaves semver's alone.
func convertRange(s string) (out string, changed bool, err error) {
	if !strings.Contains(s, ",") && !strings.Contains(s, "==") && !strings.Contains(s, "~=") {
		return s, false, nil
	}
	var clauses []string
	for _, c := range strings.Split(s, ",") {
		c = strings.TrimSpace(c)
		m := pythonClause.FindStringSubmatch(c)
		if m == nil {
			// Semver's own comma between clauses that Python would not write.
			if _, err := semver.NewConstraint(c); err != nil {
				return "", false, err
			}
			clauses = append(clauses, c)
			continue
		}
		clause, err := pythonToSemver(m[1], m[2], m[3] != "", m[4])
		if err != nil {
			return "", false, err
		}
		clauses = append(clauses, clause)
	}
	return strings.Join(clauses, " "), true, nil
}

var preLetters = strings.NewReplacer("a", "alpha.", "rc", "rc.", "b", "beta.")

func pythonToSemver(op, version string, star bool, pre string) (string, error) {
	parts := strings.Split(version, ".")
	if len(parts) > 3 {
		return "", fmt.Errorf("%s has more than three parts", version)
	}
	if pre != "" {
		for len(parts) < 3 {
			parts = append(parts, "0")
		}
		version = strings.Join(parts, ".") + "-" + preLetters.Replace(pre)
	}
	switch {
	case star && (op == "==" || op == "!="):
		return strings.TrimSuffix(op, "=") + map[bool]string{true: "=", false: ""}[op == "!="] + version + ".x", nil
	case star:
		return "", fmt.Errorf("%s goes with .* in no range", op)
	case op == "~=": // at least this, and the same but for its last part
		if len(strings.Split(version, ".")) < 2 {
			return "", fmt.Errorf("~= needs a version of two parts")
		}
		upper := parts[:len(parts)-1]
		if pre != "" {
			upper = parts[:2]
		}
		last, err := strconv.Atoi(upper[len(upper)-1])
		if err != nil {
			return "", err
		}
		next := append(append([]string{}, upper[:len(upper)-1]...), strconv.Itoa(last+1))
		return ">=" + version + " <" + strings.Join(next, "."), nil
	case op == "==" || op == "===":
		// Python's ==1.5 means 1.5.0 only; semver's =1.5 would mean all of 1.5.
		for len(parts) < 3 && pre == "" {
			parts = append(parts, "0")
		}
		if pre == "" {
			version = strings.Join(parts, ".")
		}
		return "=" + version, nil
	case op == "!=" && pre == "":
		for len(parts) < 3 {
			parts = append(parts, "0")
		}
		return "!=" + strings.Join(parts, "."), nil
	}
	return op + version, nil
}
