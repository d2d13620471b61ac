// Package change accepts what people and programs ask for, or refuses it.
//
// Each function checks the caller's role and scope, then the input, then what stands in
// the database, and writes everything that follows from a yes in one transaction: the
// wanted state, the audit line, the event and the wake-up. So a request is either there
// with all its consequences or it never was, and a crash cannot come between.
//
// A refusal is a *slipway.Error that names every fault of the input with its place and
// what to write instead.
//
// The package never calls a cluster, a forge or Prefect: what must ask them is behind the
// interfaces DriverChecker and Renderer, and happens before the transaction, never in it. It
// never moves the state of an application, a task or a step that already exists, but for
// asking a task to end; the reconcilers do that. It never writes a secret's value anywhere
// but sealed into the secrets table.
package change
