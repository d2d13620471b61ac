package cli

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"slipway.dev/slipway/internal/api"
	"slipway.dev/slipway/internal/auth"
	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/outside/registry/registrytest"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/store/sqlite"
	"slipway.dev/slipway/internal/task"
	"slipway.dev/slipway/internal/view"
)

// TestMain lets the scripts run this binary as slipway, in a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"slipway": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		code := Run(ctx, Process{
			Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Version: "0.1.0",
		})
		stop()
		os.Exit(code)
	}})
}

// TestScripts stands on a real SQLite database behind the real handlers: each script in
// testdata/script is a session of people with a server of its own. No reconciler runs; the
// command worker of the scripts writes what one would.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       flag.Lookup("update").Value.String() == "true",
		Setup:               setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"worker": worker,
			"look":   look,
			"pool":   pool,
			"app":    app,
		},
	})
}

// exits runs a command that must end with a code: exits 4 slipway projects get nothing.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("it ended with %d, want %d", got, want)
	}
}

type storeKey struct{}

// setUp starts a server whose set-up is still to be made.
func setUp(env *testscript.Env) error {
	dir, err := os.MkdirTemp("", "slipway-script-")
	if err != nil {
		return err
	}
	env.Defer(func() { os.RemoveAll(dir) })
	ctx, stop := context.WithCancel(context.Background())
	db, err := sqlite.Open(ctx, filepath.Join(dir, "slipway.db"), sqlite.Options{})
	if err != nil {
		stop()
		return err
	}
	env.Defer(func() { db.Close() })
	err = db.InTx(ctx, func(tx *store.Tx) error {
		_, err := tx.CreateInstallation(ctx, slipway.Installation{ID: "0a1b", ExternalID: "ext"})
		return err
	})
	log := slog.New(slog.DiscardHandler)
	setupFile := filepath.Join(dir, "setup-secret")
	who, err2 := auth.New(auth.Config{Store: db.Store, SetupSecretFile: setupFile, Log: log})
	if err = errors.Join(err, err2); err != nil {
		stop()
		return err
	}
	env.Defer(who.Close)
	box, err := secret.LoadOrCreate(filepath.Join(dir, "secret.key"), true)
	_, err2 = who.EnsureSetupSecret(ctx)
	if err = errors.Join(err, err2, who.EnsureActionsUser(ctx)); err != nil {
		stop()
		return err
	}
	events := task.NewEvents(db.Store, log)
	ended := make(chan struct{})
	go func() { defer close(ended); events.Run(ctx) }()
	server := httptest.NewServer(api.Handler(api.Dependencies{
		Auth: who, Change: &change.Service{Store: db.Store, Box: box, Credentials: who.Credentials, Apps: scriptApps{}},
		View: view.New(db.Store), Events: broadcast{events}, Jobs: scriptForge{}, WebhookURL: func() string { return "https://slipway.example.com" }, Version: "0.1.0", Log: log, Stopping: ctx.Done(),
	}))
	// Deferred functions run last first: the server goes before what it stands on.
	env.Defer(func() { stop(); <-ended; server.Close() })
	open := registrytest.New()
	locked := registrytest.New(registrytest.WithPassword("ada", "correct horse battery staple"))
	env.Defer(open.Close)
	env.Defer(locked.Close)
	env.Setenv("REGISTRY", open.Host)
	env.Setenv("LOCKED", locked.Host)
	env.Values[storeKey{}] = db.Store
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("SERVER", server.URL)
	env.Setenv("SECRET_FILE", setupFile)
	return nil
}

// broadcast is what package server puts between the broadcaster and the API.
type broadcast struct{ events *task.Events }

func (b broadcast) Subscribe(ctx context.Context, after int64) ([]slipway.Event, <-chan slipway.Event, func(), error) {
	if after == 0 {
		sub := b.events.Subscribe()
		return nil, sub.C, sub.Close, nil
	}
	sub, past, err := b.events.SubscribeAfter(ctx, after)
	if err != nil {
		return nil, nil, nil, err
	}
	return past, sub.C, sub.Close, nil
}
