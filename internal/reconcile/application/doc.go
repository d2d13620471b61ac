// Package application brings an application to its accepted change: one with a driver whole,
// and a runner application as far as its pools can go on by themselves.
//
// A task is claimed, and then, until it is over: a snapshot of its rows is read, Plan names
// the next phase, and the phase is carried out as one step that people see. Each phase
// has a file: check, hook, apply, ready, remove; those of a runner application are in
// runners.go. The calls of running actions come in by call.go, and the tasks that they start
// run here too, under the same root.
//
// The package alone moves an application's state, its applied revision and the calls of
// actions. It must never let an earlier change move the cluster back behind a later one,
// never start an action's process twice, and never put a secret's value into a row, a log,
// a context or anything of Prefect's.
package application
