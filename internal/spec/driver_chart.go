package spec

import (
	"path"
	"regexp"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

const defaultValues = "values.j2.yml"

func (d *driverReader) chart(helm *node) slipway.ChartRef {
	var c slipway.ChartRef
	const at = "spec.helm.main"
	if !d.table(helm, "spec.helm", "main") {
		return c
	}
	main := d.need(helm, "spec.helm", "main", "write main with the chart's location")
	if !d.table(main, at, "location", "version", "digest", "versions", "values") {
		return c
	}
	location := d.need(main, at, "location", `a path in the driver's directory ("chart"), oci://… or https://…`)
	c.Location = d.filled(location, at+".location", "")
	c.Digest = d.digest(main.get("digest"), at+".digest")
	switch {
	case c.Location == "":
	case LocalChart(c.Location):
		c.Location, c.Version = d.localChart(location, main)
	default:
		d.remoteChart(&c, location, main)
	}
	c.Values = d.values(main.get("values"))
	return c
}

// LocalChart reports whether a chart's location is a path inside the bundle.
func LocalChart(location string) bool { return !strings.Contains(location, "://") }

// localChart checks the chart beside the specification, and takes its version from it.
func (d *driverReader) localChart(location, main *node) (dir, version string) {
	const at = "spec.helm.main"
	dir, err := cleanPath(strings.TrimSuffix(location.text(), "/"))
	if err != nil {
		d.fault(location.pos, at+".location", "give a path inside of the driver's directory", "leads outside of the driver's directory")
		return "", ""
	}
	content, ok := d.bundle.File(path.Join(dir, "Chart.yaml"))
	if !ok {
		d.fault(location.pos, at+".location", "put a Helm chart there, or name one by oci://… or https://…", "there is no %s/Chart.yaml in the driver's directory", dir)
		return dir, ""
	}
	for _, key := range []string{"versions", "digest"} {
		if n := main.get(key); n != nil {
			d.fault(n.pos, at+"."+key, "leave it out", "is for charts outside of the driver's directory")
		}
	}
	root, faults := parseYAML(content, path.Join(dir, "Chart.yaml"))
	if len(faults) > 0 || root == nil {
		d.faults = append(d.faults, faults...)
		return dir, ""
	}
	version, _ = valueText(root.get("version"))
	if version == "" {
		d.faults = append(d.faults, slipway.FieldError{File: path.Join(dir, "Chart.yaml"), Path: "version", Line: 1, Column: 1, Msg: "is missing"})
		return dir, ""
	}
	if n := main.get("version"); n != nil {
		if said, _ := valueText(n); said != version {
			d.fault(n.pos, at+".version", "leave it out, or write "+version, "is not the version of the chart in %s, which is %s", dir, version)
		}
	}
	return dir, version
}

// valueText returns a scalar as it was written.
func valueText(n *node) (string, bool) {
	if n == nil {
		return "", false
	}
	if s, ok := n.value.(string); ok {
		return s, true
	}
	return n.raw, n.raw != ""
}

var remoteSchemes = regexp.MustCompile(`^(oci|https|http)://[^/\s]+`)

func (d *driverReader) remoteChart(c *slipway.ChartRef, location, main *node) {
	const at = "spec.helm.main"
	if !remoteSchemes.MatchString(c.Location) {
		d.fault(location.pos, at+".location", `write oci://…, https://… or a path in the driver's directory`, "is no place that a chart can be had from")
		return
	}
	if rest := c.Location[strings.Index(c.Location, "://")+3:]; strings.Contains(strings.SplitN(rest, "/", 2)[0], "@") {
		d.fault(location.pos, at+".location", "leave the password out; the installation is configured with registries' credentials", "holds a user name or password")
	}
	if strings.HasPrefix(c.Location, "http://") && c.Digest == "" {
		d.note(location.pos, at+".location", "use https, or add the chart's digest", "is fetched without encryption")
	}
	version, table := main.get("version"), main.get("versions")
	switch {
	case version == nil && table == nil:
		d.fault(main.pos, at+".version", "write the exact version of the chart", "is missing")
	case version != nil && table != nil:
		d.fault(table.pos, at+".versions", "keep one of the two", "stands beside version")
	case version != nil:
		c.Version = d.semver(version, at+".version")
	default:
		c.Versions = d.chartVersions(table)
	}
}

func (d *driverReader) chartVersions(n *node) []slipway.ChartVersion {
	const at = "spec.helm.main.versions"
	if !d.shaped(n, at, listShape, "write a list of { app: …, chart: … }") {
		return nil
	}
	var out []slipway.ChartVersion
	for i, row := range n.list {
		p := item(at, i)
		if !d.table(row, p, "app", "chart", "digest") {
			continue
		}
		out = append(out, slipway.ChartVersion{
			App:    d.versionRange(d.need(row, p, "app", "a range of the application's versions"), p+".app"),
			Chart:  d.semver(d.need(row, p, "chart", "the chart's exact version"), p+".chart"),
			Digest: d.digest(row.get("digest"), p+".digest"),
		})
	}
	if len(n.list) == 0 {
		d.fault(n.pos, at, "", "may not be empty")
	}
	return out
}

var digestText = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

func (d *driverReader) digest(n *node, path string) string {
	s := d.text(n, path)
	if s != "" && !digestText.MatchString(s) {
		d.fault(n.pos, path, "write sha256: and 64 hexadecimal digits", "is no digest")
	}
	return s
}

// values finds the values template: the one that is named, or values.j2.yml if there is
// one.
func (d *driverReader) values(n *node) string {
	const at = "spec.helm.main.values"
	if n == nil {
		if _, ok := d.bundle.File(defaultValues); ok {
			return defaultValues
		}
		return ""
	}
	s := d.filled(n, at, "leave it out if there is none")
	if s == "" {
		return ""
	}
	clean, err := cleanPath(s)
	if err != nil {
		d.fault(n.pos, at, "give a path inside of the driver's directory", "leads outside of the driver's directory")
		return ""
	}
	if _, ok := d.bundle.File(clean); !ok {
		d.fault(n.pos, at, didYouMean(clean, d.bundle.Paths()), "there is no %s in the driver's directory", clean)
	}
	return clean
}
