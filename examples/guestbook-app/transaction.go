package main

import (
	"fmt"
	"maps"
	"slices"
)

// transaction is a migration that is under way: a copy of the table that nobody else
// sees until it is committed as a whole.
type transaction struct {
	number  int64
	program string
	from    int
	to      int
	columns []string
	rows    []row
}

// begin starts a transaction. One that is under way already is given up: the program
// that began it has been killed, or will be told so at its next call.
func (d *database) begin(program string, from, to int) (int64, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.book.Schema != from {
		return 0, refusal(fmt.Sprintf("the store has schema %d, and not %d", d.book.Schema, from))
	}
	copied, err := d.book.clone()
	if err != nil {
		return 0, err
	}
	d.lastNumber++
	d.transaction = &transaction{
		number: d.lastNumber, program: program, from: from, to: to,
		columns: copied.Columns, rows: copied.Rows,
	}
	return d.lastNumber, nil
}

// within does something in the transaction of that number.
func (d *database) within(number int64, do func(*transaction) error) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.transaction == nil || d.transaction.number != number {
		return refusal("this migration has ended, or another has taken its place")
	}
	return do(d.transaction)
}

func (d *database) addColumn(number int64, column string) error {
	return d.within(number, func(t *transaction) error {
		if slices.Contains(t.columns, column) {
			return refusal(fmt.Sprintf("column %q already exists", column))
		}
		t.columns = append(t.columns, column)
		return nil
	})
}

func (d *database) dropColumn(number int64, column string) error {
	return d.within(number, func(t *transaction) error {
		place := slices.Index(t.columns, column)
		if place < 0 {
			return refusal(fmt.Sprintf("column %q does not exist", column))
		}
		t.columns = slices.Delete(t.columns, place, place+1)
		for _, each := range t.rows {
			delete(each.Values, column)
		}
		return nil
	})
}

func (d *database) transactionRows(number int64) ([]row, error) {
	var rows []row
	err := d.within(number, func(t *transaction) error {
		for _, each := range t.rows {
			rows = append(rows, row{ID: each.ID, Values: maps.Clone(each.Values)})
		}
		return nil
	})
	return rows, err
}

// update sets columns of rows.
func (d *database) update(number int64, updates []row) error {
	return d.within(number, func(t *transaction) error {
		for _, update := range updates {
			place := slices.IndexFunc(t.rows, func(r row) bool { return r.ID == update.ID })
			if place < 0 {
				return refusal(fmt.Sprintf("row %d does not exist", update.ID))
			}
			for column, value := range update.Values {
				if !slices.Contains(t.columns, column) {
					return refusal(fmt.Sprintf("column %q does not exist", column))
				}
				t.rows[place].Values[column] = value
			}
		}
		return nil
	})
}

// commit puts the transaction's table in the place of the old one. Rows that somebody
// entered into the old one meanwhile are lost with it, and are counted.
func (d *database) commit(number int64) error {
	return d.within(number, func(t *transaction) error {
		err := d.changeLocked(func(b *book) error {
			migrated := map[int64]bool{}
			for _, each := range t.rows {
				migrated[each.ID] = true
			}
			for _, each := range b.Rows {
				if !migrated[each.ID] {
					b.RowsLost++
				}
			}
			b.Schema, b.Columns, b.Rows = t.to, t.columns, t.rows
			return nil
		})
		if err != nil {
			return err
		}
		d.transaction = nil
		return nil
	})
}

func (d *database) rollback(number int64) error {
	return d.within(number, func(*transaction) error {
		d.transaction = nil
		return nil
	})
}
