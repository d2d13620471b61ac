// Package postgres opens the store in a PostgreSQL database, which any number of
// processes may share.
//
// It holds what PostgreSQL needs and SQLite does not: the connection pool, the lock under
// which one process migrates while the others wait, and its own migrations. It knows no
// noun and holds no query; those are in package store. It must never show the address of
// the database, which may hold a password.
package postgres
