package spec

import "slipway.dev/slipway/internal/slipway"

// Values renders the driver's values template.
func Values(b Bundle, d slipway.DriverSpec, c GlobalContext) (map[string]any, error) {
	return nil, slipway.Errorf(slipway.Internal, "being written")
}
