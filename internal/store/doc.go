// Package store keeps every row of Slipway, in SQLite or in PostgreSQL.
//
// There is one query set: each noun has a file with its functions and, beside each, its
// SQL, written for both databases. What differs between them — how a time is stored, how
// a parameter is marked, which error means "exists already" — is the [Dialect], of which
// the folders sqlite and postgres hold one each, with the migrations.
//
// All work happens in a transaction: [Store.InTx] to write, [Store.Read] to look. SQLite
// has one writer connection, so inside InTx nothing may be asked of the store but
// through the transaction in hand; a second InTx inside the first waits for itself until
// its time-out.
//
// Rows that several processes write are guarded. A write that comes too late changes
// nothing and returns [ErrStale], which means: read again. The package decides nothing
// beyond that, calls nobody outside its database, and never sees a secret's clear value
// or a password: only sealed bytes and hashes.
package store
