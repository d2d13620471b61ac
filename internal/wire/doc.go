// Package wire holds what goes over the API: the bodies of requests and of answers.
//
// The API's description is generated from these types and their tags, the client and the
// CLI decode into them, so a field here is a promise to people outside. Names are
// snake_case, times RFC 3339 in UTC, IDs whole numbers; what may be missing is left out.
//
// The package imports nothing of ours and does nothing. No type of an answer may have a
// field for a password or a secret's value; the one value that is ever shown is a new
// token's, once.
package wire
