package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// row is one entry of the book.
type row struct {
	ID     int64             `json:"id"`
	Values map[string]string `json:"values"`
}

// message is what a reader wrote and nobody has entered into the book yet. Its shape is
// the same for every schema, so the page can take messages while the data is migrated.
type message struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Text   string `json:"text"`
	SentAt string `json:"sent_at"`
}

// book is everything that is kept.
type book struct {
	Schema  int       `json:"schema"` // 0: never used
	Columns []string  `json:"columns"`
	Rows    []row     `json:"rows"`
	Queue   []message `json:"queue"`
	LastID  int64     `json:"last_id"`

	// Writes counts, by program and version, the writes of others than migrations; the
	// second counts those that were made while a migration was under way. A driver that
	// stops its workers first keeps the second empty, and a test can see that it did.
	Writes                map[string]int64 `json:"writes"`
	WritesDuringMigration map[string]int64 `json:"writes_during_migration"`
	// RowsLost are the rows that such writes made and that the migration then replaced.
	RowsLost int64 `json:"rows_lost"`
}

// database is the book in memory and in its file. A change is in the file before it is
// answered, or it has not happened.
type database struct {
	path string

	mutex       sync.Mutex
	book        book
	transaction *transaction // at most one; not in the file, so a restart undoes it
	lastNumber  int64        // of transactions, since the start
}

// The refusals that a client can act on. The store answers them with 409.
type refusal string

func (r refusal) Error() string { return string(r) }

func openDatabase(path string) (*database, error) {
	d := &database{path: path, book: book{Writes: map[string]int64{}, WritesDuringMigration: map[string]int64{}}}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		// Written at once: a folder that cannot be written to is better found out now.
		return d, d.save(d.book)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the book: %w", err)
	}
	if err := json.Unmarshal(data, &d.book); err != nil {
		return nil, fmt.Errorf("reading the book %s: %w", path, err)
	}
	return d, nil
}

// change makes one change durable, or none of it. The function gets a copy.
func (d *database) change(make func(*book) error) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.changeLocked(make)
}

func (d *database) changeLocked(make func(*book) error) error {
	next, err := d.book.clone()
	if err != nil {
		return err
	}
	if err := make(&next); err != nil {
		return err
	}
	if err := d.save(next); err != nil {
		return err
	}
	d.book = next
	return nil
}

// write is a change by a program that may be in a migration's way.
func (d *database) write(program string, make func(*book) error) error {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.changeLocked(func(b *book) error {
		b.Writes[program]++
		if d.transaction != nil {
			b.WritesDuringMigration[program]++
		}
		return make(b)
	})
}

// read gives a copy of the book.
func (d *database) read() (book, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.book.clone()
}

// initialise gives a book that was never used its first shape. For one that has that
// shape already it does nothing.
func (d *database) initialise(schema int, columns []string) error {
	return d.change(func(b *book) error {
		if b.Schema == schema {
			return nil
		}
		if b.Schema != 0 {
			return refusal(fmt.Sprintf("the store has schema %d, and not %d", b.Schema, schema))
		}
		b.Schema, b.Columns = schema, slices.Clone(columns)
		return nil
	})
}

func (d *database) enqueue(program, name, text string) (message, error) {
	var made message
	// Not counted as a write in a migration's way: the queue is no part of any schema.
	err := d.change(func(b *book) error {
		b.LastID++
		b.Writes[program]++
		made = message{ID: b.LastID, Name: name, Text: text, SentAt: time.Now().UTC().Format(time.RFC3339)}
		b.Queue = append(b.Queue, made)
		return nil
	})
	return made, err
}

// take gives a worker the message to enter next, which stays in the queue until its row
// is there: a worker that dies in between loses nothing.
func (d *database) take(program string, schema int) (*message, error) {
	var taken *message
	err := d.write(program, func(b *book) error {
		if err := b.is(schema); err != nil {
			return err
		}
		if len(b.Queue) > 0 {
			taken = &b.Queue[0]
		}
		return nil
	})
	return taken, err
}

// enter makes a row of a message, and takes the message out of the queue with it.
func (d *database) enter(program string, schema int, messageID int64, values map[string]string) (row, error) {
	var made row
	err := d.write(program, func(b *book) error {
		if err := b.is(schema); err != nil {
			return err
		}
		for column := range values {
			if !slices.Contains(b.Columns, column) {
				return refusal(fmt.Sprintf("column %q does not exist", column))
			}
		}
		place := slices.IndexFunc(b.Queue, func(m message) bool { return m.ID == messageID })
		if place < 0 {
			return refusal(fmt.Sprintf("message %d was entered already", messageID))
		}
		b.Queue = slices.Delete(b.Queue, place, place+1)
		made = row{ID: messageID, Values: values}
		b.Rows = append(b.Rows, made)
		return nil
	})
	return made, err
}

func (b *book) is(schema int) error {
	if b.Schema != schema {
		return refusal(fmt.Sprintf("the store has schema %d, and not %d", b.Schema, schema))
	}
	return nil
}

// clone goes by way of the file's own form: what cannot be written is found out here.
func (b book) clone() (book, error) {
	data, err := json.Marshal(b)
	if err != nil {
		return book{}, fmt.Errorf("copying the book: %w", err)
	}
	copied := book{Writes: map[string]int64{}, WritesDuringMigration: map[string]int64{}}
	if err := json.Unmarshal(data, &copied); err != nil {
		return book{}, fmt.Errorf("copying the book: %w", err)
	}
	return copied, nil
}

// save writes the book beside its file, waits until it is on the disk, and moves it
// there: a crash leaves the old one or the new one.
func (d *database) save(b book) error {
	data, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return fmt.Errorf("writing the book: %w", err)
	}
	return writeDurably(d.path, data)
}

func writeDurably(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".writing-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer os.Remove(file.Name()) // only what was not moved is still there
	if _, err := file.Write(data); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", path, err), file.Close())
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return errors.Join(folder.Sync(), folder.Close()) // the move, too, must be on the disk
}
