// Package contract embeds what Slipway promises to outsiders: the schemas of the files
// that people write, the API's description, the cluster's resource. It holds no code
// beyond the embedding, and imports nothing of ours, so that every part may read it.
package contract

import "embed"

// The JSON Schemas (2020-12) of what people and programs write and read. Package spec is
// stricter than they are; a test checks that it takes and refuses the same examples.
var (
	// ApplicationSchema describes application.toml, after TOML is read.
	//
	//go:embed application.schema.json
	ApplicationSchema []byte

	// DriverSchema describes driver.slipway.yml.
	//
	//go:embed driver.schema.json
	DriverSchema []byte

	// DriverTestsSchema describes driver_test.yml.
	//
	//go:embed driver_test.schema.json
	DriverTestsSchema []byte

	// ContextSchema describes the GlobalContext that actions and templates get.
	//
	//go:embed context.schema.json
	ContextSchema []byte
)

// Examples are files that are read, in applications and drivers, and files that are refused,
// in refused-applications and refused-drivers.
//
//go:embed examples
var Examples embed.FS
