package wire

// List is one page of a listing. It ends the listing when NextCursor is empty.
type List[T any] struct {
	Items      []T    `json:"items" nullable:"false" doc:"The items of this page."`
	NextCursor string `json:"next_cursor,omitempty" doc:"Give it as cursor to get the next page; absent on the last one."`
}

// DefaultLimit and MaxLimit bound the items of one page.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)
