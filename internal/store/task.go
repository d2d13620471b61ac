package store

import (
	"context"
	"fmt"
	"slices"

	"slipway.dev/slipway/internal/slipway"
)

const taskSelect = `SELECT t.id, t.kind, t.title, t.application_id, p.name, e.name, a.name, t.change_id, c.number,
	COALESCE(t.root_id, t.id), t.parent_step_id, pt.kind, t.args, t.state, t.epoch, t.holder, t.cancelled_by, t.requested_by,
	t.error, t.hint, t.result, t.created_at, t.started_at, t.ended_at, t.retry_of, t.attempt, t.resume
	FROM tasks t
	LEFT JOIN applications a ON a.id = t.application_id
	LEFT JOIN environments e ON e.id = a.environment_id
	LEFT JOIN projects p ON p.id = e.project_id
	LEFT JOIN changes c ON c.id = t.change_id
	LEFT JOIN steps ps ON ps.id = t.parent_step_id
	LEFT JOIN tasks pt ON pt.id = ps.task_id`

func readTask(scan scan) (t slipway.Task, err error) {
	var project, environment, application string
	err = scan(&t.ID, &t.Kind, &t.Title, orZero(&t.ApplicationID), orZero(&project), orZero(&environment), orZero(&application),
		orZero(&t.ChangeID), orZero(&t.ChangeNumber), &t.RootID, orZero(&t.ParentStepID), orZero((*string)(&t.ParentKind)),
		&t.Args, &t.State, &t.Epoch, &t.Holder, &t.CancelledBy, &t.RequestedBy, &t.Error, &t.Hint, &t.Result,
		at(&t.CreatedAt), at(&t.StartedAt), at(&t.EndedAt), orZero(&t.RetryOf), &t.Attempt, fromJSON(&t.Resume))
	if application != "" {
		t.Application = slipway.EnvironmentRef(project, environment) + "/" + application
	}
	return t, err
}

// CreateTask adds a queued task. One with ParentStepID is a child: its root is that of the
// step's task. One with only RootID runs under that root too, but no step shows it. A root
// task with ChangeID becomes the task of that change.
func (tx *Tx) CreateTask(ctx context.Context, t slipway.Task) (slipway.Task, error) {
	if t.ParentStepID != 0 {
		root, err := one(ctx, tx, fmt.Sprintf("step %d", t.ParentStepID), func(scan scan) (id int64, err error) {
			return id, scan(&id)
		}, `SELECT COALESCE(t.root_id, t.id) FROM steps s JOIN tasks t ON t.id = s.task_id WHERE s.id = ?`, t.ParentStepID)
		if err != nil {
			return t, err
		}
		t.RootID = root
	}
	if t.RootID == 0 && t.ApplicationID != 0 {
		// The root tasks of an application take their turns in the order of their IDs, so one
		// with a lower ID must not appear after one with a higher: whoever makes one holds the
		// application.
		_, err := one(ctx, tx, fmt.Sprintf("application %d", t.ApplicationID), func(scan scan) (id int64, err error) {
			return id, scan(&id)
		}, `SELECT id FROM applications WHERE id = ?`+tx.forUpdate(), t.ApplicationID)
		if err != nil {
			return t, err
		}
	}
	var resume any
	if t.RetryOf != 0 {
		if by, err := tx.RetriedBy(ctx, t.RetryOf); err != nil {
			return t, err
		} else if by != 0 {
			return t, stale("retry task %d, which task %d repeats", t.RetryOf, by)
		}
		resume = asJSON{t.Resume}
	}
	id, err := tx.insert(ctx, `INSERT INTO tasks (kind, title, application_id, change_id, root_id, parent_step_id, args, state,
			epoch, holder, cancelled_by, requested_by, error, hint, created_at, retry_of, attempt, resume)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, '', '', ?, '', '', ?, ?, ?, ?) RETURNING id`,
		t.Kind, t.Title, ref(t.ApplicationID), ref(t.ChangeID), ref(t.RootID), ref(t.ParentStepID), rawJSON(t.Args),
		slipway.Queued, t.RequestedBy, tx.Now, ref(t.RetryOf), max(t.Attempt, 1), resume)
	if err != nil {
		return t, fmt.Errorf("create task %q: %w", t.Title, orMissing(err, "the application or the change of the task is gone"))
	}
	if t.ChangeID != 0 && t.RootID == 0 {
		_, err := tx.exec(ctx, `UPDATE changes SET task_id = ? WHERE id = ? AND (task_id IS NULL OR task_id = ?)`, id, t.ChangeID, t.RetryOf)
		if err != nil {
			return t, fmt.Errorf("link task %d to change %d: %w", id, t.ChangeID, err)
		}
	}
	return tx.Task(ctx, id)
}

// RetriedBy returns the task that repeats a task, and 0 when none does.
func (tx *Tx) RetriedBy(ctx context.Context, id int64) (int64, error) {
	by, err := one(ctx, tx, "retry", func(scan scan) (n int64, err error) { return n, scan(&n) }, `SELECT id FROM tasks WHERE retry_of = ?`, id)
	if slipway.Is(err, slipway.NotFound) {
		return 0, nil
	}
	return by, err
}

func (tx *Tx) Task(ctx context.Context, id int64) (slipway.Task, error) {
	return one(ctx, tx, fmt.Sprintf("task %d", id), readTask, taskSelect+` WHERE t.id = ?`, id)
}

// TaskFilter narrows a list; a zero field does not.
type TaskFilter struct {
	ApplicationID int64
	Project       string
	Environment   string
	State         slipway.TaskState
	Open          bool // not over
	Root          bool // started by nobody's action
}

// Tasks lists tasks, the newest first.
func (tx *Tx) Tasks(ctx context.Context, f TaskFilter, p Page) (List[slipway.Task], error) {
	before, err := p.afterID()
	if err != nil {
		return List[slipway.Task]{}, err
	}
	w := where{}
	w.andIf(f.ApplicationID != 0, `t.application_id = ?`, f.ApplicationID)
	w.andIf(f.Project != "", `p.name = ?`, f.Project)
	w.andIf(f.Environment != "", `e.name = ?`, f.Environment)
	w.andIf(f.State != "", `t.state = ?`, f.State)
	w.andIf(f.Open, `t.ended_at IS NULL`)
	w.andIf(f.Root, `t.root_id IS NULL`)
	w.andIf(before != 0, `t.id < ?`, before)
	rows, err := all(ctx, tx, readTask, taskSelect+w.String()+` ORDER BY t.id DESC LIMIT ?`, w.with(p.more())...)
	if err != nil {
		return List[slipway.Task]{}, fmt.Errorf("list tasks: %w", err)
	}
	return list(p, rows, func(t slipway.Task) []string { return idKey(t.ID) }), nil
}

// ChildTasks lists the tasks that the actions of a root task started, in that order.
func (tx *Tx) ChildTasks(ctx context.Context, rootID int64) ([]slipway.Task, error) {
	ts, err := all(ctx, tx, readTask, taskSelect+` WHERE t.root_id = ? ORDER BY t.id`, rootID)
	if err != nil {
		return nil, fmt.Errorf("list the tasks started by task %d: %w", rootID, err)
	}
	return ts, nil
}

// TasksStartedBy lists the tasks that the actions of one step started, in that order.
func (tx *Tx) TasksStartedBy(ctx context.Context, stepID int64) ([]slipway.Task, error) {
	ts, err := all(ctx, tx, readTask, taskSelect+` WHERE t.parent_step_id = ? ORDER BY t.id`, stepID)
	if err != nil {
		return nil, fmt.Errorf("list the tasks started by step %d: %w", stepID, err)
	}
	return ts, nil
}

// holdTask reads where a task stands and keeps others from moving it until the
// transaction ends.
func (tx *Tx) holdTask(ctx context.Context, id int64) (state slipway.TaskState, epoch int64, err error) {
	type place struct {
		state slipway.TaskState
		epoch int64
	}
	p, err := one(ctx, tx, fmt.Sprintf("task %d", id), func(scan scan) (p place, err error) {
		return p, scan(&p.state, &p.epoch)
	}, `SELECT state, epoch FROM tasks WHERE id = ?`+tx.forUpdate(), id)
	return p.state, p.epoch, err
}

// HoldTask proves that the task is still the caller's: it runs, and nobody claimed it
// since. It is stale otherwise. The task stays so until the transaction ends, so every
// write that must not come from a worker that lost the task begins with it.
func (tx *Tx) HoldTask(ctx context.Context, id, epoch int64) error {
	state, now, err := tx.holdTask(ctx, id)
	if err != nil {
		return err
	}
	if state != slipway.Running || now != epoch {
		return stale("task %d is %s in epoch %d, not running in epoch %d", id, state, now, epoch)
	}
	return nil
}

// ClaimTask makes the task the replica's own and returns its new epoch. A running task
// can be claimed: whoever ran it is dead, or about to learn that it lost it. A task that
// is over is stale.
func (tx *Tx) ClaimTask(ctx context.Context, id int64, replica string) (int64, error) {
	state, epoch, err := tx.holdTask(ctx, id)
	if err != nil {
		return 0, err
	}
	if !slices.Contains(slipway.TaskMoves[state], slipway.Running) {
		return 0, stale("claim task %d, which is %s", id, state)
	}
	epoch++
	_, err = tx.exec(ctx, `UPDATE tasks SET state = ?, epoch = ?, holder = ?, started_at = COALESCE(started_at, ?) WHERE id = ?`,
		slipway.Running, epoch, replica, tx.Now, id)
	if err != nil {
		return 0, fmt.Errorf("claim task %d: %w", id, err)
	}
	return epoch, nil
}

// TaskEnd is how a task ended.
type TaskEnd struct {
	State  slipway.TaskState
	Error  string
	Hint   string
	Result []byte // JSON
}

// FinishTask ends a task. It is stale when the epoch is not the task's, or the move is not
// legal: a queued task, whose epoch is 0, can only fail or be cancelled.
func (tx *Tx) FinishTask(ctx context.Context, id, epoch int64, end TaskEnd) error {
	state, now, err := tx.holdTask(ctx, id)
	if err != nil {
		return err
	}
	if now != epoch || !end.State.Over() || !slices.Contains(slipway.TaskMoves[state], end.State) {
		return stale("move task %d from %s in epoch %d to %s in epoch %d", id, state, now, end.State, epoch)
	}
	_, err = tx.exec(ctx, `UPDATE tasks SET state = ?, error = ?, hint = ?, result = ?, ended_at = ? WHERE id = ?`,
		end.State, end.Error, end.Hint, rawJSON(end.Result), tx.Now, id)
	if err != nil {
		return fmt.Errorf("finish task %d: %w", id, err)
	}
	// A step that is still open now was left by a worker that died; it must not run for ever.
	_, err = tx.exec(ctx, `UPDATE steps SET state = ?, ended_at = ?, error = CASE WHEN error = '' THEN ? ELSE error END
		WHERE task_id = ? AND state = ?`, openStepEnd(end.State), tx.Now, "the task ended while this step was open", id, slipway.StepRunning)
	if err != nil {
		return fmt.Errorf("close the open steps of task %d: %w", id, err)
	}
	return nil
}

func openStepEnd(s slipway.TaskState) slipway.StepState {
	if s == slipway.Cancelled {
		return slipway.StepCancelled
	}
	return slipway.StepFailed
}

// RequestCancel asks for the end of a task. A queued one is cancelled at once; a running
// one is cancelled by whoever runs it, which the caller wakes. The first who asks is the
// one who is named. A task that is over is stale.
func (tx *Tx) RequestCancel(ctx context.Context, id int64, by string) (slipway.Task, error) {
	state, _, err := tx.holdTask(ctx, id)
	if err != nil {
		return slipway.Task{}, err
	}
	switch state {
	case slipway.Queued:
		_, err = tx.exec(ctx, `UPDATE tasks SET state = ?, cancelled_by = ?, ended_at = ?, error = ? WHERE id = ?`,
			slipway.Cancelled, by, tx.Now, "cancelled by "+by+" before it started", id)
	case slipway.Running:
		_, err = tx.exec(ctx, `UPDATE tasks SET cancelled_by = ? WHERE id = ? AND cancelled_by = ''`, by, id)
	default:
		return slipway.Task{}, stale("cancel task %d, which is %s", id, state)
	}
	if err != nil {
		return slipway.Task{}, fmt.Errorf("cancel task %d: %w", id, err)
	}
	return tx.Task(ctx, id)
}

// CancelledTasks returns, of the given tasks, those whose end somebody asked for, with
// who did.
func (tx *Tx) CancelledTasks(ctx context.Context, ids []int64) (map[int64]string, error) {
	out := map[int64]string{}
	for _, id := range ids {
		t, err := one(ctx, tx, fmt.Sprintf("task %d", id), func(scan scan) (by string, err error) { return by, scan(&by) },
			`SELECT cancelled_by FROM tasks WHERE id = ?`, id)
		switch {
		case slipway.Is(err, slipway.NotFound): // its environment was deleted
		case err != nil:
			return nil, err
		case t != "":
			out[id] = t
		}
	}
	return out, nil
}
