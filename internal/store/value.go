package store

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// TimeFormat is how a time stands in a database that has no type for it: in UTC, with a
// fixed width, so that comparing the texts compares the times.
const TimeFormat = "2006-01-02T15:04:05.000000Z"

// cut brings a time to what both databases keep: UTC, microseconds, no monotonic reading.
// A time read back then equals the one that was written.
func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// bind turns arguments into what drivers take. It is the only place where values are
// converted on their way in.
func (tx *Tx) bind(args []any) ([]any, error) {
	for i, a := range args {
		switch a := a.(type) {
		case time.Time:
			if a.IsZero() {
				args[i] = nil
			} else {
				args[i] = tx.store.dialect.Time(cut(a))
			}
		case asJSON:
			b, err := json.Marshal(a.v)
			if err != nil {
				return nil, fmt.Errorf("encode a value for the database: %w", err)
			}
			args[i] = string(b)
		case rawJSON:
			if len(a) == 0 {
				args[i] = nil
			} else {
				args[i] = string(a)
			}
		case ref:
			if a == 0 {
				args[i] = nil
			} else {
				args[i] = int64(a)
			}
		}
	}
	return args, nil
}

type (
	asJSON  struct{ v any } // stored as its JSON
	rawJSON []byte          // JSON already; empty is stored as NULL
	ref     int64           // the ID of another row; 0 is stored as NULL
)

// at scans a time that may be NULL, whatever the database keeps it as.
func at(t *time.Time) sql.Scanner { return (*timeScan)(t) }

type timeScan time.Time

func (s *timeScan) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*s = timeScan{}
	case time.Time:
		*s = timeScan(v.UTC())
	case string:
		t, err := time.Parse(TimeFormat, v)
		if err != nil {
			return fmt.Errorf("read a time: %w", err)
		}
		*s = timeScan(t)
	default:
		return fmt.Errorf("read a time: the database gave a %T", src)
	}
	return nil
}

// orZero scans a value that may be NULL; NULL is read as the zero value.
func orZero[T any](p *T) sql.Scanner { return &zeroScan[T]{p} }

type zeroScan[T any] struct{ p *T }

func (s *zeroScan[T]) Scan(src any) error {
	var n sql.Null[T]
	if err := n.Scan(src); err != nil {
		return err
	}
	*s.p = n.V
	return nil
}

// fromJSON scans a value stored as its JSON.
func fromJSON(v any) sql.Scanner { return jsonScan{v} }

type jsonScan struct{ v any }

func (s jsonScan) Scan(src any) error {
	switch b := src.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(b), s.v)
	case []byte:
		return json.Unmarshal(b, s.v)
	}
	return fmt.Errorf("read JSON: the database gave a %T", src)
}
