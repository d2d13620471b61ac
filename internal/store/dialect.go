package store

import (
	"strconv"
	"strings"
	"time"
)

// Dialect is what differs between the databases.
type Dialect struct {
	Name string // sqlite or postgres

	// Shared says that several processes may have the database open at once.
	Shared bool

	// Numbered parameters are written $1, $2 …; the queries of this package write ?.
	Numbered bool

	// Time turns a time into what the database stores and compares. It never gets a zero
	// time, which is stored as NULL.
	Time func(time.Time) any

	// Sort says what an error of the driver means. It returns FaultOther for what needs
	// no care.
	Sort func(error) Fault

	// ForUpdate is appended to a SELECT whose rows are to be held until the transaction
	// ends. It is empty where a writer has the database to itself.
	ForUpdate string

	// ServerTime is a query for the database's own clock. It is empty where the database
	// lives in this process and has none of its own.
	ServerTime string
}

// Fault is what an error of a database means to us.
type Fault int

const (
	FaultOther   Fault = iota
	FaultUnique        // a row with this key exists
	FaultForeign       // a row refers to, or is referred to by, another
	FaultBusy          // the database could not serialise us; the same again may succeed
	FaultGone          // the database does not answer
	FaultFull          // there is no room on its disk
)

// rebind writes the query's ? parameters as the dialect wants them. The queries hold no ?
// in any literal.
func (d *Dialect) rebind(query string) string {
	if !d.Numbered {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + 16)
	n := 0
	for {
		i := strings.IndexByte(query, '?')
		if i < 0 {
			b.WriteString(query)
			return b.String()
		}
		n++
		b.WriteString(query[:i])
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
		query = query[i+1:]
	}
}
