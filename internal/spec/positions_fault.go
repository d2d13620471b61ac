package spec

import "slipway.dev/slipway/internal/slipway"

// Fault makes a FieldError for those who find faults that a file alone does not show: a
// secret that is not there, a move that is not allowed.
func (p Positions) Fault(msg, hint string, path ...string) slipway.FieldError {
	return p.fault(msg, hint, path...)
}
