// Package pool brings runner pools to their demand: which queued jobs are whose, how many
// runners a pool needs, which of its slots must go, and the whole life of each slot, from
// the row that is written first to the look that finds nothing left outside.
//
// A run looks at the world, then reads the rows, and decides: [Judge] says what a slot has
// become, [Plan] what the pool needs. Both are pure. The decision is committed before
// anything is asked for, and each step writes its own end, so that a process may die at any
// moment: the next run finds a row for whatever may be there. What is there without a row
// is found by comparing whole lists with the rows, and removed when it has lasted.
//
// The package must never end a runner that has a job, but when its pool is deleted; never
// count a slot as gone before its registration and its pod are; never use a runner's name
// or configuration twice, nor keep a configuration anywhere; never take one list, or one
// that failed, for proof; and never tie a runner to a job, because the forge gives a job to
// any runner with its labels.
package pool
