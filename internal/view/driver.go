package view

import "slipway.dev/slipway/internal/slipway"

// DriverPage is one loaded version of a driver and who uses it.
type DriverPage struct {
	Driver   slipway.Driver
	Versions []slipway.Driver      // every loaded version of the same name, newest first
	Users    []slipway.Application // the applications in the caller's scope whose wanted revision names it
}
