// Package secret seals values so that a copy of the database does not give them away.
//
// A value is sealed for one place: its installation, environment and name are bound to it
// as associated data, so that a row copied to another name, or into another database,
// does not open. The keyset that seals comes from a file outside the database or from the
// environment, and may hold several keys: the primary seals, all of them open.
//
// The package must never log or return a key or a value in an error, and knows neither
// the store nor who asks.
package secret
