package spec

import "slipway.dev/slipway/internal/slipway"

// DriverFiles are the names under which a bundle's specification is looked for, best
// first.
var DriverFiles = []string{"driver.slipway.yml", "driver.styrmin.yml", "driver.yml"}

// ParseDriver reads and checks a bundle's specification.
func ParseDriver(b Bundle) (slipway.DriverSpec, []string, error) {
	return slipway.DriverSpec{}, nil, slipway.Errorf(slipway.Internal, "being written")
}
