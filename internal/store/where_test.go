package store

import (
	"strings"
	"testing"
)

func TestOneOfMakesFewStatements(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 64: 64, 500: 512} {
		values := make([]int, n)
		for i := range values {
			values[i] = i
		}
		condition, args := oneOf("id", values)
		if got := strings.Count(condition, "?"); got != want || len(args) != want {
			t.Errorf("%d values: %d marks and %d arguments, want %d", n, got, len(args), want)
		}
		for i, a := range args {
			if a != min(i, n-1) {
				t.Errorf("%d values: argument %d is %v", n, i, a)
			}
		}
	}
}
