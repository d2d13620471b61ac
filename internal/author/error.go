package author

import (
	"errors"
	"maps"
	"slices"

	"slipway.dev/slipway/internal/slipway"
)

func errorOf(err error) (*slipway.Error, bool) {
	var e *slipway.Error
	ok := errors.As(err, &e)
	return e, ok
}

// message is an error in the words that are for people.
func message(err error) string {
	if e, ok := errorOf(err); ok {
		return e.Msg
	}
	return err.Error()
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
