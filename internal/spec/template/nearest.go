package template

import "strings"

// nearest suggests the one of the known names that is spelt almost like name.
func nearest(name string, known []string) string {
	best, distance := "", 3
	for _, k := range known {
		if d := spelling(strings.ToLower(name), strings.ToLower(k)); d < distance && d < len(name) || d == distance && k < best {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return "did you mean " + best + "?"
}

// spelling counts the letters to insert, drop or replace.
func spelling(a, b string) int {
	if len(a) > 40 || len(b) > 40 {
		return 40
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
