package spec

import (
	"fmt"
	"slices"
	"strings"
)

// didYouMean returns a hint that names the nearest of the known words, or lists them when
// none is near.
func didYouMean(word string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		if d := editDistance(fold(word), fold(k)); d < distance && d < max(len(k), len(word)) {
			best, distance = k, d
		}
	}
	switch {
	case best != "":
		return "did you mean " + best + "?"
	case len(known) == 0:
		return ""
	case len(known) > 12:
		return ""
	}
	sorted := slices.Sorted(slices.Values(known))
	return "known here: " + strings.Join(sorted, ", ")
}

// fold makes spellings alike that people mix up: camelCase, kebab-case and snake_case.
func fold(s string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(s))
}

// editDistance counts the letters to insert, drop, replace or swap with their neighbour.
func editDistance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// listOf writes words for people: a, b or c.
func listOf(words []string, last string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return fmt.Sprintf("%s %s %s", strings.Join(words[:len(words)-1], ", "), last, words[len(words)-1])
}
