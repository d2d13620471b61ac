package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
)

const stepColumns = `id, task_id, seq, key, name, state, error, output, output_cut, started_at, ended_at`

func readStep(scan scan) (s slipway.Step, err error) {
	return s, scan(&s.ID, &s.TaskID, &s.Seq, &s.Key, &s.Name, &s.State, &s.Error, &s.Output, &s.OutputCut,
		at(&s.StartedAt), at(&s.EndedAt))
}

// OpenStep starts a step of a task that the caller holds. When the task has a step of this
// key that is open or succeeded, that one is returned: its work is to be taken up, or is
// done.
func (tx *Tx) OpenStep(ctx context.Context, taskID, epoch int64, key, name string) (slipway.Step, error) {
	if err := tx.HoldTask(ctx, taskID, epoch); err != nil {
		return slipway.Step{}, fmt.Errorf("open step %s: %w", key, err)
	}
	s, err := one(ctx, tx, "step", readStep, `SELECT `+stepColumns+` FROM steps WHERE task_id = ? AND key = ? AND state IN (?, ?)`,
		taskID, key, slipway.StepRunning, slipway.StepSucceeded)
	if err == nil || !slipway.Is(err, slipway.NotFound) {
		return s, err
	}
	id, err := tx.insert(ctx, `INSERT INTO steps (task_id, seq, key, name, state, error, output, output_cut, started_at)
		SELECT CAST(? AS BIGINT), COALESCE(MAX(seq), 0) + 1, ?, ?, ?, '', '', ?, ? FROM steps WHERE task_id = ? RETURNING id`,
		taskID, key, name, slipway.StepRunning, false, tx.Now, taskID)
	if err != nil {
		return s, fmt.Errorf("open step %s of task %d: %w", key, taskID, err)
	}
	return tx.Step(ctx, id)
}

// CloseStep ends a step of a task that the caller holds. It is stale when the step is
// closed already.
func (tx *Tx) CloseStep(ctx context.Context, id, epoch int64, state slipway.StepState, message string) error {
	s, err := tx.Step(ctx, id)
	if err != nil {
		return err
	}
	if err := tx.HoldTask(ctx, s.TaskID, epoch); err != nil {
		return fmt.Errorf("close step %d: %w", id, err)
	}
	n, err := tx.exec(ctx, `UPDATE steps SET state = ?, error = ?, ended_at = ? WHERE id = ? AND state = ?`,
		state, message, tx.Now, id, slipway.StepRunning)
	if err != nil {
		return fmt.Errorf("close step %d: %w", id, err)
	}
	if n == 0 {
		return stale("close step %d", id)
	}
	return nil
}

// Step returns a step without its notes and runs.
func (tx *Tx) Step(ctx context.Context, id int64) (slipway.Step, error) {
	return one(ctx, tx, fmt.Sprintf("step %d", id), readStep, `SELECT `+stepColumns+` FROM steps WHERE id = ?`, id)
}

// SetStepOutput replaces what is kept of a failed command's output. The text is redacted
// and cut before it comes here.
func (tx *Tx) SetStepOutput(ctx context.Context, id int64, output string, outputCut bool) error {
	n, err := tx.exec(ctx, `UPDATE steps SET output = ?, output_cut = ? WHERE id = ?`, output, outputCut, id)
	if err != nil {
		return fmt.Errorf("keep the output of step %d: %w", id, err)
	}
	if n == 0 {
		return slipway.Errorf(slipway.NotFound, "there is no step %d", id)
	}
	return nil
}

// AddStepNote adds a line to a step. The same line twice is kept once: after a crash a
// step's work is taken up and says the same again.
func (tx *Tx) AddStepNote(ctx context.Context, id int64, text string) error {
	var there int64
	err := tx.value(ctx, []any{&there}, `SELECT id FROM step_notes WHERE step_id = ? AND text = ?`, id, text)
	if err == nil {
		return nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("note on step %d: %w", id, err)
	}
	if _, err := tx.exec(ctx, `INSERT INTO step_notes (step_id, text, at) VALUES (?, ?, ?)`, id, text, tx.Now); err != nil {
		return fmt.Errorf("note on step %d: %w", id, orMissing(err, "there is no step %d", id))
	}
	return nil
}

// Steps lists the steps of a task in their order, with their notes and runs.
func (tx *Tx) Steps(ctx context.Context, taskID int64) ([]slipway.Step, error) {
	steps, err := all(ctx, tx, readStep, `SELECT `+stepColumns+` FROM steps WHERE task_id = ? ORDER BY seq`, taskID)
	if err != nil {
		return nil, fmt.Errorf("list the steps of task %d: %w", taskID, err)
	}
	place := make(map[int64]*slipway.Step, len(steps))
	for i := range steps {
		place[steps[i].ID] = &steps[i]
	}
	type note struct {
		step int64
		text string
	}
	notes, err := all(ctx, tx, func(scan scan) (n note, err error) { return n, scan(&n.step, &n.text) },
		`SELECT n.step_id, n.text FROM step_notes n JOIN steps s ON s.id = n.step_id WHERE s.task_id = ? ORDER BY n.id`, taskID)
	if err != nil {
		return nil, fmt.Errorf("list the notes of task %d: %w", taskID, err)
	}
	for _, n := range notes {
		place[n.step].Notes = append(place[n.step].Notes, n.text)
	}
	runs, err := all(ctx, tx, readActionRun, actionRunSelect+` JOIN steps s ON s.id = r.step_id WHERE s.task_id = ? ORDER BY r.id`, taskID)
	if err != nil {
		return nil, fmt.Errorf("list the action runs of task %d: %w", taskID, err)
	}
	for _, r := range runs {
		place[r.StepID].Runs = append(place[r.StepID].Runs, r)
	}
	return steps, nil
}
