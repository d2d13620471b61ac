package application

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"slipway.dev/slipway/internal/outside/helm"
	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/secret"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
	"slipway.dev/slipway/internal/task"
)

// The nouns under which this package is woken.
const (
	NounTask = slipway.WakeTask
	NounCall = slipway.WakeCall
)

// cluster is what this reconciler needs of Kubernetes. Package kube is the real one.
type cluster interface {
	Version(ctx context.Context) (string, error)
	EnsureCRD(ctx context.Context, manifest []byte) error
	EnsureNamespace(ctx context.Context, env slipway.Environment) error
	ApplySecret(ctx context.Context, namespace, name string, data map[string][]byte, labels map[string]string) error
	DeleteSecret(ctx context.Context, namespace, name string) error
	PutRecord(ctx context.Context, app slipway.Application, r kube.Record) error
	SetRecordStatus(ctx context.Context, app slipway.Application, s kube.RecordStatus) error
	DeleteRecord(ctx context.Context, app slipway.Application) error
	Workloads(ctx context.Context, app slipway.Application, selector map[string]string) ([]kube.Workload, error)
	Stop(ctx context.Context, ws []kube.Workload, timeout time.Duration) error
	Start(ctx context.Context, app slipway.Application, ws []kube.Workload, replicas *int, o kube.ReadyOptions) error
	Ready(ctx context.Context, app slipway.Application, objects []kube.Object, o kube.ReadyOptions) error
	RunJob(ctx context.Context, s kube.JobSpec, o kube.JobOptions) (kube.JobResult, error)
	Diagnose(ctx context.Context, app slipway.Application, redact func(string) string) (text string, cut bool, err error)
	Compare(ctx context.Context, app slipway.Application, ms []kube.Manifest, o kube.CompareOptions) (kube.Comparison, error)
	CompareSecret(ctx context.Context, namespace, name string, data map[string][]byte) ([]slipway.Difference, error)
	PutBack(ctx context.Context, m kube.Manifest) error
	DeleteJobsOf(ctx context.Context, app slipway.Application) error
	DeleteJob(ctx context.Context, app slipway.Application, release, flowRunID string) (string, error)
	Claims(ctx context.Context, ws []kube.Workload, volumes []string) ([]kube.Claim, error)
	ServiceOf(ctx context.Context, w kube.Workload) (name string, port int, err error)
	RunMove(ctx context.Context, s kube.MoveSpec, o kube.JobOptions) (kube.MoveResult, error)
	EndMove(ctx context.Context, app slipway.Application, name string) error
	EndMovesOf(ctx context.Context, app slipway.Application, taskID int64) error
	PrepareRunners(ctx context.Context, s kube.RunnerSpace) error
	RemoveRunners(ctx context.Context, app slipway.Application) error
}

// charts is what it needs of Helm.
type charts interface {
	Chart(ctx context.Context, ref slipway.ChartRef, bundleDir, bundleDigest string) (*helm.Chart, error)
	Render(ctx context.Context, r helm.RenderRequest) (helm.Rendered, error)
	Apply(ctx context.Context, r helm.ApplyRequest) (helm.Result, error)
	Applied(ctx context.Context, app slipway.Application, release string) ([]kube.Manifest, error)
	Uninstall(ctx context.Context, r helm.UninstallRequest) (helm.Result, error)
}

// runner is what it needs of Prefect.
type runner interface {
	Ensure(ctx context.Context, a prefect.Action, run prefect.RunSpec) (string, error)
	Began(ctx context.Context, flowRunID string, p prefect.Process) (bool, error)
	Start(ctx context.Context, flowRunID string, l prefect.Launch) (prefect.Process, error)
	Wait(ctx context.Context, flowRunID string, p prefect.Process, o prefect.WaitOptions) (prefect.Outcome, error)
	Cancel(ctx context.Context, flowRunID string, p prefect.Process) error
}

// tokens makes the token of a task's actions, and ends it. Package auth is the real one.
type tokens interface {
	MintTaskToken(ctx context.Context, tx *store.Tx, taskID int64, deadline time.Time) (string, error)
	RevokeTaskTokens(ctx context.Context, tx *store.Tx, taskID int64) error
}

// Config is everything that the reconciler works with.
type Config struct {
	Store   *store.Store
	Queue   *task.Queue
	Journal *task.Journal
	Replica string // the ID of this process
	Cluster cluster
	Charts  charts
	Runner  runner
	Tokens  tokens
	Box     *secret.Box
	Bundles *Bundles

	Installation slipway.Installation
	CRD          []byte // the definition of the in-cluster record
	RunDir       string // private folder with a folder for each run of an action
	// APIURLs are where actions call back, nearest first; CAFile verifies them.
	APIURLs func() []string
	CAFile  string

	// NoCluster and NoRunner, when set, say why there is none; what needs it fails with that.
	NoCluster, NoRunner error

	// MoverImage is the image with this Slipway, which carries backups; empty: none are taken.
	MoverImage string

	// Runners is what holds for all runner applications.
	Runners Runners

	// What follows may be zero.
	Capabilities    spec.ContextCapabilities
	ClusterName     string
	ImageAfter      time.Duration // how long a container may be unable to start before that is final; 0: kube's default
	PrefectPatience time.Duration // how long a hook that is due waits for a Prefect that is away; 0: 10 min
	MaxRunning      int           // actions at once in this process; 0: 20
	Log             *slog.Logger
}

// Reconciler carries tasks of applications, and the calls of their actions, to their
// ends. Its methods are handlers of package task.
type Reconciler struct {
	Config
	applying byID          // applications that this process applies to
	seats    chan struct{} // one for each action that runs
}

// New returns a reconciler. It starts nothing.
func New(c Config) *Reconciler {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.PrefectPatience = cmp.Or(c.PrefectPatience, 10*time.Minute)
	return &Reconciler{Config: c, seats: make(chan struct{}, cmp.Or(c.MaxRunning, 20))}
}
