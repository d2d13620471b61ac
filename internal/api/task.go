package api

import (
	"context"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerTasks() {
	register(s, "list-tasks", s.listTasks)
	register(s, "get-task", s.getTask)
	register(s, "cancel-task", s.cancelTask)
	register(s, "plan-retry", s.planRetry)
	register(s, "retry-task", s.retryTask)
	register(s, "get-step-output", s.getStepOutput)
	register(s, "add-step-note", s.addStepNote)
}

// TaskPath is the part of a request that names a task.
type TaskPath struct {
	Task int64 `path:"task" minimum:"1"`
}

// StepPath is the part of a request that names a step of a task.
type StepPath struct {
	TaskPath
	Step int64 `path:"step" minimum:"1"`
}

func wireTask(t slipway.Task) wire.Task {
	return wire.Task{
		ID: t.ID, Kind: string(t.Kind), Type: t.Kind.Title(), Title: t.Title, ApplicationID: t.ApplicationID, Application: t.Application,
		Change: t.ChangeNumber, RootID: t.RootID, State: string(t.State), RequestedBy: t.RequestedBy, CancelledBy: t.CancelledBy,
		Error: t.Error, Hint: t.Hint, Result: t.Result, CreatedAt: t.CreatedAt, StartedAt: when(t.StartedAt), EndedAt: when(t.EndedAt),
		RetryOf: t.RetryOf, Attempt: t.Attempt,
	}
}

func (s *service) listTasks(ctx context.Context, c slipway.Caller, in *struct {
	Page
	Application int64  `query:"application" minimum:"1" doc:"Only those of an application."`
	State       string `query:"state" enum:"queued,running,succeeded,failed,cancelled" doc:"Only those in a state."`
	Open        bool   `query:"open" doc:"Only those that have not ended."`
	Root        bool   `query:"root" doc:"Leave out those that actions started."`
},
) (*answer[wire.List[wire.Task]], error) {
	l, err := s.View.Tasks(ctx, c, view.TaskFilter{
		ApplicationID: in.Application, State: slipway.TaskState(in.State), Open: in.Open, Children: !in.Root,
	}, in.view())
	return listing(l, err, func(r view.TaskRow) wire.Task { return wireTask(r.Task) })
}

func (s *service) getTask(ctx context.Context, c slipway.Caller, in *struct {
	TaskPath
	Waiting
	Seen string `query:"seen" maxLength:"200" doc:"With wait: the version that the caller has seen."`
},
) (*answer[wire.Task], error) {
	var p view.TaskPage
	err := s.until(ctx, in.Waiting, func(ctx context.Context) (news bool, err error) {
		p, err = s.View.Task(ctx, c, in.Task)
		return p.Seen != in.Seen, err
	})
	if err != nil {
		return nil, err
	}
	return reply(s.wireTaskPage(p), nil)
}

func (s *service) wireTaskPage(p view.TaskPage) wire.Task {
	ui := ""
	if s.PrefectUI != nil {
		ui = s.PrefectUI()
	}
	t := wireTask(p.Task)
	t.Version, t.RetriedBy = p.Seen, p.RetriedBy
	for _, k := range p.Kept {
		t.Kept = append(t.Kept, wire.KeptStep{Key: k.Key, Name: k.Name, TaskID: k.Task})
	}
	if p.StartedBy != nil {
		t.StartedBy = &wire.StartedBy{TaskID: p.StartedBy.ID, Type: p.StartedBy.Kind.Title()}
	}
	for _, step := range p.Steps {
		t.Steps = append(t.Steps, wireStep(step, ui))
	}
	return t
}

func wireStep(x view.Step, prefectUI string) wire.Step {
	out := wire.Step{
		ID: x.ID, Seq: x.Seq, Key: x.Key, Name: x.Name, State: string(x.State), Error: x.Error, Notes: x.Notes,
		StartedAt: x.StartedAt, EndedAt: when(x.EndedAt),
	}
	if x.Output != "" {
		lines := strings.Split(strings.TrimSuffix(x.Output, "\n"), "\n")
		out.Output = &wire.StepOutput{Lines: len(lines), Cut: x.OutputCut, Tail: lines[max(0, len(lines)-wire.OutputTail):]}
	}
	for _, c := range x.Children {
		out.Tasks = append(out.Tasks, wire.LinkedTask{ID: c.ID, Type: c.Kind.Title(), State: string(c.State), Error: c.Error})
	}
	for _, r := range x.Runs {
		out.Runs = append(out.Runs, wire.ActionRun{Action: r.Action, FlowRunID: r.FlowRunID, URL: r.Page(prefectUI), State: r.State, StartedAt: when(r.StartedAt), EndedAt: when(r.EndedAt)})
	}
	return out
}

func (s *service) cancelTask(ctx context.Context, c slipway.Caller, in *TaskPath) (*answer[wire.Task], error) {
	t, err := s.Change.CancelTask(ctx, c, in.Task)
	return reply(wireTask(t), err)
}

func (s *service) getStepOutput(ctx context.Context, c slipway.Caller, in *StepPath) (*answer[wire.Output], error) {
	step, err := s.View.Step(ctx, c, in.Task, in.Step)
	return reply(wire.Output{Text: step.Output, Cut: step.OutputCut}, err)
}

func (s *service) addStepNote(ctx context.Context, c slipway.Caller, in *struct {
	StepPath
	Keyed
	Body wire.NewNote
},
) (*nothing, error) {
	return nil, s.Change.AddStepNote(ctx, c, in.Task, in.Step, in.Body.Text)
}
