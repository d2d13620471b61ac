package prefect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// ErrClaimed: the flow run cannot be started here, because it was claimed before or has
// ended. Who wants to know how it ends calls Wait.
var ErrClaimed = errors.New("the flow run was claimed before, or has ended")

// Action is one action of one unpacked driver bundle.
type Action struct {
	Flow          string // Prefect's name of the flow, "guestbook.upgrade"
	Driver        string // "guestbook"
	DriverVersion string // "1.0.0"
	DriverDigest  string // "sha256:5f1c…"
	Dir           string // the unpacked bundle, absolute; never written to
	File          string // within Dir: "actions.py"
	Function      string // "upgrade"
	// Params are the function's arguments, by name. Prefect stores and shows them, so
	// they hold references only. A name that the function does not have fails the run.
	Params map[string]any
}

// RunSpec names one run of an action.
type RunSpec struct {
	Key    string // the same key returns the same flow run: "task-41/upgrade/pre/backup/1"
	Name   string // for people, in Prefect's pages
	Tags   []string
	Labels map[string]string
}

// RunnerConfig is what a Runner needs. Client, Python and Dir are required.
type RunnerConfig struct {
	Client *Client
	Python Python
	// Dir is a private folder for Prefect's home and the files that runs share.
	Dir string
	// WorkPool and Worker are the names under which this Slipway shows in Prefect;
	// "slipway-actions" and the host's name when empty.
	WorkPool, Worker string
	// Grace is the time between TERM and KILL; 30 s when zero.
	Grace time.Duration
	// OutputMax bounds what is kept of one action's output, in bytes; 4 MiB when zero.
	OutputMax int64
	// NoSpare keeps no warm interpreter, which saves some 100 MB and costs 2 to 4 s
	// at the start of each action.
	NoSpare bool
	Logger  *slog.Logger
}

// Runner carries actions from asked for to ended. Its methods may be called at the same
// time, and each may be repeated after a crash at any point.
type Runner struct {
	RunnerConfig
	client *Client
	log    *slog.Logger

	mu          sync.Mutex
	children    map[string]*child        // flow run id → the process that this Runner started
	cancelling  map[string]chan struct{} // flow run id → closed when its Cancel is over
	deployments map[[3]string]string     // flow, deployment, entrypoint → deployment id
	pool        sync.Mutex               // held while the work pool is made
	poolMade    bool

	spare      spareSeat
	sweepAfter time.Duration
}

// NewRunner prepares dir and returns a Runner. It starts nothing: Run keeps the spare.
func NewRunner(c RunnerConfig) (*Runner, error) {
	host, _ := os.Hostname()
	c.WorkPool = cmp.Or(c.WorkPool, "slipway-actions")
	// Prefect allows neither in a worker's name.
	c.Worker = strings.NewReplacer("/", "-", "%", "-").Replace(cmp.Or(c.Worker, host, "slipway"))
	c.Grace = cmp.Or(c.Grace, 30*time.Second)
	c.OutputMax = cmp.Or(c.OutputMax, 4<<20)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if !filepath.IsAbs(c.Dir) {
		return nil, fmt.Errorf("prepare the runner of actions: the folder %q is not absolute", c.Dir)
	}
	r := &Runner{
		RunnerConfig: c, client: c.Client, log: c.Logger,
		children: map[string]*child{}, cancelling: map[string]chan struct{}{}, deployments: map[[3]string]string{}, sweepAfter: sweepAfter,
	}
	if err := r.writeSharedFiles(); err != nil {
		return nil, fmt.Errorf("prepare the runner of actions: %w", err)
	}
	return r, nil
}

// Ensure makes the flow, the deployment (one per driver digest and action) and the flow run
// of the key, and returns the run's id. It may be repeated: the same key returns the same
// run. Nothing runs before Start.
func (r *Runner) Ensure(ctx context.Context, a Action, run RunSpec) (flowRunID string, err error) {
	if run.Key == "" {
		return "", errors.New("make a flow run: no key")
	}
	request := RunRequest{Key: run.Key, Name: run.Name, Params: a.Params, Tags: run.Tags, Labels: run.Labels}
	for again := false; ; again = true {
		deployment, cached, err := r.ensureDeployment(ctx, a, again)
		if err != nil {
			return "", err
		}
		made, err := r.client.CreateFlowRun(ctx, deployment, request)
		// Prefect's database was replaced or tidied since the deployment was made.
		if errors.Is(err, ErrNotFound) && cached && !again {
			continue
		}
		return made.ID, err
	}
}

// ensureDeployment returns the deployment's id, from memory unless fresh is set.
func (r *Runner) ensureDeployment(ctx context.Context, a Action, fresh bool) (id string, cached bool, err error) {
	d := Deployment{
		Name: deploymentName(a), WorkPool: r.WorkPool, Entrypoint: a.File + ":" + a.Function,
		Version: a.DriverVersion, Tags: []string{"driver:" + a.Driver},
	}
	key := [3]string{a.Flow, d.Name, d.Entrypoint}
	r.mu.Lock()
	id = r.deployments[key]
	r.mu.Unlock()
	if id != "" && !fresh {
		return id, true, nil
	}
	if err := r.ensurePool(ctx, fresh); err != nil {
		return "", false, err
	}
	if d.FlowID, err = r.client.EnsureFlow(ctx, flowName(a.Flow)); err != nil {
		return "", false, err
	}
	if id, err = r.client.EnsureDeployment(ctx, d); err != nil {
		return "", false, err
	}
	r.mu.Lock()
	r.deployments[key] = id
	r.mu.Unlock()
	return id, false, nil
}

func (r *Runner) ensurePool(ctx context.Context, fresh bool) error {
	r.pool.Lock()
	defer r.pool.Unlock()
	if r.poolMade && !fresh {
		return nil
	}
	if err := r.client.EnsureWorkPool(ctx, r.WorkPool, "Actions of drivers, run by Slipway itself. Start no worker here."); err != nil {
		return fmt.Errorf("make work pool %q: %w", r.WorkPool, err)
	}
	r.poolMade = true
	return nil
}

// flowName replaces what Prefect does not allow in a flow's name.
var flowName = strings.NewReplacer("/", "-", "%", "-", "&", "-", "<", "-", ">", "-").Replace

// deploymentName is the bundle's version and the start of its digest: "1.0.0-5f1c3a9d2b7e".
func deploymentName(a Action) string {
	_, digest, _ := strings.Cut(a.DriverDigest, ":")
	digest = cmp.Or(digest, a.DriverDigest)
	return flowName(a.DriverVersion + "-" + digest[:min(12, len(digest))])
}
