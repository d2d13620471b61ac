// Package api answers programs: REST under /api/v1, described by OpenAPI 3.1 that is
// generated from the handlers.
//
// Each operation stands once in the table of operation.go with the role that it needs. A
// request is checked against that table and against the types of package wire before its
// handler runs; the handler turns it into a call of package change, which accepts or
// refuses, or of package view, which reads. Role and scope are checked there again: the
// table is the outer door, not the only one.
//
// An answer never waits for a cluster or for Prefect, but for two that say so: a question
// with wait= is held back until there is news, for 25 s at most, and /events stays open.
// Both end when the server stops.
//
// The package must never echo a value of a request in an error, nor log a query, a body
// or a token.
package api
