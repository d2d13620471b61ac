// Package config reads what an operator has set: one TOML file, then the environment,
// then flags, each stronger than the one before.
//
// It is strict. An unknown key, a value of the wrong type or two settings that contradict
// each other are refused with the place they stand in, all of them at once, because an
// operator who must restart for each fault tries three values where one was wrong.
//
// It must never print a password: the database's address shows itself without one, and
// no message repeats a value that could hold one. It opens nothing but the configuration
// file and the file that database_file names.
package config
