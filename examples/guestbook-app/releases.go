package main

import "strings"

// release is what differs between the versions of the program. Everything else is the
// same code, so that what a test sees change is what changed here.
type release struct {
	schema     int                             // the shape of the data that it reads and writes
	columns    []string                        // that shape
	entry      func(message) map[string]string // what the worker writes for a message
	migrations []migration
}

// releases are the versions there are.
//
//	1.0.0  schema 1: name, text
//	1.1.0  schema 2: author, email, text, created_at; its migration splits the name
//	1.2.0  schema 3: its migration is broken, and is refused by the store as a whole
var releases = map[string]release{
	"1.0.0": {schema: 1, columns: []string{"name", "text"}, entry: plainEntry},
	"1.1.0": {schema: 2, columns: []string{"author", "email", "text", "created_at"}, entry: datedEntry, migrations: []migration{splitName}},
	"1.2.0": {schema: 3, columns: []string{"author", "email", "text", "created_at", "country"}, entry: datedEntry, migrations: []migration{splitName, addCountry}},
}

// thisRelease is that of the program's version. A suffix, such as that of a patched
// build, does not make another release, and a build without a version is the last good one.
func thisRelease() release {
	base, _, _ := strings.Cut(version, "-")
	if found, ok := releases[base]; ok {
		return found
	}
	return releases["1.1.0"]
}

func plainEntry(m message) map[string]string {
	return map[string]string{"name": m.Name, "text": m.Text}
}

func datedEntry(m message) map[string]string {
	author, email := splitAuthor(m.Name)
	return map[string]string{"author": author, "email": email, "text": m.Text, "created_at": m.SentAt}
}

// splitAuthor takes "Ada Lovelace <ada@example.com>" apart. A name without an address is
// all author.
func splitAuthor(name string) (author, email string) {
	author, rest, found := strings.Cut(name, "<")
	if !found {
		return strings.TrimSpace(name), ""
	}
	email, _, _ = strings.Cut(rest, ">")
	return strings.TrimSpace(author), strings.TrimSpace(email)
}
