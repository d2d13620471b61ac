// Package storetest holds what every database must do for the store: one suite, run on
// SQLite and on PostgreSQL.
//
// It asks through the store's own functions and never in SQL, so that it can tell only
// what a caller could.
package storetest
