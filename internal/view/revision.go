package view

import (
	"context"
	"fmt"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// RevisionRow is one accepted spec, and what was new in it.
type RevisionRow struct {
	Number       int64
	AppVersion   string
	Driver       slipway.DriverRef
	DriverDigest string
	CreatedBy    string
	CreatedAt    time.Time
	Wanted       bool       // the newest accepted one
	Applied      bool       // the one on the cluster
	Change       int64      // the number of the change that brought it
	TaskID       int64      // the task that carried it out; 0 when it is not known
	Diff         []DiffLine // from the revision before; empty for the first
}

// RevisionPage is one revision with its whole spec.
type RevisionPage struct {
	Application slipway.Application
	Revision    slipway.Revision
	Row         RevisionRow
	Lines       []DiffLine // the whole spec as lines: Path and New; what sounds like a secret is masked
}

// DiffLine is one difference between two specs. An empty Old means that the path is new,
// an empty New that it is gone.
type DiffLine = spec.DiffLine

// Revisions lists the revisions of an application, the newest first.
func (r *Reader) Revisions(ctx context.Context, c slipway.Caller, applicationID int64, p Page) (List[RevisionRow], error) {
	return read(ctx, r, c, func(tx *store.Tx) (List[RevisionRow], error) {
		a, err := application(ctx, tx, c, applicationID)
		if err != nil {
			return List[RevisionRow]{}, err
		}
		return revisionRows(ctx, tx, a, p)
	})
}

// Revision returns one revision of an application.
func (r *Reader) Revision(ctx context.Context, c slipway.Caller, applicationID, number int64) (RevisionPage, error) {
	return read(ctx, r, c, func(tx *store.Tx) (page RevisionPage, err error) {
		if page.Application, err = application(ctx, tx, c, applicationID); err != nil {
			return page, err
		}
		if page.Revision, err = tx.Revision(ctx, applicationID, number); err != nil {
			return page, err
		}
		changes, err := changesOf(ctx, tx, applicationID)
		if err != nil {
			return page, err
		}
		var before slipway.ApplicationSpec
		if number > 1 {
			old, err := tx.Revision(ctx, applicationID, number-1)
			if err != nil {
				return page, err
			}
			before = old.Spec
		}
		page.Row = revisionRow(page.Application, page.Revision, before, changes)
		page.Lines = spec.Diff(slipway.ApplicationSpec{}, page.Revision.Spec)
		return page, nil
	})
}

func revisionRows(ctx context.Context, tx *store.Tx, a slipway.Application, p Page) (out List[RevisionRow], err error) {
	list, err := tx.Revisions(ctx, a.ID, p)
	if err != nil {
		return out, err
	}
	changes, err := changesOf(ctx, tx, a.ID)
	if err != nil {
		return out, err
	}
	out.Next = list.Next
	for i, rev := range list.Items {
		var before slipway.ApplicationSpec
		switch {
		case i+1 < len(list.Items):
			before = list.Items[i+1].Spec
		case rev.Number > 1:
			old, err := tx.Revision(ctx, a.ID, rev.Number-1)
			if err != nil {
				return out, err
			}
			before = old.Spec
		}
		out.Items = append(out.Items, revisionRow(a, rev, before, changes))
	}
	return out, nil
}

func revisionRow(a slipway.Application, rev slipway.Revision, before slipway.ApplicationSpec, changes map[int64]broughtBy) RevisionRow {
	row := RevisionRow{
		Number: rev.Number, AppVersion: rev.Spec.App.Version, Driver: rev.Spec.Driver, DriverDigest: rev.DriverDigest,
		CreatedBy: rev.CreatedBy, CreatedAt: rev.CreatedAt,
		Wanted: rev.Number == a.Revision, Applied: rev.Number == a.Applied,
		Change: changes[rev.Number].number, TaskID: changes[rev.Number].task,
	}
	if rev.Number > 1 {
		row.Diff = spec.Diff(before, rev.Spec)
	}
	return row
}

// broughtBy is the change that made a revision the wanted one.
type broughtBy struct{ number, task int64 }

// changesOf maps revisions to the changes that brought them. A later change may name a
// revision again, as a delete does; the first one brought it.
func changesOf(ctx context.Context, tx *store.Tx, applicationID int64) (map[int64]broughtBy, error) {
	rows, err := tx.SQL().QueryContext(ctx, `SELECT revision, number, COALESCE(task_id, 0) FROM changes
		WHERE application_id = $1 ORDER BY number`, applicationID)
	if err != nil {
		return nil, fmt.Errorf("read the changes of application %d: %w", applicationID, err)
	}
	defer rows.Close()
	out := map[int64]broughtBy{}
	for rows.Next() {
		var revision int64
		var by broughtBy
		if err := rows.Scan(&revision, &by.number, &by.task); err != nil {
			return nil, fmt.Errorf("read the changes of application %d: %w", applicationID, err)
		}
		if _, ok := out[revision]; !ok {
			out[revision] = by
		}
	}
	return out, rows.Err()
}
