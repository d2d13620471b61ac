package view

import "slipway.dev/slipway/internal/store"

// Page asks for a part of a list: at most Limit rows (0: 50, never more than 500), going on
// After the Next of the list before.
type Page = store.Page

// List is a part of a list. Its Next is the After of the next part, empty on the last one.
type List[T any] = store.List[T]
