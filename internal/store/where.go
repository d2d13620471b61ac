package store

import (
	"math/bits"
	"strings"
)

// where gathers the conditions of a list, of which some are there only when a filter asks
// for them.
type where struct {
	conditions []string
	args       []any
}

func (w *where) and(condition string, args ...any) {
	w.conditions = append(w.conditions, condition)
	w.args = append(w.args, args...)
}

func (w *where) andIf(asked bool, condition string, args ...any) {
	if asked {
		w.and(condition, args...)
	}
}

func (w *where) String() string {
	if len(w.conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.conditions, " AND ")
}

// oneOf is the condition that a column has one of some values, with its arguments. There
// must be at least one. The last is repeated until there are 1, 2, 4, 8 …, so that there are
// few different statements for the database to prepare.
func oneOf[T any](column string, values []T) (condition string, args []any) {
	args = make([]any, 1<<bits.Len(uint(len(values)-1)))
	for i := range args {
		args[i] = values[min(i, len(values)-1)]
	}
	return column + ` IN (?` + strings.Repeat(`, ?`, len(args)-1) + `)`, args
}

// with returns the arguments of the conditions and those that follow them.
func (w *where) with(args ...any) []any { return append(w.args, args...) }
