// Package kube is Slipway's client of one Kubernetes cluster. It speaks our nouns: an
// application's record, its components' workloads, the Job of an action's command.
//
// Every function reads what is there, does one thing and says how it went, in words that
// name the object, its condition and the last event. Waiting is by watch, with a reading
// at intervals beside it: a watch may die unnoticed, and a wait must not.
//
// The package decides nothing about an application and keeps no state. It must never
// touch an object that does not carry our labels, and never return output or a message of
// a container that has not passed the redactor it was given.
package kube
