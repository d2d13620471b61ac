// Package cli is the command line of Slipway: one file for each command.
//
// Every command but server, config, python and those of a driver's author (package author)
// is a client of the API and nothing else;
// what it can do, any program can. A command gathers its input, asks, and prints; it
// decides nothing that the server must decide again.
//
// The rules of the terminal: what was asked for goes to the standard output, everything
// else to the standard error. No capital begins a message and no full stop ends one. A
// table is for people; -o json and -o yaml are for programs and hold everything. Colour
// and moving lines appear on a terminal only, and NO_COLOR is obeyed. What cannot be
// undone asks first, and refuses when nobody can be asked. No token, password or secret
// is taken as an argument, for arguments are seen by every user of the machine; none is
// printed but a new token's value.
package cli
