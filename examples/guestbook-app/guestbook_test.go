package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// These tests run the programs against one another in this process, over HTTP on
// loopback, with the store's file in a temporary folder. They set the program's version,
// which all of them share, and so run one after the other.

// world is a store and whatever asks it.
type world struct {
	t        *testing.T
	database *database
	store    string // its address
	web      string // the web server's, once there is one
}

const password = "correct horse"

func newWorld(t *testing.T) *world {
	t.Helper()
	database, err := openDatabase(filepath.Join(t.TempDir(), "book.json"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(storeHandler(database, password, slog.New(slog.DiscardHandler)))
	t.Cleanup(server.Close)
	return &world{t: t, database: database, store: server.URL}
}

func (w *world) configuration() configuration {
	w.t.Helper()
	c, err := readConfiguration(func(name string) string {
		return map[string]string{
			"STORE_URL": w.store, "DATABASE_PASSWORD": password, "WEB_URL": w.web, "ADMIN_EMAIL": "ops@example.com",
			"CHECK_TIMEOUT": "3s", "WORKER_INTERVAL": "10ms", "MIGRATE_DELAY": "1ms", "WORKER_LISTEN": "127.0.0.1:0",
		}[name]
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// as sets the version that the programs are, for the rest of the test.
func (w *world) as(wanted string) {
	before := version
	version = wanted
	w.t.Cleanup(func() { version = before })
}

func (w *world) startWeb() {
	server := httptest.NewServer(webHandler(newClient(w.configuration(), "web"), w.configuration(), slog.New(slog.DiscardHandler)))
	w.t.Cleanup(server.Close)
	w.web = server.URL
}

// startWorker runs a worker until stop is called or the test ends.
func (w *world) startWorker() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	c := w.configuration()
	go func() { ended <- runWorker(ctx, c, nil, io.Discard) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("the worker ended with: %v", err)
		}
	}
	w.t.Cleanup(stop)
	return stop
}

func (w *world) command(name string, arguments ...string) (output string, code int) {
	w.t.Helper()
	var out bytes.Buffer
	c := w.configuration()
	env := map[string]string{
		"STORE_URL": c.StoreURL, "DATABASE_PASSWORD": c.Password, "WEB_URL": c.WebURL, "CHECK_TIMEOUT": "3s",
		"MIGRATE_DELAY": "1ms", "BACKUP_NAME": "before",
	}
	code = run(context.Background(), append([]string{name}, arguments...), func(name string) string { return env[name] }, &out, &out)
	return out.String(), code
}

func (w *world) status() status {
	w.t.Helper()
	found, err := newClient(w.configuration(), "test").status(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// readiness is the code that /readyz answers.
func (w *world) readiness() int {
	w.t.Helper()
	response, err := http.Get(w.web + "/readyz")
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

func (w *world) sign(name, text string) {
	w.t.Helper()
	data, _ := json.Marshal(message{Name: name, Text: text})
	response, err := http.Post(w.web+"/entries", "application/json", bytes.NewReader(data))
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusAccepted {
		w.t.Fatalf("signing the book: %s", response.Status)
	}
}

func (w *world) wait(what string, condition func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return
		}
	}
	w.t.Fatalf("not within 5 s: %s", what)
}

// running1_0_0 is a world with version 1.0.0 in it and 25 entries in its book.
func running1_0_0(t *testing.T) (*world, func()) {
	t.Helper()
	w := newWorld(t)
	w.as("1.0.0")
	w.startWeb()
	if code := w.readiness(); code != http.StatusOK {
		t.Fatalf("1.0.0 on an empty store: /readyz answers %d", code)
	}
	stop := w.startWorker()
	for i := range 25 {
		w.sign("Ada Lovelace <ada@example.com>", strings.Repeat("x", i+1))
	}
	w.wait("25 entries", func() bool { return w.status().Rows == 25 })
	return w, stop
}

func TestUpgradeWithTheWorkerStopped(t *testing.T) {
	w, stopWorker := running1_0_0(t)
	if output, code := w.command("check"); code != 0 {
		t.Fatalf("check of 1.0.0: exit code %d:\n%s", code, output)
	}
	stopWorker()

	w.as("1.1.0")
	w.startWeb()
	if code := w.readiness(); code != http.StatusServiceUnavailable {
		t.Errorf("1.1.0 before the migration: /readyz answers %d, want 503", code)
	}
	output, code := w.command("migrate")
	if code != 0 || !strings.Contains(output, "20 of 26 entries") || !strings.Contains(output, "committed: the store has schema 2") {
		t.Fatalf("migrate: exit code %d:\n%s", code, output)
	}
	if code := w.readiness(); code != http.StatusOK {
		t.Errorf("1.1.0 after the migration: /readyz answers %d, want 200", code)
	}
	if output, code := w.command("migrate"); code != 0 || !strings.Contains(output, "nothing to do") {
		t.Errorf("a second migrate: exit code %d:\n%s", code, output)
	}
	if now := w.status(); len(now.WritesDuringMigration) != 0 || now.RowsLost != 0 {
		t.Errorf("somebody wrote during the migration: %+v", now)
	}
	rows, err := newClient(w.configuration(), "test").rows(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	first := rows[0].Values
	if first["author"] != "Ada Lovelace" || first["email"] != "ada@example.com" || first["created_at"] == "" || first["text"] != "x" || first["name"] != "" {
		t.Errorf("the first entry after the migration is %v", first)
	}
	w.startWorker()
	if output, code := w.command("check"); code != 0 {
		t.Errorf("check of 1.1.0: exit code %d:\n%s", code, output)
	}

	w.as("1.0.0")
	w.startWeb()
	if code := w.readiness(); code != http.StatusServiceUnavailable {
		t.Errorf("1.0.0 after the migration: /readyz answers %d, want 503", code)
	}
	if output, code := w.command("migrate"); code != 1 || !strings.Contains(output, "newer than 1.0.0 knows") {
		t.Errorf("migrate of 1.0.0 on schema 2: exit code %d:\n%s", code, output)
	}
}

// TestWorkerLeftRunningIsSeen is the control for the one above: the counts are not empty
// merely because nothing ever counts.
func TestWorkerLeftRunningIsSeen(t *testing.T) {
	w, _ := running1_0_0(t)
	before := newClient(w.configuration(), "migrate") // still 1.0.0 in its name
	transaction, err := before.begin(context.Background(), 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	w.sign("Late", "entered into the table that goes")
	w.wait("the worker's writes", func() bool { return w.status().Rows == 26 })
	if err := transaction.commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	now := w.status()
	if now.WritesDuringMigration["worker/1.0.0"] == 0 || now.RowsLost != 1 {
		t.Errorf("writes during the migration %v and rows lost %d, want some by worker/1.0.0, and 1", now.WritesDuringMigration, now.RowsLost)
	}
}

func TestMessagesWaitForTheNewWorker(t *testing.T) {
	w, stopWorker := running1_0_0(t)
	stopWorker()
	w.sign("Grace Hopper", "written while nobody entered it")
	w.as("1.1.0")
	if output, code := w.command("migrate"); code != 0 {
		t.Fatalf("migrate: exit code %d:\n%s", code, output)
	}
	w.startWorker()
	w.wait("the message's row", func() bool { return w.status().Rows == 26 })
}

func TestBrokenMigrationChangesNothing(t *testing.T) {
	for _, from := range []string{"1.0.0", "1.1.0"} {
		t.Run("from "+from, func(t *testing.T) {
			w, stopWorker := running1_0_0(t)
			stopWorker()
			w.as(from)
			if output, code := w.command("migrate"); code != 0 {
				t.Fatalf("migrate of %s: exit code %d:\n%s", from, code, output)
			}
			w.startWeb()
			before, err := w.database.read()
			if err != nil {
				t.Fatal(err)
			}
			w.as("1.2.0")
			output, code := w.command("migrate")
			if code != 1 || !strings.Contains(output, `column "author" already exists`) || !strings.Contains(output, "rolled back") {
				t.Errorf("migrate of 1.2.0: exit code %d:\n%s", code, output)
			}
			after, err := w.database.read()
			if err != nil {
				t.Fatal(err)
			}
			was, _ := json.Marshal(before)
			is, _ := json.Marshal(after)
			if !bytes.Equal(was, is) {
				t.Errorf("the book is not as it was:\n%s\n%s", was, is)
			}
			if code := w.readiness(); code != http.StatusOK {
				t.Errorf("%s after the failure: /readyz answers %d, want 200", from, code)
			}
		})
	}
}

func TestKilledMigrationCanBeRepeated(t *testing.T) {
	w, stopWorker := running1_0_0(t)
	stopWorker()
	w.as("1.1.0")
	killed, err := newClient(w.configuration(), "migrate").begin(context.Background(), 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := killed.addColumn(context.Background(), "author"); err != nil {
		t.Fatal(err)
	}
	if output, code := w.command("migrate"); code != 0 {
		t.Fatalf("migrate after a killed one: exit code %d:\n%s", code, output)
	}
	if err := killed.commit(context.Background()); err == nil {
		t.Error("the first migration could still commit after the second had")
	}
}

func TestBookSurvivesTheStore(t *testing.T) {
	w, stopWorker := running1_0_0(t)
	stopWorker()
	again, err := openDatabase(w.database.path)
	if err != nil {
		t.Fatal(err)
	}
	if again.book.Schema != 1 || len(again.book.Rows) != 25 {
		t.Errorf("opened again, it has schema %d and %d rows, want 1 and 25", again.book.Schema, len(again.book.Rows))
	}
}

func TestBackupIsMadeOnce(t *testing.T) {
	w, stopWorker := running1_0_0(t)
	stopWorker()
	first, code := w.command("backup")
	if code != 0 || !strings.Contains(first, "backup before: made, schema 1, 25 entries") {
		t.Fatalf("backup: exit code %d: %s", code, first)
	}
	w.as("1.1.0")
	if output, code := w.command("migrate"); code != 0 {
		t.Fatalf("migrate: exit code %d:\n%s", code, output)
	}
	second, code := w.command("backup")
	if code != 0 || !strings.Contains(second, "backup before: there already, schema 1, 25 entries") {
		t.Errorf("the same backup again: exit code %d: %s", code, second)
	}
}

func TestCheckFails(t *testing.T) {
	w, stopWorker := running1_0_0(t)
	if output, code := w.command("check", "--expect-version", "1.1.0"); code != 1 || !strings.Contains(output, "it is version 1.0.0") {
		t.Errorf("check for another version: exit code %d:\n%s", code, output)
	}
	stopWorker()
	if output, code := w.command("check"); code != 1 || !strings.Contains(output, "does the worker run?") {
		t.Errorf("check without a worker: exit code %d:\n%s", code, output)
	}
	if output, code := w.command("check", "--read-only"); code != 0 {
		t.Errorf("check --read-only without a worker: exit code %d:\n%s", code, output)
	}
}

func TestWrongPasswordIsRefused(t *testing.T) {
	w := newWorld(t)
	c := w.configuration()
	c.Password = "guess"
	if _, err := newClient(c, "test").status(context.Background()); err == nil || !strings.Contains(err.Error(), "the password is wrong") {
		t.Errorf("with a wrong password: %v", err)
	}
}

func TestConfiguration(t *testing.T) {
	for _, test := range []struct {
		name    string
		env     map[string]string
		problem string // empty: it is good
	}{
		{"nothing is set", nil, ""},
		{"the store in one URL", map[string]string{"DATABASE_URL": "http://:secret@store:8081"}, ""},
		{"a word that is no level", map[string]string{"LOG_LEVEL": "loud"}, `LOG_LEVEL is "loud"`},
		{"a time without a unit", map[string]string{"MIGRATE_DELAY": "5"}, `MIGRATE_DELAY is "5"`},
		{"no address", map[string]string{"ADMIN_EMAIL": "nobody"}, `ADMIN_EMAIL is "nobody"`},
		{"a URL that is none, with a password in it", map[string]string{"DATABASE_URL": "http://:sec%ret@store"}, "DATABASE_URL is not a URL"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := readConfiguration(func(name string) string { return test.env[name] })
			switch {
			case test.problem == "" && err != nil:
				t.Errorf("readConfiguration() = %v", err)
			case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
				t.Errorf("readConfiguration() = %v, want %s", err, test.problem)
			}
			if err != nil && strings.Contains(err.Error(), "sec%ret") {
				t.Errorf("the error shows the password: %v", err)
			}
			if test.env["DATABASE_URL"] != "" && err == nil && (c.Password != "secret" || c.StoreURL != "http://store:8081") {
				t.Errorf("the store is %s with password %q", c.StoreURL, c.Password)
			}
		})
	}
}
