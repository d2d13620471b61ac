package change

import (
	"maps"
	"slices"
)

// sorted lists the keys of a map in order, so that messages are the same each time.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
