// Package view answers what people and programs ask to read: one question of a page, one
// reading of the store.
//
// A Reader's methods take the caller and leave out what it may not see, so that the API
// and the dashboard cannot forget to. A noun outside the caller's scope is NotFound, like
// one that does not exist: its existence is not told either. Each method reads in one
// read-only transaction; a page never mixes two moments.
//
// The package never writes, never decides, and never waits for a cluster, a forge or
// Prefect. It holds no HTML and no JSON: it returns nouns and what was found beside them.
package view
