package sim

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"slipway.dev/slipway/internal/store"
)

// secretsKept looks for every secret of the run in every row of the database, and in
// everything that our process has logged; errors are among it.
func (w *World) secretsKept(ctx context.Context) error {
	for _, secret := range w.secrets {
		if bytes.Contains(w.log.Bytes(), []byte(secret)) {
			return fmt.Errorf("a secret (%.12s…) is in the log", secret)
		}
	}
	return w.look(ctx, func(tx *store.Tx) error {
		tables, err := tables(ctx, tx)
		if err != nil {
			return err
		}
		for _, table := range tables {
			if err := w.searched(ctx, tx, table); err != nil {
				return err
			}
		}
		return nil
	})
}

// searched looks through all values of a table.
func (w *World) searched(ctx context.Context, tx *store.Tx, table string) error {
	rows, err := tx.SQL().QueryContext(ctx, `SELECT * FROM "`+table+`"`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // what went wrong is in rows.Err
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	values, dest := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		dest[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		for i, v := range values {
			text := fmt.Sprint(v)
			if b, ok := v.([]byte); ok {
				text = string(b)
			}
			for _, secret := range w.secrets {
				if strings.Contains(text, secret) {
					return fmt.Errorf("a secret (%.12s…) is in column %s of table %s", secret, names[i], table)
				}
			}
		}
	}
	return rows.Err()
}
