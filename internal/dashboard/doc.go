// Package dashboard serves the pages: what view reads, as HTML, and forms that ask change.
//
// Pages are rendered in the server and whole: each works without a script, by plain links,
// forms and reloads. With scripts a page stays live: an event stream says only "something
// changed", and the page asks for itself again, so what a reader may see is decided in one
// place at every look. Templates (*.templ) stand beside the Go that serves them; their
// generated Go and the assets are committed.
//
// Everything that a page shows is escaped by templ, and text that came from a command is
// also freed of control codes. The package answers under a content policy without inline
// scripts or styles, and nothing changes by a GET.
//
// The package must never show a secret's value, except a new token's in the answer to the
// request that made it. It never asks a cluster, a forge or Prefect: a page waits for the
// database alone.
package dashboard
