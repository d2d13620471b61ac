package author

import "slipway.dev/slipway/internal/spec"

// tests reads the file of tests, if there is one.
func (c *check) tests() {
	tests, _, err := spec.ParseDriverTests(c.bundle)
	if e, ok := errorOf(err); ok {
		c.report.Faults = append(c.report.Faults, e.Fields...)
		if len(e.Fields) == 0 {
			c.fault(faultOfFile(spec.DriverTestsFile, e.Msg))
		}
		return
	}
	files := map[string]bool{tests.Application: true}
	for _, t := range tests.Tests {
		files[t.Application] = true
	}
	for _, name := range sortedKeys(files) {
		src, there := c.bundle.File(name)
		if name == "" || !there {
			continue
		}
		app, err := spec.ParseApplication(src, name)
		if e, ok := errorOf(err); ok {
			c.report.Faults = append(c.report.Faults, e.Fields...)
			continue
		}
		if len(c.DriverReading.Faults) == 0 {
			c.report.Faults = append(c.report.Faults, spec.CheckAgainstDriver(app, c.Spec, spec.PositionsOf(src, name))...)
		}
	}
}
