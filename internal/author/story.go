package author

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"slipway.dev/slipway/internal/reconcile/application"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// story is one test being played.
type story struct {
	*stage
	preview  Preview
	cluster  *cluster
	revision int64
	result   TestResult
}

func picked(name, only string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(only))
}

// test plays one test and compares it with what was expected. The error is for a stage
// that does not work.
func (s *stage) test(ctx context.Context, all spec.DriverTests, t spec.DriverTest) (TestResult, error) {
	began := time.Now()
	y := &story{stage: s, result: TestResult{Name: t.Name, Line: t.Line, Faults: []slipway.FieldError{}, Tasks: []TaskResult{}}}
	err := y.prepare(all, t)
	if err == nil {
		err = y.play(ctx, t)
	}
	var broken *brokenStage
	switch {
	case asBroken(err, &broken):
		return y.result, broken.err
	case ctx.Err() != nil:
		return y.result, context.Cause(ctx)
	}
	y.compare(t, err)
	y.result.Passed = len(y.result.Faults) == 0
	y.result.Took = time.Since(began)
	return y.result, nil
}

// prepare gathers the application of a test.
func (y *story) prepare(all spec.DriverTests, t spec.DriverTest) error {
	d := y.o.Report.Spec
	y.preview = Preview{Bundle: y.o.Bundle, Spec: d}
	file := all.Application
	if t.Application != "" {
		file = t.Application
	}
	if file != "" {
		src, _ := y.o.Bundle.File(file) // it is there, as the reading of the tests has checked
		app, err := spec.ParseApplication(src, file)
		if err != nil {
			return err
		}
		y.preview.App, y.preview.At = app, spec.PositionsOf(src, file)
	} else {
		parameters, err := spec.ExampleParameters(d)
		if err != nil {
			return err
		}
		y.preview.App = spec.ExampleApplication(d, "", parameters)
	}
	app := &y.preview.App
	app.Parameters = merged(app.Parameters, t.Parameters)
	app.Components = merged(app.Components, t.Components)
	y.cluster = newCluster(y.tools, y.preview, t.Plays)
	return nil
}

func merged[V any](base, over map[string]V) map[string]V {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]V{}
	}
	maps.Copy(out, over)
	return out
}

// play carries the test out; its error is that of the install or upgrade.
func (y *story) play(ctx context.Context, t spec.DriverTest) error {
	if t.From != "" {
		if err := y.standing(ctx, t.From); err != nil {
			return err
		}
	}
	if t.Install != "" {
		if err := y.task(ctx, slipway.InstallTask, t.Install); err != nil {
			return err
		}
	}
	if t.Upgrade != "" {
		return y.task(ctx, slipway.UpgradeTask, t.Upgrade)
	}
	return nil
}

// standing puts a version on the cluster as if it had been installed before.
func (y *story) standing(ctx context.Context, version string) error {
	y.want(version)
	if err := y.preview.check(); err != nil {
		return err
	}
	frozen, err := y.preview.context(contextChange{kind: slipway.InstallTask, number: y.revision, revision: y.revision})
	if err != nil {
		return err
	}
	return y.cluster.apply(ctx, frozen, y.revision)
}

// want accepts a revision with another version of the application.
func (y *story) want(version string) {
	y.revision++
	y.preview.App.App.Version = version
	y.cluster.preview = y.preview
}

// task goes through the phases of an install or an upgrade in the order in which the
// reconciler does: that order is the same function.
func (y *story) task(ctx context.Context, kind slipway.TaskKind, version string) error {
	from := y.cluster.version
	y.want(version)
	w := &taskRun{story: y, from: from}
	w.snap = application.Snapshot{
		Task:        slipway.Task{ID: y.cluster.nextTask(), Kind: kind, State: slipway.Running},
		Application: y.preview.application(),
		Change:      slipway.Change{ID: y.revision, Number: y.revision, Kind: slipway.ChangeKind(kind), Revision: y.revision},
		Wanted:      slipway.Revision{Number: y.revision, Spec: y.preview.App},
		Driver:      slipway.Driver{Name: y.preview.Spec.Name, Version: y.preview.Spec.Version, Digest: y.o.Bundle.Digest(), Spec: y.preview.Spec},
	}
	w.snap.Task.RootID = w.snap.Task.ID
	w.result.Title = fmt.Sprintf("%s %s %s", kind, y.preview.App.Name, version)
	if from != "" {
		before := y.preview.App
		before.App.Version = from
		w.snap.From = &slipway.Revision{Number: y.revision - 1, Spec: before}
		w.result.Title = fmt.Sprintf("%s %s from %s to %s", kind, y.preview.App.Name, from, version)
	}
	err := w.phases(ctx)
	if e, ok := errorOf(err); ok {
		w.result.Error, w.result.Hint = e.Msg, e.Hint
	} else if err != nil {
		w.result.Error = err.Error()
	}
	y.result.Tasks = append(y.result.Tasks, w.result)
	return err
}

// calls are all calls of the test, in order.
func (y *story) calls() []Call {
	var out []Call
	for _, t := range y.result.Tasks {
		for _, st := range t.Steps {
			for _, a := range st.Actions {
				for _, e := range a.Events {
					if e.Call != nil {
						out = append(out, *e.Call)
					}
				}
			}
		}
	}
	return out
}
