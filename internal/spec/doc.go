// Package spec reads the files that people write: application.toml, and a driver's
// driver.slipway.yml with what stands beside it.
//
// It is strict. Whatever it does not know it refuses, and it reports every fault of a
// file at once, each with its line, its column and what to write instead, because a file
// is corrected in one sitting or in ten. What it accepts it brings into one form
// (Canonical), so that two spellings of the same wish are the same revision.
//
// Everything here is pure: the same bytes give the same answer. The exceptions are named
// for what they touch, ReadBundleDir and Bundle.WriteTo. Package spec never asks a
// cluster or a network, runs nobody's Python, and never holds the value of a secret.
package spec
