package view

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// TaskFilter narrows the list of tasks. Its zero value is every task that stands for
// itself: those that an action started through a primitive stand under its step.
type TaskFilter struct {
	ApplicationID int64
	Project       string
	Environment   string
	State         slipway.TaskState
	Open          bool // only those that run or wait
	Children      bool // also the tasks that stand under a step
}

// TaskRow is one line of a list of tasks.
type TaskRow struct {
	slipway.Task
}

// Components are those that a task was asked to stop or start.
func (t TaskRow) Components() []string {
	var args struct {
		Components []string `json:"components"`
	}
	if json.Unmarshal(t.Args, &args) != nil {
		return nil // a task of another kind has other arguments
	}
	return args.Components
}

// TaskPage is everything about one task that its page shows.
type TaskPage struct {
	Task        slipway.Task
	Application slipway.Application // zero for a task of no application
	Change      slipway.Change      // zero for a task without a change: stop, start
	Steps       []Step
	Planned     []PlannedStep // what is still to come, as far as it is known
	Kept        []KeptStep    // of a retry: what attempts before it have done
	Retryable   bool          // it has ended without success, and nothing was asked for since
	RetriedBy   int64         // the task that repeats this one; 0: none
	StartedBy   *TaskRow      // the task whose action started this one
	Waiting     []TaskRow     // for a queued root task: the tasks before it, oldest first
	Stopped     []string      // components of the application that are stopped since this task
	Seen        string        // changes whenever something here does; for "what is new since"
}

// Step is one step with the tasks that its action started.
type Step struct {
	slipway.Step
	Children []TaskRow
}

// Tasks lists the tasks that the caller sees, the newest first.
func (r *Reader) Tasks(ctx context.Context, c slipway.Caller, f TaskFilter, p Page) (List[TaskRow], error) {
	return read(ctx, r, c, func(tx *store.Tx) (out List[TaskRow], err error) {
		project, environment, ok := confine(c, f.Project, f.Environment)
		if !ok {
			return out, nil
		}
		in := store.TaskFilter{ApplicationID: f.ApplicationID, Project: project, Environment: environment, State: f.State, Open: f.Open}
		if f.Children {
			list, err := tx.Tasks(ctx, in, p)
			return List[TaskRow]{Items: rowsOf(list.Items), Next: list.Next}, err
		}
		return ownTasks(ctx, tx, in, p)
	})
}

// ownTasks lists the tasks that no step shows. A call that an action made outside of the
// primitives is let in under the action's root task and linked to no step, so being a
// root is not the question.
//
// Its pages are filled from the store's, of which a part is left out. The cursor is the
// store's, behind how many of the rows that follow it were given already: 12.WyI0MSJd.
func ownTasks(ctx context.Context, tx *store.Tx, f store.TaskFilter, p Page) (out List[TaskRow], err error) {
	limit := p.Length()
	skip, after, err := cutCursor(p.After)
	if err != nil {
		return out, err
	}
	for {
		part, err := tx.Tasks(ctx, f, Page{Limit: 2 * limit, After: after})
		if err != nil {
			return out, err
		}
		for i, t := range part.Items {
			if i < skip || t.ParentStepID != 0 {
				continue
			}
			if len(out.Items) == limit {
				out.Next = cursor(i, after)
				return out, nil
			}
			out.Items = append(out.Items, TaskRow{t})
		}
		if skip, after = 0, part.Next; after == "" {
			return out, nil
		}
	}
}

func cursor(skip int, after string) string { return strconv.Itoa(skip) + "." + after }

func cutCursor(cursor string) (skip int, after string, err error) {
	if cursor == "" {
		return 0, "", nil
	}
	n, after, ok := strings.Cut(cursor, ".")
	if skip, err = strconv.Atoi(n); err != nil || !ok || skip < 0 {
		return 0, "", slipway.Errorf(slipway.Invalid, "the cursor is not one that a list returned").
			WithHint("start again without a cursor")
	}
	return skip, after, nil
}

func rowsOf(tasks []slipway.Task) []TaskRow {
	var out []TaskRow
	for _, t := range tasks {
		out = append(out, TaskRow{t})
	}
	return out
}

// Task returns the page of one task.
func (r *Reader) Task(ctx context.Context, c slipway.Caller, id int64) (TaskPage, error) {
	return read(ctx, r, c, func(tx *store.Tx) (TaskPage, error) {
		t, err := seenTask(ctx, tx, c, id)
		if err != nil {
			return TaskPage{}, err
		}
		return taskPage(ctx, tx, t)
	})
}

func seenTask(ctx context.Context, tx *store.Tx, c slipway.Caller, id int64) (slipway.Task, error) {
	t, err := tx.Task(ctx, id)
	if err == nil && !seesTask(c, t) {
		return slipway.Task{}, missing("task %d", id)
	}
	return t, err
}

func taskPage(ctx context.Context, tx *store.Tx, t slipway.Task) (p TaskPage, err error) {
	p.Task = t
	if t.ApplicationID != 0 {
		if p.Application, err = tx.Application(ctx, t.ApplicationID); err != nil {
			return p, err
		}
	}
	if t.ChangeID != 0 {
		if p.Change, err = tx.Change(ctx, t.ChangeID); err != nil {
			return p, err
		}
	}
	if p.Steps, err = steps(ctx, tx, t); err != nil {
		return p, err
	}
	if t.ParentStepID != 0 {
		parent, err := tx.Step(ctx, t.ParentStepID)
		if err != nil {
			return p, err
		}
		by, err := tx.Task(ctx, parent.TaskID)
		if err != nil {
			return p, err
		}
		p.StartedBy = &TaskRow{by}
	}
	if p.Planned, err = plannedSteps(ctx, tx, p); err != nil {
		return p, err
	}
	if p.Kept, err = kept(ctx, tx, t); err != nil {
		return p, err
	}
	if p.RetriedBy, err = tx.RetriedBy(ctx, t.ID); err != nil {
		return p, err
	}
	p.Retryable = t.Root() && p.RetriedBy == 0 && (t.State == slipway.Failed || t.State == slipway.Cancelled) &&
		p.Application.ID != 0 && p.Application.State != slipway.AppDeleted && (t.ChangeID == 0 || p.Change.Number == p.Application.LastChange)
	if p.Waiting, err = waitsFor(ctx, tx, t, p.Change); err != nil {
		return p, err
	}
	states, err := tx.ComponentStates(ctx, t.ApplicationID)
	if err != nil {
		return p, err
	}
	for _, st := range states {
		if st.Stopped && st.StoppedByTask == t.ID {
			p.Stopped = append(p.Stopped, st.Component)
		}
	}
	p.Seen, err = digest(p)
	return p, err
}

// steps reads a task's steps and, by one query, the tasks that they started.
func steps(ctx context.Context, tx *store.Tx, t slipway.Task) ([]Step, error) {
	list, err := tx.Steps(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	started := map[int64][]TaskRow{}
	if t.Root() {
		children, err := tx.ChildTasks(ctx, t.ID)
		if err != nil {
			return nil, err
		}
		for _, child := range children {
			started[child.ParentStepID] = append(started[child.ParentStepID], TaskRow{child})
		}
	}
	out := make([]Step, len(list))
	for i, s := range list {
		out[i] = Step{Step: s, Children: started[s.ID]}
	}
	return out, nil
}

// waitsFor lists whom a queued root task waits for.
func waitsFor(ctx context.Context, tx *store.Tx, t slipway.Task, ch slipway.Change) ([]TaskRow, error) {
	if t.State != slipway.Queued || !t.Root() || ch.Overtake || t.ApplicationID == 0 {
		return nil, nil
	}
	open, err := tx.Tasks(ctx, store.TaskFilter{ApplicationID: t.ApplicationID, Open: true, Root: true}, Page{Limit: store.MaxLimit})
	if err != nil {
		return nil, err
	}
	var before []TaskRow
	for i := len(open.Items) - 1; i >= 0; i-- {
		if open.Items[i].ID < t.ID {
			before = append(before, TaskRow{open.Items[i]})
		}
	}
	return before, nil
}

// digest stands for everything that a task's page shows. Two readings of an unchanged
// task have the same one.
func digest(p TaskPage) (string, error) {
	p.Application = slipway.Application{State: p.Application.State} // of the rest, the page shows what never changes
	b, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("digest task %d: %w", p.Task.ID, err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8]), nil
}

// Step returns one step of a task with everything that was kept of its output.
func (r *Reader) Step(ctx context.Context, c slipway.Caller, taskID, stepID int64) (slipway.Step, error) {
	return read(ctx, r, c, func(tx *store.Tx) (slipway.Step, error) {
		if _, err := seenTask(ctx, tx, c, taskID); err != nil {
			return slipway.Step{}, err
		}
		s, err := tx.Step(ctx, stepID)
		if err == nil && s.TaskID != taskID || slipway.Is(err, slipway.NotFound) {
			return slipway.Step{}, missing("step %d of task %d", stepID, taskID)
		}
		return s, err
	})
}
