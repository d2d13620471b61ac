package author

import (
	"cmp"
	"context"
	"slices"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// Report is what is known of a driver without running it.
type Report struct {
	Spec     slipway.DriverSpec // as far as it could be read; whole when there is no fault
	Faults   []slipway.FieldError
	Warnings []slipway.FieldError
}

// Err is the report's faults as one error, or nil.
func (r Report) Err() error {
	if len(r.Faults) == 0 {
		return nil
	}
	e := slipway.Errorf(slipway.Invalid, "the driver has %d faults", len(r.Faults))
	if len(r.Faults) == 1 {
		e = slipway.Errorf(slipway.Invalid, "the driver has 1 fault")
	}
	e.Fields = r.Faults
	return e
}

// Check finds everything that is wrong with a driver and can be known without a cluster
// and without running its code: in the specification, the Python files, the values and the
// chart. A fault in one part keeps no other part from being looked at. The error is for a
// context that ended; what is wrong with the driver, or with the tools, is in the Report.
func (t *Tools) Check(ctx context.Context, b spec.Bundle) (Report, error) {
	read, err := spec.ReadDriver(b)
	if err != nil {
		return refusedWhole(err)
	}
	c := &check{tools: t, bundle: b, DriverReading: read, report: Report{Spec: read.Spec}}
	c.report.Faults, c.report.Warnings = slices.Clone(read.Faults), slices.Clone(read.Notes)
	c.python(ctx)
	c.chart(ctx)
	c.tests()

	if ctx.Err() != nil {
		return Report{}, context.Cause(ctx)
	}
	byPlace(c.report.Faults, c.File)
	byPlace(c.report.Warnings, c.File)
	return c.report, nil
}

// refusedWhole reports a bundle whose specification cannot be read at all.
func refusedWhole(err error) (Report, error) {
	e, ok := errorOf(err)
	if !ok {
		return Report{}, err
	}
	if len(e.Fields) > 0 {
		return Report{Faults: e.Fields}, nil
	}
	return Report{Faults: []slipway.FieldError{{Msg: e.Msg, Hint: e.Hint}}}, nil
}

// check is one driver being checked.
type check struct {
	tools  *Tools
	bundle spec.Bundle
	spec.DriverReading
	report Report
}

func faultOfFile(file, msg string) slipway.FieldError {
	return slipway.FieldError{File: file, Msg: msg}
}

func (c *check) fault(f slipway.FieldError) { c.report.Faults = append(c.report.Faults, f) }
func (c *check) warn(f slipway.FieldError)  { c.report.Warnings = append(c.report.Warnings, f) }

// byPlace sorts faults as they are mended: the specification first.
func byPlace(faults []slipway.FieldError, first string) {
	rank := func(f slipway.FieldError) int {
		if f.File == first || f.File == "" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(faults, func(a, b slipway.FieldError) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}
