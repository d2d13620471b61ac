package spec

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// DevelopmentVersion is the version of a driver's n-th development load. It comes before
// the version that is being worked on: 1.4.0-dev.3 < 1.4.0.
func DevelopmentVersion(version string, n int) string {
	return fmt.Sprintf("%s%d", DevelopmentPrefix(version), n)
}

// DevelopmentPrefix is what the development versions of a version begin with.
func DevelopmentPrefix(version string) string {
	version, _, _ = strings.Cut(version, "+")
	if strings.Contains(version, "-") {
		return version + ".dev."
	}
	return version + "-dev."
}

// scalar is a value as it stands in a line of YAML or TOML.
var scalar = regexp.MustCompile(`^("[^"\n]*"|'[^'\n]*'|[^\s#,}\]]+)`)

// replaceAt puts text in the place of the scalar at p.
func replaceAt(src []byte, p pos, text string) ([]byte, bool) {
	lines := strings.SplitAfter(string(src), "\n")
	if p.line < 1 || p.line > len(lines) {
		return nil, false
	}
	runes := []rune(lines[p.line-1])
	if p.column < 1 || p.column > len(runes) {
		return nil, false
	}
	before, after := string(runes[:p.column-1]), string(runes[p.column-1:])
	if !scalar.MatchString(after) {
		return nil, false
	}
	lines[p.line-1] = before + text + strings.TrimPrefix(after, scalar.FindString(after))
	return []byte(strings.Join(lines, "")), true
}

// WithVersion returns the bundle with another spec.version. Everything else of the
// specification stays as it is written.
func WithVersion(b Bundle, version string) (Bundle, error) {
	file, src, err := driverFile(b)
	if err != nil {
		return Bundle{}, err
	}
	root, _ := parseYAML(src, file)
	n := root.get("spec").get("version")
	if n == nil {
		return Bundle{}, slipway.Errorf(slipway.Invalid, "%s has no spec.version", file)
	}
	text, ok := replaceAt(src, n.pos, version)
	if !ok {
		return Bundle{}, slipway.Errorf(slipway.Invalid, "spec.version of %s cannot be replaced where it stands", file).
			WithHint("write it on a line of its own: version: 1.0.0")
	}
	files := maps.Clone(b.files)
	files[file] = bundleFile{text, b.files[file].executable}
	out := Bundle{files: files}
	if again, _, err := ParseDriver(out); err != nil || again.Version != version {
		return Bundle{}, slipway.Errorf(slipway.Invalid, "spec.version of %s cannot be replaced where it stands", file).
			WithHint("write it on a line of its own: version: 1.0.0")
	}
	return out, nil
}

// WithDriverVersion returns an application's file with another driver.version.
func WithDriverVersion(src []byte, file, version string) ([]byte, error) {
	root, err := applicationNodes(src, file)
	if err != nil {
		return nil, err
	}
	if n := root.get("driver").get("version"); n != nil {
		if text, ok := replaceAt(src, n.pos, `"`+version+`"`); ok {
			if app, err := ParseApplication(text, file); err == nil && app.Driver.Version == version {
				return text, nil
			}
		}
	}
	return nil, slipway.Errorf(slipway.Invalid, "driver.version of %s cannot be replaced where it stands", named(file)).
		WithHint(`write it under [driver]: version = "1.0.0"`)
}
