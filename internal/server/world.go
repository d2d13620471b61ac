package server

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"slipway.dev/slipway/internal/config"
	"slipway.dev/slipway/internal/outside/helm"
	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// world is what the workers of this process reach outside of it. A part that is missing is
// told by the task that needs it, and by /readyz; the rest works without it.
type world struct {
	cluster    *kube.Client
	noCluster  error
	charts     *helm.Client
	runner     *prefect.Runner
	noRunner   error
	ownPrefect *prefect.Server // nil for an external one
	prefect    *prefect.Client
}

func openWorld(ctx context.Context, c config.Config, installation slipway.Installation, version string, log *slog.Logger) *world {
	w := &world{}
	w.cluster, w.noCluster = kube.New(kube.Config{
		Kubeconfig: c.Kubernetes.Kubeconfig, Context: c.Kubernetes.Context,
		Version: version, Installation: installation.ID, Log: log,
	})
	if w.noCluster != nil {
		log.WarnContext(ctx, "there is no cluster; changes of applications will fail until there is", "error", w.noCluster)
	}
	w.charts = helm.New(w.cluster, helm.Options{CacheDir: filepath.Join(c.DataDir, "charts"), Log: log})
	if err := w.openPrefect(ctx, c, log); err != nil {
		w.noRunner = err
		log.WarnContext(ctx, "actions cannot run here", "error", err)
	}
	return w
}

// openPrefect finds the Python of actions and the Prefect that runs are told to. It starts
// nothing yet.
func (w *world) openPrefect(ctx context.Context, c config.Config, log *slog.Logger) error {
	interpreter, err := findPython(ctx, c)
	if err != nil {
		return err
	}
	var source prefect.Source
	if c.Prefect.APIURL != "" {
		external := prefect.External{URL: c.Prefect.APIURL, UI: c.Prefect.UIURL}
		if c.Prefect.AuthFile != "" {
			raw, err := os.ReadFile(c.Prefect.AuthFile)
			if err != nil {
				return fmt.Errorf("read prefect.auth_file: %w", err)
			}
			external.Auth = strings.TrimSpace(string(raw))
		}
		source = external
	} else {
		w.ownPrefect, err = prefect.NewServer(prefect.ServerConfig{
			Python: interpreter, Dir: filepath.Join(c.DataDir, "prefect"), ReadyWithin: 3 * time.Minute, Logger: log,
		})
		if err != nil {
			return err
		}
		source = w.ownPrefect
	}
	w.prefect = prefect.NewClient(source, prefect.ClientOptions{RetryFor: time.Duration(c.Actions.PrefectRetry)})
	w.runner, err = prefect.NewRunner(prefect.RunnerConfig{
		Client: w.prefect, Python: interpreter, Dir: filepath.Join(c.DataDir, "runner"),
		Grace: time.Duration(c.Actions.StopGrace), Logger: log,
	})
	return err
}

// recognises answers whether a flow run of our work pool is one that we made.
func recognises(s *store.Store) func(context.Context, prefect.FlowRun) (bool, error) {
	return func(ctx context.Context, run prefect.FlowRun) (known bool, err error) {
		err = s.Read(ctx, func(tx *store.Tx) error {
			_, err := tx.ActionRunByFlowRun(ctx, run.ID)
			if slipway.Is(err, slipway.NotFound) && run.IdempotencyKey != "" {
				// Made by us a moment ago, before its ID was written down.
				_, err = tx.ActionRunByKey(ctx, run.IdempotencyKey)
			}
			known = err == nil
			if slipway.Is(err, slipway.NotFound) {
				return nil
			}
			return err
		})
		return known, err
	}
}
