package store

import (
	"context"
	"strings"
)

// maxRows bounds the rows of one statement. One row of the widest table has 22 values, and
// PostgreSQL takes 65,535 of them in a statement.
const maxRows = 64

// insertRows writes many rows in few statements, for most of the cost of a row is that of
// its statement. The statements have 64, 32, 16, … rows, so that there are few different
// ones for the database to prepare.
func (tx *Tx) insertRows(ctx context.Context, head, tail string, rows [][]any) error {
	for size := maxRows; size > 0; size /= 2 {
		for len(rows) >= size {
			values := "(?" + strings.Repeat(", ?", len(rows[0])-1) + ")"
			args := make([]any, 0, size*len(rows[0]))
			for _, r := range rows[:size] {
				args = append(args, r...)
			}
			if _, err := tx.exec(ctx, head+values+strings.Repeat(", "+values, size-1)+tail, args...); err != nil {
				return err
			}
			rows = rows[size:]
		}
	}
	return nil
}
