package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"slipway.dev/slipway/internal/slipway"
)

// DriverFiles are the names under which a bundle's specification is looked for, best
// first. The second is the one that existing drivers have.
var DriverFiles = []string{"driver.slipway.yml", "driver.styrmin.yml", "driver.yml"}

// maxDriverFile bounds the specification itself, not what stands beside it.
const maxDriverFile = 64 << 10

// The values of apiVersion that are known. Both mean the same format.
var driverAPIVersions = []string{"slipway.dev/v1", "styrmin.io/v1"}

// DriverReading is what could be understood of a driver's specification, faults or not:
// who looks for faults elsewhere in the driver goes on with it.
type DriverReading struct {
	File   string // the specification's name in the bundle
	Spec   slipway.DriverSpec
	Faults []slipway.FieldError
	Notes  []slipway.FieldError // what was accepted but is not as it should be, or has no effect yet
	At     Positions            // where the paths of the specification stand
}

// ReadDriver reads a bundle's specification as far as it can. The error is for a bundle
// without one, and for one that is not YAML at all.
func ReadDriver(b Bundle) (DriverReading, error) {
	file, src, err := driverFile(b)
	if err != nil {
		return DriverReading{}, err
	}
	root, faults := parseYAML(src, file)
	if err := faultsError(file, faults); err != nil {
		return DriverReading{}, err
	}
	if root == nil {
		return DriverReading{}, slipway.Errorf(slipway.Invalid, "%s is empty", file)
	}
	d := &driverReader{reader: &reader{file: file}, bundle: b}
	out := DriverReading{File: file, Spec: d.driver(root), At: Positions{file: file, root: root, known: true}}
	byPlace(d.faults)
	byPlace(d.notes)
	out.Faults, out.Notes = d.faults, d.notes
	return out, nil
}

// ParseDriver reads and checks a bundle's specification, with all that needs neither
// Python nor a cluster. The warnings are sentences with their place; they say what was
// accepted but is not as it should be, or has no effect yet.
func ParseDriver(b Bundle) (slipway.DriverSpec, []string, error) {
	d, err := ReadDriver(b)
	if err == nil {
		err = faultsError(d.File, d.Faults)
	}
	if err != nil {
		return slipway.DriverSpec{}, nil, err
	}
	return d.Spec, Sentences(d.Notes), nil
}

// Sentences writes faults or warnings as lines.
func Sentences(notes []slipway.FieldError) []string {
	var out []string
	for _, n := range notes {
		out = append(out, n.String())
	}
	return out
}

func driverFile(b Bundle) (file string, src []byte, err error) {
	var found []string
	for _, name := range DriverFiles {
		if content, ok := b.File(name); ok {
			found = append(found, name)
			if src == nil {
				file, src = name, content
			}
		}
	}
	switch {
	case len(found) == 0:
		return "", nil, slipway.Errorf(slipway.Invalid, "the directory holds no %s", DriverFiles[0]).
			WithHint("give the directory of a driver; its specification is named %s", listOf(DriverFiles, "or"))
	case len(found) > 1:
		return "", nil, slipway.Errorf(slipway.Invalid, "the driver holds %s", listOf(found, "and")).WithHint("keep one of them")
	case len(src) > maxDriverFile:
		return "", nil, slipway.Errorf(slipway.TooLarge, "%s has %d bytes; at most %d are allowed", file, len(src), maxDriverFile)
	}
	return file, src, nil
}

// driverReader reads a specification beside the files that it names.
type driverReader struct {
	*reader
	bundle Bundle
}

const driverNameHint = "use lower-case letters, digits and hyphens, at most 49, starting with a letter"

var driverName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,48}$`)

func (d *driverReader) driver(root *node) slipway.DriverSpec {
	var s slipway.DriverSpec
	if !d.table(root, "", "apiVersion", "kind", "metadata", "spec") {
		return s
	}
	s.APIVersion = d.apiVersion(root)
	if kind := d.need(root, "", "kind", "write kind: ApplicationDriver"); d.text(kind, "kind") != "ApplicationDriver" && kind != nil {
		d.fault(kind.pos, "kind", "write kind: ApplicationDriver", "is no kind of driver that slipway knows")
	}
	meta := d.need(root, "", "metadata", "write metadata with a name")
	if d.table(meta, "metadata", "name", "labels", "annotations", "namespace") {
		name := d.need(meta, "metadata", "name", "")
		s.Name = d.filled(name, "metadata.name", "")
		if s.Name != "" && !driverName.MatchString(s.Name) {
			d.fault(name.pos, "metadata.name", driverNameHint, "%q cannot name a driver", s.Name)
		}
	}
	spec := d.need(root, "", "spec", "")
	if !d.table(spec, "spec", "version", "supported_versions", "upgrades", "allow_downgrade", "rollbacks", "info", "helm",
		"components", "parameters", "services", "actions", "checks", "python") {
		return s
	}
	s.Version = d.semver(d.need(spec, "spec", "version", "write the driver's own version: 1.0.0"), "spec.version")
	s.SupportedVersions = d.versionRange(spec.get("supported_versions"), "spec.supported_versions")
	s.Upgrades = d.paths(spec.get("upgrades"), "spec.upgrades")
	s.Rollbacks = d.paths(spec.get("rollbacks"), "spec.rollbacks")
	s.AllowDowngrade = d.boolean(spec.get("allow_downgrade"), "spec.allow_downgrade")
	s.Info = d.info(spec.get("info"))
	s.Chart = d.chart(d.need(spec, "spec", "helm", "write spec.helm.main.location"))
	s.Components = d.components(spec.get("components"))
	s.Parameters = d.parameterSchema(spec.get("parameters"))
	s.Services = d.services(spec.get("services"), s.Components)
	s.Actions = d.actions(spec.get("actions"), s.Components)
	for _, key := range []string{"checks", "python"} {
		if n := spec.get(key); n != nil {
			d.note(n.pos, "spec."+key, "", "is accepted and has no effect yet")
		}
	}
	d.unreachable(spec, s)
	d.shadowing(s.Actions)
	d.backedUp(s, spec.get("components"))
	return s
}

func (d *driverReader) apiVersion(root *node) string {
	n := d.need(root, "", "apiVersion", "write apiVersion: "+driverAPIVersions[0])
	v := d.text(n, "apiVersion")
	if n == nil || v == "" || slices.Contains(driverAPIVersions, v) {
		return v
	}
	group, _, _ := strings.Cut(v, "/")
	for _, known := range driverAPIVersions {
		if strings.HasPrefix(known, group+"/") {
			d.fault(n.pos, "apiVersion", "this slipway knows "+known, "%s needs a newer slipway", v)
			return v
		}
	}
	d.fault(n.pos, "apiVersion", "write apiVersion: "+driverAPIVersions[0], "%q is no version of a driver's format", cut(v, 60))
	return v
}

// semver reads an exact version, and tells the reader how to write one.
func (d *driverReader) semver(n *node, path string) string {
	if n != nil && (n.shape == numberShape || n.shape == wholeShape) {
		d.fault(n.pos, path, fmt.Sprintf("write %s", threeParts(n.raw)), "%s is no version of three parts", n.raw)
		return ""
	}
	s := d.filled(n, path, "")
	if s == "" {
		return ""
	}
	if _, err := semver.StrictNewVersion(s); err != nil {
		d.fault(n.pos, path, fmt.Sprintf("write %s", threeParts(s)), "%q is no version of three parts", cut(s, 60))
	}
	return s
}

// threeParts guesses the version that was meant.
func threeParts(s string) string {
	if v, err := semver.NewVersion(s); err == nil {
		return v.String()
	}
	return "a version such as 1.4.2"
}

// unreachable warns of rollback actions that no rule leads to.
func (d *driverReader) unreachable(spec *node, s slipway.DriverSpec) {
	if len(s.Rollbacks) > 0 {
		return
	}
	for i, a := range s.Actions {
		if a.Hook == slipway.Rollback {
			d.note(spec.get("actions").list[i].pos, item("spec.actions", i), "write spec.rollbacks with a list of { from: …, to: … }", "never runs: the driver names no rollback")
		}
	}
}

// paths reads the moves between versions that a driver allows.
func (d *driverReader) paths(n *node, at string) []slipway.UpgradePath {
	if !d.shaped(n, at, listShape, "write a list of { from: …, to: … }") {
		return nil
	}
	var out []slipway.UpgradePath
	for i, row := range n.list {
		path := item(at, i)
		if !d.table(row, path, "from", "to") {
			continue
		}
		from := d.versionRange(d.need(row, path, "from", "a range of versions"), path+".from")
		to := d.versionRange(d.need(row, path, "to", "a range of versions"), path+".to")
		out = append(out, slipway.UpgradePath{From: from, To: to})
	}
	return out
}

func (d *driverReader) info(n *node) slipway.DriverInfo {
	var out slipway.DriverInfo
	if !d.table(n, "spec.info", "description", "authors", "homepage", "icon", "title", "license") {
		return out
	}
	out.Description = d.text(n.get("description"), "spec.info.description")
	out.Homepage = d.text(n.get("homepage"), "spec.info.homepage")
	if out.Homepage != "" && !strings.HasPrefix(out.Homepage, "https://") && !strings.HasPrefix(out.Homepage, "http://") {
		d.fault(n.get("homepage").pos, "spec.info.homepage", "write it with https://", "is no web address")
		out.Homepage = ""
	}
	if authors := n.get("authors"); d.shaped(authors, "spec.info.authors", listShape, "write a list: [\"…\"]") {
		for i, a := range authors.list {
			out.Authors = append(out.Authors, d.text(a, item("spec.info.authors", i)))
		}
	}
	return out
}

// CheckDriverName refuses what cannot name a driver.
func CheckDriverName(name string) error {
	if driverName.MatchString(name) {
		return nil
	}
	return slipway.Errorf(slipway.Invalid, "%q cannot name a driver", cut(name, 60)).WithHint(driverNameHint)
}
