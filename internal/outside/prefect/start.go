package prefect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Launch says what to start and where.
type Launch struct {
	Action
	// Env is added to the child's environment: SLIPWAY_TOKEN and what else the action
	// needs. Nothing of Slipway's own environment is inherited. Names that begin with
	// PREFECT are Slipway's to set.
	Env map[string]string
	// RunDir is a private folder of this one run, absolute; made if absent. It is the
	// child's HOME, and holds its temporary files, its output, and what Start writes down
	// to be repeatable. It is the caller's to remove when the run has ended.
	RunDir string
	// Claim is the identity of the claim, a UUID. Who shows the same one claims the same
	// run again, also from another machine; who shows another gets ErrClaimed. When empty
	// only a repeat with the same RunDir shows the same one.
	Claim string
	// Note is told the process before any code of the driver can run, for the caller to
	// store; when it fails none will. So a caller that stored nothing knows that nothing
	// ran, and may start the run from another machine. Nil: nobody is told.
	Note func(context.Context, Process) error
}

// Start claims the run and starts the engine in a session of its own. It returns who that
// is, for the caller to store.
//
// It may be repeated after a crash at any point, with the same RunDir: the claim is written
// down before it is made and the process before it runs, so a repeat returns the process
// that is there, or starts the one that is not. Who lost the claim to somebody else gets
// ErrClaimed, and so does who repeats it with another RunDir.
func (r *Runner) Start(ctx context.Context, flowRunID string, l Launch) (Process, error) {
	p, err := r.start(ctx, flowRunID, l)
	if err != nil {
		return Process{}, fmt.Errorf("start flow run %s: %w", flowRunID, err)
	}
	return p, nil
}

func (r *Runner) start(ctx context.Context, flowRunID string, l Launch) (Process, error) {
	if !filepath.IsAbs(l.RunDir) || !filepath.IsAbs(l.Dir) {
		return Process{}, fmt.Errorf("the run's folder %q and the bundle's %q must be absolute", l.RunDir, l.Dir)
	}
	if err := os.MkdirAll(filepath.Join(l.RunDir, "tmp"), 0o700); err != nil {
		return Process{}, fmt.Errorf("make the run's folder: %w", err)
	}
	record, err := readRecord(l.RunDir, flowRunID)
	if err != nil {
		return Process{}, err
	}
	if began, err := r.Began(ctx, flowRunID, record.Process); err != nil || began {
		return record.Process, err
	}
	// Write the claim down before making it: when the answer, or this process, is lost, a
	// repeat shows the same transition id, and Prefect says that it made it already.
	if record.Claim == "" {
		record.Claim = cmp.Or(l.Claim, newUUID())
		if err := record.write(l.RunDir); err != nil {
			return Process{}, err
		}
	}
	claim, err := r.client.SetState(ctx, flowRunID, Proposal{State: State{
		Type: Pending, Name: "Pending", Details: StateDetails{TransitionID: record.Claim},
	}})
	switch {
	case err != nil:
		return Process{}, err
	case !claim.Ours:
		return Process{}, fmt.Errorf("%w: %s %s", ErrClaimed, claim.State.Type, claim.Reason)
	}
	c, err := r.spawn(ctx, r.runEnv(flowRunID, l), l, func(p Process) error {
		record.Process = p
		if err := record.write(l.RunDir); err != nil || l.Note == nil {
			return err
		}
		return l.Note(ctx, p)
	})
	if err != nil {
		return Process{}, err
	}
	r.mu.Lock()
	r.children[flowRunID] = c
	r.mu.Unlock()
	go r.showProcess(context.WithoutCancel(ctx), flowRunID, c.process)
	return c.process, nil
}

// Began says whether code of the driver may have run in a process that was stored. It has
// not when the process is gone although Prefect never heard of it: whoever made it was
// killed before it opened the gate, or it ended while it was getting ready. Such a run is
// Start's to start. Of a process on another machine it says yes, because it may be alive.
func (r *Runner) Began(ctx context.Context, flowRunID string, p Process) (bool, error) {
	switch {
	case !p.Known():
		return false, nil
	case locate(p.Host) != here || p.alive() || r.child(flowRunID) != nil:
		return true, nil
	}
	run, err := r.client.GetFlowRun(ctx, flowRunID)
	if errors.Is(err, ErrNotFound) {
		return true, nil // Wait has the words for it
	}
	return run.State.Type != Pending, err
}

// showProcess tells Prefect's pages where the run is. Nothing depends on it.
func (r *Runner) showProcess(ctx context.Context, flowRunID string, p Process) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := r.client.PatchFlowRun(ctx, flowRunID, fmt.Sprintf("%s:%d", r.Worker, p.PID)); err != nil {
		r.log.WarnContext(ctx, "the process is not shown in Prefect", "flow_run", flowRunID, "error", err)
	}
}

// spawn starts the engine: in the warm spare when there is one, else in a new interpreter.
// note is called with the process before any code of the driver can run; when it fails,
// none does.
func (r *Runner) spawn(ctx context.Context, env map[string]string, l Launch, note func(Process) error) (*child, error) {
	if c, err := r.takeSpare(ctx, env, l, note); c != nil || err != nil {
		return c, err
	}
	c, err := startGated(gated{
		Args: []string{r.Python.Interpreter, "-m", "prefect.engine"},
		Env:  environ(env), Dir: l.Dir, Output: outputFile(l.RunDir),
	})
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", r.Python.Interpreter, err)
	}
	if err := note(c.process); err != nil {
		c.abandon()
		return nil, err
	}
	if err := c.open(); err != nil {
		c.abandon()
		return nil, fmt.Errorf("start %s: %w", r.Python.Interpreter, err)
	}
	return c, nil
}

// runRecord is what Start remembers in the run's folder.
type runRecord struct {
	FlowRun string  `json:"flow_run"`
	Claim   string  `json:"claim"` // the transition id of our PENDING
	Process Process `json:"process"`
}

func recordFile(runDir string) string { return filepath.Join(runDir, "run.json") }
func outputFile(runDir string) string { return filepath.Join(runDir, "output.log") }

func readRecord(runDir, flowRunID string) (runRecord, error) {
	record := runRecord{FlowRun: flowRunID}
	data, err := os.ReadFile(recordFile(runDir))
	if errors.Is(err, fs.ErrNotExist) {
		return record, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &record)
	}
	if err != nil {
		return runRecord{}, fmt.Errorf("read what was started: %w", err)
	}
	if record.FlowRun != flowRunID {
		return runRecord{}, fmt.Errorf("the folder %s belongs to flow run %s", runDir, record.FlowRun)
	}
	return record, nil
}

func (rec runRecord) write(runDir string) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("write down what is started: %w", err)
	}
	return writeFile(recordFile(runDir), data)
}
