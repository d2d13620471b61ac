// Package forge is what a runner pool needs of a forge: runners that are registered, seen
// and removed, jobs and their runs, and the deliveries of hooks. Each forge has a folder
// below with its client, and forgetest is the suite that all of them pass.
//
// A client speaks our nouns and writes no state. It must never report a list that may be
// incomplete as whole, never take silence or a refusal for the absence of a runner, and
// never let a credential into an error, an address or a log. What it fails with is sorted
// here, by what the caller can do about it.
package forge
