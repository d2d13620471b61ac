// Package task keeps work that must happen, and survives the loss of any process.
//
// Beneath is a list of wake-ups: nouns, by name and ID, that must be looked at. A
// [WakeUp] is enqueued in the transaction that made it necessary, so it exists exactly
// when its cause does. River carries it to a worker of any process; one worker at a time
// runs a noun's handler, and a wake-up that comes while it runs leads to another run
// after it. A wake-up says that something must be looked at and never what to do: the
// same noun may be looked at twice, or long after, and the handler must reach the same
// end.
//
// Above are the tasks and steps that people see. A reconciler claims a task through the
// [Journal] and writes its steps through the [Run] that it gets. Every such write carries
// the epoch of the claim, so a worker that lost the task, and does not know it yet,
// cannot write any more.
//
// A process that dies leaves jobs that River would hold for running. Each process beats
// in the database; when one has not for [DeadAfter], another gives its jobs to the
// living. A process that learns that it was given up must end: see [Queue.Lost].
//
// The package knows no noun, calls nobody outside the database, and decides nothing about
// the work that it keeps.
package task
