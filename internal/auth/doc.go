// Package auth tells who asks.
//
// People sign in with a password and carry a session cookie; programs carry a token;
// the actions of a task carry a token that ends with the task. Each request is judged
// anew: the role that counts is the least of the user's and the token's as they stand at
// that moment, so that a deactivated user is out at the next call, not at the next login.
//
// The package must never say why a sign-in was refused, in words or in time: an unknown
// name, a wrong password, a deactivated user and the built-in user get one answer. It
// stores no password, no token and no session in clear, and logs none. What a caller may
// then do is decided where it is done, in package change.
package auth
