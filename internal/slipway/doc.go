// Package slipway holds the nouns of Slipway and the moves that are legal for them.
//
// A noun is what a team would name at a whiteboard: a project, an application, a change,
// a task. Each has one file here, and the same file name wherever else it is handled:
// application.go here, store/application.go, api/application.go. State is drawn above its
// type, and the legal moves are data, so that the store can refuse an illegal one.
//
// The package calls nobody and imports nothing of ours: no SQL, no HTTP, no cluster. It
// must never hold a secret's value; a secret is a name here.
package slipway
