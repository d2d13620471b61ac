package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// runWorker enters messages into the book, in this release's shape, until it is told to
// stop. What it has begun it finishes.
func runWorker(ctx context.Context, c configuration, _ []string, out io.Writer) error {
	log := newLog(c, out, "worker").With("worker", c.WorkerName)
	health := http.NewServeMux()
	health.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]string{"status": "ok"}, log)
	})
	served := make(chan error, 1)
	go func() { served <- serve(ctx, c.WorkerListen, health, log) }()

	store, wanted := newClient(c, "worker"), thisRelease()
	said := "" // the last complaint: the same one over and over would hide the rest
	for {
		worked, err := workOnce(ctx, store, wanted, log)
		switch {
		case ctx.Err() != nil:
			return <-served
		case err != nil && err.Error() != said:
			said = err.Error()
			log.Warn("waiting", "because", said)
		case err == nil && said != "":
			said = ""
			log.Info("going on")
		}
		if worked {
			continue // there may be more
		}
		select {
		case err := <-served:
			return err
		case <-time.After(c.WorkerInterval):
		}
	}
}

// workOnce enters one message, and reports whether there was one.
func workOnce(ctx context.Context, store client, wanted release, log *slog.Logger) (bool, error) {
	taken, err := store.take(ctx, wanted.schema)
	if err != nil || taken == nil {
		return false, err
	}
	// Begun is finished: the word to stop must not lose the answer.
	ctx = context.WithoutCancel(ctx)
	err = store.enter(ctx, wanted.schema, taken.ID, wanted.entry(*taken))
	var refused refusal
	if errors.As(err, &refused) {
		log.Debug("another worker was faster, or the shape has changed", "message", taken.ID, "because", refused)
		return false, err
	}
	if err != nil {
		return false, err
	}
	log.Info("entered", "message", taken.ID)
	return true, nil
}
