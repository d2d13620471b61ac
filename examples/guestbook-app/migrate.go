package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// migration brings the data from one schema to the next, within a transaction.
type migration struct {
	from, to int
	what     string
	run      func(ctx context.Context, m *migrating) error
}

// migrating is a migration that is under way: its transaction, and whom it tells.
type migrating struct {
	remoteTransaction
	out   io.Writer
	delay time.Duration
	now   time.Time
}

// splitName is the migration of 1.1.0.
var splitName = migration{1, 2, "split name into author and email, and date every entry", func(ctx context.Context, m *migrating) error {
	if err := m.add(ctx, "author", "email", "created_at"); err != nil {
		return err
	}
	err := m.eachRow(ctx, func(values map[string]string) map[string]string {
		author, email := splitAuthor(values["name"])
		// When an old entry was made is not known; the migration's own time stands in.
		return map[string]string{"author": author, "email": email, "created_at": m.now.Format(time.RFC3339)}
	})
	if err != nil {
		return err
	}
	if err := m.dropColumn(ctx, "name"); err != nil {
		return err
	}
	return m.say(ctx, "column %q dropped", "name")
}}

// addCountry is the migration of 1.2.0, with a mistake that happens: it was made by
// copying the one before, and adds a column again that is there.
var addCountry = migration{2, 3, "note every author's country", func(ctx context.Context, m *migrating) error {
	if err := m.add(ctx, "country"); err != nil {
		return err
	}
	return m.add(ctx, "author")
}}

// runMigrate applies what lies between the store's schema and this release's, all of it
// or nothing. Repeating it is harmless, also after it was killed.
func runMigrate(ctx context.Context, c configuration, _ []string, out io.Writer) error {
	store, wanted := newClient(c, "migrate"), thisRelease()
	found, err := waitForStore(ctx, store)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "guestbook %s: the store %s has schema %d and %d entries; wanted is schema %d\n",
		version, store.url, found.Schema, found.Rows, wanted.schema)
	switch {
	case found.Schema == wanted.schema:
		fmt.Fprintln(out, "nothing to do")
		return nil
	case found.Schema == 0:
		if err := store.initialise(ctx, wanted); err != nil {
			return fmt.Errorf("giving the empty store its schema: %w", err)
		}
		fmt.Fprintf(out, "the store was empty; it has schema %d now\n", wanted.schema)
		return nil
	case found.Schema > wanted.schema:
		return fmt.Errorf("the store has schema %d, which is newer than %s knows", found.Schema, version)
	}
	transaction, err := store.begin(ctx, found.Schema, wanted.schema)
	if err != nil {
		return fmt.Errorf("beginning the migration: %w", err)
	}
	m := &migrating{remoteTransaction: transaction, out: out, delay: c.MigrateDelay, now: time.Now().UTC()}
	if err := m.apply(ctx, found.Schema, wanted); err != nil {
		return errors.Join(err, m.undo(ctx))
	}
	after, err := store.status(ctx)
	if err != nil {
		return fmt.Errorf("looking at the result: %w", err)
	}
	fmt.Fprintf(out, "committed: the store has schema %d and %d entries\n", after.Schema, after.Rows)
	return nil
}

func (m *migrating) apply(ctx context.Context, schema int, wanted release) error {
	for _, step := range wanted.migrations {
		if step.from != schema {
			continue
		}
		fmt.Fprintf(m.out, "schema %d to %d: %s\n", step.from, step.to, step.what)
		if err := step.run(ctx, m); err != nil {
			return err
		}
		schema = step.to
	}
	if schema != wanted.schema {
		return fmt.Errorf("no migration leads from schema %d to %d", schema, wanted.schema)
	}
	if err := m.commit(ctx); err != nil {
		return fmt.Errorf("committing the migration: %w", err)
	}
	return nil
}

// undo rolls back, also when the program was told to stop.
func (m *migrating) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	if err := m.rollback(ctx); err != nil {
		// The store keeps nothing of a transaction that nobody commits.
		return fmt.Errorf("rolling back: %w", err)
	}
	fmt.Fprintln(m.out, "rolled back: the store is as it was")
	return nil
}

func (m *migrating) add(ctx context.Context, columns ...string) error {
	for _, column := range columns {
		if err := m.addColumn(ctx, column); err != nil {
			return err
		}
		if err := m.say(ctx, "column %q added", column); err != nil {
			return err
		}
	}
	return nil
}

// batch is how many rows are changed between two lines of progress.
const batch = 10

func (m *migrating) eachRow(ctx context.Context, change func(map[string]string) map[string]string) error {
	rows, err := m.rows(ctx)
	if err != nil {
		return fmt.Errorf("reading the entries: %w", err)
	}
	for start := 0; start < len(rows); start += batch {
		end := min(start+batch, len(rows))
		var updates []row
		for _, each := range rows[start:end] {
			updates = append(updates, row{ID: each.ID, Values: change(each.Values)})
		}
		if err := m.update(ctx, updates); err != nil {
			return fmt.Errorf("changing the entries: %w", err)
		}
		if err := m.say(ctx, "%d of %d entries", end, len(rows)); err != nil {
			return err
		}
	}
	return nil
}

// say prints a line of progress, and rests, so that the work can be watched.
func (m *migrating) say(ctx context.Context, format string, arguments ...any) error {
	fmt.Fprintf(m.out, "  "+format+"\n", arguments...)
	select {
	case <-ctx.Done():
		return errors.New("told to stop")
	case <-time.After(m.delay):
		return nil
	}
}

// waitForStore gives the store, which may just be starting, a little time.
func waitForStore(ctx context.Context, store client) (status, error) {
	deadline := time.Now().Add(30 * time.Second)
	for {
		found, err := store.status(ctx)
		if err == nil {
			return found, nil
		}
		if time.Now().After(deadline) {
			return status{}, err
		}
		select {
		case <-ctx.Done():
			return status{}, err
		case <-time.After(500 * time.Millisecond):
		}
	}
}

func runBackup(ctx context.Context, c configuration, _ []string, out io.Writer) error {
	store := newClient(c, "backup")
	found, err := waitForStore(ctx, store)
	if err != nil {
		return err
	}
	name := c.BackupName
	if name == "" {
		name = fmt.Sprintf("schema-%d-%s", found.Schema, time.Now().UTC().Format("20060102-150405"))
	}
	kept, err := store.backup(ctx, name)
	if err != nil {
		return fmt.Errorf("asking for backup %s: %w", name, err)
	}
	word := "made"
	if !kept.New {
		word = "there already"
	}
	fmt.Fprintf(out, "backup %s: %s, schema %d, %d entries, %d bytes, sha256 %s\n", kept.Name, word, kept.Schema, kept.Rows, kept.Bytes, kept.SHA256)
	return nil
}
