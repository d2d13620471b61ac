package main

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// programHeader names the program and version that asks, for the counts of writes.
const programHeader = "X-Guestbook-Program"

// status is what the store says of itself.
type status struct {
	Schema                int              `json:"schema"`
	Columns               []string         `json:"columns"`
	Rows                  int              `json:"rows"`
	Queue                 int              `json:"queue"`
	Migrating             bool             `json:"migrating"`
	Writes                map[string]int64 `json:"writes"`
	WritesDuringMigration map[string]int64 `json:"writes_during_migration"`
	RowsLost              int64            `json:"rows_lost"`
}

// backup is a copy that the store keeps beside the book.
type backup struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
	Rows   int    `json:"rows"`
	Schema int    `json:"schema"`
	New    bool   `json:"new"` // whether this request made it
}

func runStore(ctx context.Context, c configuration, _ []string, out io.Writer) error {
	log := newLog(c, out, "store")
	database, err := openDatabase(c.StoreFile)
	if err != nil {
		return err
	}
	log.Info("the book is open", "file", c.StoreFile, "schema", database.book.Schema, "rows", len(database.book.Rows))
	return serve(ctx, c.StoreListen, storeHandler(database, c.Password, log), log)
}

func storeHandler(d *database, password string, log *slog.Logger) http.Handler {
	routes := http.NewServeMux()
	handle := func(pattern string, do func(*http.Request) (any, error)) {
		routes.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			answer, err := do(r)
			var refused refusal
			switch {
			case errors.As(err, &refused):
				log.Warn("refused", "request", r.Method+" "+r.URL.Path, "program", r.Header.Get(programHeader), "because", refused)
				respond(w, http.StatusConflict, map[string]string{"error": string(refused)}, log)
			case errors.Is(err, errUsage):
				respond(w, http.StatusBadRequest, map[string]string{"error": err.Error()}, log)
			case err != nil:
				log.Error("a request failed", "request", r.Method+" "+r.URL.Path, "error", err)
				respond(w, http.StatusInternalServerError, map[string]string{"error": "the store could not do it; see its log"}, log)
			default:
				log.Debug("done", "request", r.Method+" "+r.URL.Path, "program", r.Header.Get(programHeader))
				respond(w, http.StatusOK, answer, log)
			}
		})
	}
	handle("GET /v1/status", func(*http.Request) (any, error) { return d.status() })
	handle("GET /v1/rows", func(*http.Request) (any, error) {
		b, err := d.read()
		return b.Rows, err
	})
	handle("POST /v1/initialise", func(r *http.Request) (any, error) {
		var asked struct {
			Schema  int      `json:"schema"`
			Columns []string `json:"columns"`
		}
		if err := decode(r, &asked); err != nil {
			return nil, err
		}
		return struct{}{}, d.initialise(asked.Schema, asked.Columns)
	})
	handle("POST /v1/queue", func(r *http.Request) (any, error) {
		var asked message
		if err := decode(r, &asked); err != nil {
			return nil, err
		}
		return d.enqueue(r.Header.Get(programHeader), asked.Name, asked.Text)
	})
	handle("POST /v1/queue/take", func(r *http.Request) (any, error) {
		var asked struct {
			Schema int `json:"schema"`
		}
		if err := decode(r, &asked); err != nil {
			return nil, err
		}
		return d.take(r.Header.Get(programHeader), asked.Schema)
	})
	handle("POST /v1/rows", func(r *http.Request) (any, error) {
		var asked entering
		if err := decode(r, &asked); err != nil {
			return nil, err
		}
		return d.enter(r.Header.Get(programHeader), asked.Schema, asked.Message, asked.Values)
	})
	handle("POST /v1/backups", func(r *http.Request) (any, error) {
		var asked backup
		if err := decode(r, &asked); err != nil {
			return nil, err
		}
		return d.backup(asked.Name)
	})
	handleMigrations(handle, d, log)

	all := http.NewServeMux()
	all.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]string{"status": "ok"}, log)
	})
	all.Handle("/", withPassword(password, routes, log))
	return all
}

// handleMigrations are the routes of a transaction, by its number.
func handleMigrations(handle func(string, func(*http.Request) (any, error)), d *database, log *slog.Logger) {
	numbered := func(pattern string, do func(*http.Request, int64) (any, error)) {
		handle(pattern, func(r *http.Request) (any, error) {
			number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("%w: a migration's number is a number", errUsage)
			}
			return do(r, number)
		})
	}
	handle("POST /v1/migrations", func(r *http.Request) (any, error) {
		var asked struct {
			From int `json:"from"`
			To   int `json:"to"`
		}
		if err := decode(r, &asked); err != nil {
			return nil, err
		}
		number, err := d.begin(r.Header.Get(programHeader), asked.From, asked.To)
		if err == nil {
			log.Info("a migration begins", "number", number, "program", r.Header.Get(programHeader), "from", asked.From, "to", asked.To)
		}
		return map[string]int64{"number": number}, err
	})
	numbered("POST /v1/migrations/{number}/columns", func(r *http.Request, number int64) (any, error) {
		var asked struct {
			Add  string `json:"add"`
			Drop string `json:"drop"`
		}
		if err := decode(r, &asked); err != nil {
			return nil, err
		}
		if asked.Drop != "" {
			return struct{}{}, d.dropColumn(number, asked.Drop)
		}
		return struct{}{}, d.addColumn(number, asked.Add)
	})
	numbered("GET /v1/migrations/{number}/rows", func(_ *http.Request, number int64) (any, error) {
		return d.transactionRows(number)
	})
	numbered("PUT /v1/migrations/{number}/rows", func(r *http.Request, number int64) (any, error) {
		var updates []row
		if err := decode(r, &updates); err != nil {
			return nil, err
		}
		return struct{}{}, d.update(number, updates)
	})
	numbered("POST /v1/migrations/{number}/commit", func(_ *http.Request, number int64) (any, error) {
		err := d.commit(number)
		if err == nil {
			log.Info("a migration is committed", "number", number)
		}
		return struct{}{}, err
	})
	numbered("DELETE /v1/migrations/{number}", func(_ *http.Request, number int64) (any, error) {
		err := d.rollback(number)
		if err == nil {
			log.Info("a migration is rolled back", "number", number)
		}
		return struct{}{}, err
	})
}

func (d *database) status() (status, error) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	copied, err := d.book.clone()
	return status{
		Schema: copied.Schema, Columns: copied.Columns, Rows: len(copied.Rows), Queue: len(copied.Queue),
		Migrating: d.transaction != nil, Writes: copied.Writes,
		WritesDuringMigration: copied.WritesDuringMigration, RowsLost: copied.RowsLost,
	}, err
}

var backupName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,99}$`)

// backup keeps a copy under the name, once: asked again, it says what is there already.
func (d *database) backup(name string) (backup, error) {
	if !backupName.MatchString(name) {
		return backup{}, fmt.Errorf("%w: a backup's name may hold letters, digits, dots and dashes, and not be %q", errUsage, name)
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	folder := filepath.Join(filepath.Dir(d.path), "backups")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return backup{}, fmt.Errorf("making the folder of backups: %w", err)
	}
	path := filepath.Join(folder, name+".json")
	data, err := os.ReadFile(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	if isNew {
		if data, err = json.MarshalIndent(d.book, "", " "); err == nil {
			err = writeDurably(path, data)
		}
	}
	if err != nil {
		return backup{}, fmt.Errorf("keeping backup %s: %w", name, err)
	}
	var kept book
	if err := json.Unmarshal(data, &kept); err != nil {
		return backup{}, fmt.Errorf("reading backup %s: %w", name, err)
	}
	sum := sha256.Sum256(data)
	return backup{Name: name, Bytes: len(data), SHA256: hex.EncodeToString(sum[:]), Rows: len(kept.Rows), Schema: kept.Schema, New: isNew}, nil
}

// withPassword lets in whoever knows the password, and everybody if there is none.
func withPassword(password string, next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, given, _ := r.BasicAuth()
		if password != "" && subtle.ConstantTimeCompare([]byte(given), []byte(password)) != 1 {
			log.Warn("a wrong password", "program", r.Header.Get(programHeader))
			respond(w, http.StatusUnauthorized, map[string]string{"error": "the password is wrong"}, log)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func decode(r *http.Request, into any) error {
	if err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(into); err != nil {
		return fmt.Errorf("%w: the request is not the JSON it should be: %w", errUsage, err)
	}
	return nil
}

func respond(w http.ResponseWriter, code int, answer any, log *slog.Logger) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		log.Debug("the asker went away", "error", err)
	}
}

// serve answers until the context ends, and then lets what is under way come to its end.
func serve(ctx context.Context, address string, handler http.Handler, log *slog.Logger) error {
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.ListenAndServe() }()
	log.Info("listening", "address", address, "version", version)
	select {
	case err := <-ended:
		return fmt.Errorf("listening on %s: %w", address, err)
	case <-ctx.Done():
	}
	log.Info("stopping")
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return server.Shutdown(stopping)
}

func newLog(c configuration, out io.Writer, program string) *slog.Logger {
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: c.LogLevel})).With("program", program)
}
