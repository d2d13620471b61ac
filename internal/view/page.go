package view

// DefaultLimit is how many rows a list gives when nobody says how many; MaxLimit is the
// most it gives at once.
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// Page asks for a part of a list. The zero Page is the first DefaultLimit rows.
type Page struct {
	Limit int
	After string // the Next of the List before; empty: from the start
}

// List is a part of a list and where to go on.
type List[T any] struct {
	Rows []T
	Next string // the After of the next page; empty: this was the last
}
