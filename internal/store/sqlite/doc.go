// Package sqlite opens the store in one SQLite file, which one process has to itself.
//
// It holds what SQLite needs and PostgreSQL does not: the lock file, the single writer
// connection beside a pool of readers, and its own migrations. It knows no noun and holds
// no query; those are in package store.
package sqlite
