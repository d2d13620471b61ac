package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"slipway.dev/slipway/contract"
	"slipway.dev/slipway/internal/auth"
	"slipway.dev/slipway/internal/author"
	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/config"
	"slipway.dev/slipway/internal/observe"
	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/reconcile/application"
	"slipway.dev/slipway/internal/reconcile/pool"
	"slipway.dev/slipway/internal/redact"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
	"slipway.dev/slipway/internal/view"
	"slipway.dev/slipway/internal/webhook"
)

// Server is one process of an installation, put together. Its fields are the parts, for
// the tests that drive them directly.
type Server struct {
	Config       config.Config
	Version      string
	Installation slipway.Installation
	Store        *store.Store
	Auth         *auth.Authenticator
	Change       *change.Service
	View         *view.Reader
	Queue        *task.Queue
	Events       *task.Events
	Journal      *task.Journal

	log      *slog.Logger
	out      io.Writer
	replica  slipway.Replica
	db       database
	box      *secret.Box
	world    *world
	forges   *forgeClients // one client for each credential, for all who use it
	metrics  *metrics
	webhooks *webhook.Handler
	public   *listener
	actions  *listener
	stopping chan struct{}
	unlock   func()
}

// Run runs a server until ctx ends or a part of it is beyond repair. What people should
// read goes to out, the log to standard error.
func Run(ctx context.Context, c config.Config, version string, out io.Writer) error {
	s, err := Open(ctx, c, version, out, os.Stderr)
	if err != nil {
		return err
	}
	return errors.Join(s.Serve(ctx), s.Close())
}

// Open puts a server together and opens its listeners. It must be closed.
func Open(ctx context.Context, c config.Config, version string, out, logTo io.Writer) (_ *Server, err error) {
	s := &Server{
		Config: c, Version: version, out: out, log: newLog(c.Log, logTo), stopping: make(chan struct{}),
		replica: slipway.Replica{ID: uuid.NewString(), Host: prefect.ThisHost(), Role: string(c.Role), Version: version},
	}
	for _, w := range c.Warnings {
		s.log.WarnContext(ctx, w)
	}
	if s.unlock, err = openDataDir(c.DataDir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.db, err = openDatabase(ctx, c); err != nil {
		return nil, err
	}
	s.Store = s.db.Store
	if s.Installation, err = ensureInstallation(ctx, s.Store); err != nil {
		return nil, err
	}
	if s.box, err = openBox(ctx, c, s.Store); err != nil {
		return nil, err
	}
	if err := s.openAuth(ctx); err != nil {
		return nil, err
	}
	s.Queue, err = s.db.queue(task.Options{
		Replica: s.replica, Log: s.log, Grace: time.Duration(c.ShutdownGrace) / 3,
	})
	if err != nil {
		return nil, err
	}
	s.Events = task.NewEvents(s.Store, s.log)
	s.Journal = task.NewJournal(s.Store, s.Events, s.replica.ID, s.log)
	s.View = view.New(s.Store)
	s.world = openWorld(ctx, c, s.Installation, version, s.log)
	s.Change = s.newChange()
	transport, err := forgeTransport(s.Config.Runners.CAFile)
	if err != nil {
		return nil, err
	}
	asked := newForgeRequests()
	s.forges = newForgeClients(&countedForge{transport, asked}, version)
	s.Change.Apps = apps{s.forges.Clients}
	s.metrics = newMetrics(s.Store, s.forges, version, s.log)
	s.metrics.registry.MustRegister(asked)
	s.openWebhooks()
	if c.Role.Works() {
		s.handle()
	}
	return s, s.openListeners()
}

func (s *Server) openAuth(ctx context.Context) error {
	var origins []string
	if s.Config.URL != "" {
		origins = append(origins, strings.TrimSuffix(s.Config.URL, "/"))
	}
	var err error
	s.Auth, err = auth.New(auth.Config{
		Store: s.Store, SecureCookies: s.Config.SecureCookies(), Proxies: s.Config.Proxies(), TrustedOrigins: origins,
		SetupSecretFile: s.Config.SetupSecretFile(), Log: s.log,
	})
	if err != nil {
		return err
	}
	return s.Auth.EnsureActionsUser(ctx)
}

func (s *Server) newChange() *change.Service {
	t := tools{&author.Tools{Interpreter: s.Config.Python.Interpreter, Dir: s.bundleDir(), Charts: s.world.charts}}
	limits := spec.DefaultLimits()
	limits.Packed = int64(s.Config.Limits.DriverBundle)
	return &change.Service{
		Store: s.Store, Box: s.box, Credentials: s.Auth.Credentials, Redactor: func(values ...string) func(string) string { return redact.New(values...).String }, BundleLimits: limits,
		Drivers: t, Renderer: t,
		Wake: func(ctx context.Context, tx *store.Tx, noun string, id int64) error {
			w := task.WakeUp{Noun: noun, ID: id, Priority: task.Urgent}
			switch noun {
			case slipway.WakeRecover, slipway.WakeLook:
				w.Priority = task.Background
			case slipway.WakeCall:
				w.Nested = true
			case slipway.WakeTask:
				// A task that an action started must not wait for a worker behind the one that
				// waits for it.
				t, err := tx.Task(ctx, id)
				if err != nil {
					return err
				}
				w.Nested = !t.Root()
			}
			return s.Queue.Enqueue(ctx, tx, w)
		},
	}
}

func (s *Server) bundleDir() string { return s.Config.DataDir + "/drivers" }

// handle gives the reconcilers to the queue.
func (s *Server) handle() {
	r := application.New(application.Config{
		Store: s.Store, Queue: s.Queue, Journal: s.Journal, Replica: s.replica.ID,
		Cluster: s.world.cluster, NoCluster: s.world.noCluster,
		Charts: s.world.charts, Runner: s.world.runner, NoRunner: s.world.noRunner,
		Tokens: s.Auth, Box: s.box, Bundles: application.NewBundles(s.Store, s.bundleDir()),
		Installation: s.Installation, CRD: contract.CRD,
		RunDir: s.Config.DataDir + "/runs", APIURLs: s.actionURLs, CAFile: s.Config.TLS.CertFile,
		ClusterName: "default", ImageAfter: time.Duration(s.Config.Actions.ImageWait),
		MoverImage:      s.Config.Backup.Image,
		Runners:         application.Runners{AllowEgress: s.Config.Runners.AllowEgress, DNS: s.Config.Runners.DNS, Mirror: s.Config.Runners.Mirror},
		PrefectPatience: time.Duration(s.Config.Actions.PrefectRetry), MaxRunning: int(s.Config.Actions.MaxRunning),
		Log: s.log,
	})
	s.Queue.Handle(slipway.WakeTask, r.Task)
	s.Queue.Handle(slipway.WakeCall, r.Call)
	o := observe.New(observe.Config{
		Store: s.Store, Queue: s.Queue, Cluster: s.world.cluster, NoCluster: s.world.noCluster, Charts: s.world.charts,
		Box: s.box, Installation: s.Installation, Every: time.Duration(s.Config.Kubernetes.DriftEvery), Log: s.log,
	})
	s.Queue.Handle(slipway.WakeDrift, o.Look)
	s.Queue.Handle(observe.NounRound, o.Round)
	s.Queue.Periodic(observe.NounRound, 1, time.Minute)
	s.Queue.Handle(observe.NounNodes, o.Nodes)
	s.Queue.Periodic(observe.NounNodes, 1, observe.NodesEvery)
	s.Queue.Handle(slipway.WakeSchedule, r.Schedule)
	s.Queue.Handle(application.NounSpaces, r.KeepSpaces)
	s.Queue.Periodic(application.NounSpaces, 1, application.SpacesEvery)
	p := s.newPools()
	s.Queue.Handle(pool.Noun, p.Pool)
	s.Queue.Handle(pool.NounRound, p.Round)
	s.Queue.Periodic(pool.NounRound, 1, time.Minute)
	s.handleRecovery()
}

// actionURLs is where actions call back: this process's own door on loopback first, and
// the public address for when this process is gone and another took its work.
func (s *Server) actionURLs() []string {
	urls := []string{s.actions.url}
	if s.Config.URL != "" {
		urls = append(urls, strings.TrimSuffix(s.Config.URL, "/"))
	} else if s.public != nil {
		urls = append(urls, s.public.url)
	}
	return urls
}

func (s *Server) openListeners() (err error) {
	h := s.handler()
	if s.Config.Role.Works() {
		if s.actions, err = listenForActions(s.Config.DataDir, h, s.log); err != nil {
			return err
		}
	}
	// A worker listens too, for its health and metrics.
	s.public, err = listen(s.Config, h, s.log)
	return err
}

// Serve does the server's work until ctx ends, and returns nil then. It returns an error
// when the others have given this process up, or a listener broke.
func (s *Server) Serve(ctx context.Context) error {
	broken := make(chan error, 4)
	var parts sync.WaitGroup
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer parts.Wait()
	defer stop()

	parts.Go(func() { s.Events.Run(background) })
	parts.Go(func() { s.Journal.Watch(background) })
	parts.Go(func() { s.keepHouse(background) })
	parts.Go(func() { s.webhooks.Run(background) })
	for _, l := range []*listener{s.public, s.actions} {
		if l != nil {
			parts.Go(func() {
				if err := l.serve(); err != nil {
					broken <- err
				}
			})
		}
	}
	if s.Config.Role.Works() && s.world.noRunner == nil {
		parts.Go(func() { s.runActions(background) })
	}
	if err := s.Queue.Start(ctx); err != nil {
		s.stopListeners(ctx)
		return err
	}
	s.greet(ctx)

	var err error
	select {
	case <-ctx.Done():
	case err = <-broken:
	case <-s.Queue.Lost():
		err = slipway.Errorf(slipway.Unavailable, "this process did not reach the database for so long that its work was given to others").
			WithHint("start it again")
	}
	s.shutDown(err)
	return err
}

// runActions keeps Prefect, the work pool and the warm interpreter.
func (s *Server) runActions(ctx context.Context) {
	var parts sync.WaitGroup
	defer parts.Wait()
	if own := s.world.ownPrefect; own != nil {
		if err := own.Start(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "Prefect did not start; it is tried again", "error", err)
		}
		parts.Go(func() {
			if err := own.Run(ctx); err != nil && ctx.Err() == nil {
				s.log.ErrorContext(ctx, "Prefect is not kept running any more", "error", err)
			}
		})
	}
	if err := s.world.runner.Run(ctx, recognises(s.Store)); err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "the work pool is not kept any more", "error", err)
	}
}

// shutDown stops taking requests and work, lets what runs end within the grace, and leaves
// actions that still run to the next start.
func (s *Server) shutDown(cause error) {
	if cause != nil {
		s.log.Info("stopping", "cause", cause)
	} else {
		s.log.Info("stopping", "cause", "asked to")
	}
	close(s.stopping)
	ctx, stop := context.WithTimeout(context.Background(), time.Duration(s.Config.ShutdownGrace))
	defer stop()
	if err := s.Queue.Stop(ctx); err != nil {
		s.log.Warn("not all work came to a stop; the next start takes it up", "error", err)
	}
	s.stopListeners(ctx)
	s.leavePrefect(ctx)
}

// leavePrefect ends our Prefect unless an action runs that needs it.
func (s *Server) leavePrefect(ctx context.Context) {
	if s.world.ownPrefect == nil {
		return
	}
	var open []slipway.ActionRun
	err := s.Store.Read(ctx, func(tx *store.Tx) (err error) {
		open, err = tx.OpenActionRuns(ctx)
		return err
	})
	running := 0
	for _, r := range open {
		if r.Host == s.replica.Host && r.PID != 0 {
			running++
		}
	}
	if err == nil && running == 0 {
		if err := s.world.ownPrefect.Stop(ctx); err != nil {
			s.log.Warn("Prefect did not stop", "error", err)
		}
		return
	}
	s.log.Warn("actions keep running, and Prefect with them; the next start takes them over", "actions", running)
}

func (s *Server) stopListeners(ctx context.Context) {
	var parts sync.WaitGroup
	for _, l := range []*listener{s.public, s.actions} {
		if l != nil {
			parts.Go(func() { l.stop(ctx) })
		}
	}
	parts.Wait()
}

// Close lets go of what Open took.
func (s *Server) Close() error {
	if s.Auth != nil {
		s.Auth.Close()
	}
	var err error
	if s.db.Closer != nil {
		err = s.db.Closer.Close()
	}
	if s.unlock != nil {
		s.unlock()
	}
	return err
}

// URL is where the public listener is.
func (s *Server) URL() string { return s.public.url }

// greet says where the server is, and how to make the first administrator.
func (s *Server) greet(ctx context.Context) {
	fmt.Fprintf(s.out, "slipway %s · %s · data %s\n", s.Version, s.public.url, s.Config.DataDir)
	s.log.InfoContext(ctx, "ready", "url", s.public.url, "role", s.Config.Role, "database", s.Store.Dialect(), "replica", s.replica.ID)
	if !s.Config.Role.ServesAPI() {
		return
	}
	path, err := s.Auth.EnsureSetupSecret(ctx)
	if err != nil {
		s.log.ErrorContext(ctx, "the setup secret was not made", "error", err)
	}
	if path != "" {
		fmt.Fprintf(s.out, "first start: create the administrator with   slipway setup --secret-file %s\n", path)
	}
}

// handler is everything that is served: health, metrics, the API, the pages.
func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.Handle("GET /metrics", s.metrics.handler())
	s.mount(mux)
	return s.metrics.observe(mux)
}
