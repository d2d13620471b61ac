package api

import (
	"cmp"
	"context"
	"errors"

	"slipway.dev/slipway/internal/joblog"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerRunners() {
	register(s, "list-runner-pools", s.listRunnerPools)
	register(s, "get-actions", s.getActions)
	register(s, "pause-pools", s.pausePools)
	register(s, "resume-pools", s.resumePools)
	register(s, "forget-runners", s.forgetRunners)
	register(s, "list-slots", s.listSlots)
	register(s, "list-jobs", s.listJobs)
	register(s, "get-job", s.getJob)
	register(s, "get-job-log", s.getJobLog)
}

func (s *service) listRunnerPools(ctx context.Context, c slipway.Caller, in *struct {
	Project     string `query:"project" maxLength:"40" doc:"Only those of a project."`
	Environment string `query:"environment" maxLength:"40" doc:"Only those of an environment of that name."`
},
) (*answer[wire.List[wire.RunnerPool]], error) {
	rows, err := s.View.RunnerPools(ctx, c, view.PoolFilter{Project: in.Project, Environment: in.Environment})
	return listing(view.List[view.PoolRow]{Items: rows}, err, wirePool)
}

func (s *service) getActions(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	Limit int `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"How many slots and jobs of a kind at most."`
},
) (*answer[wire.Actions], error) {
	p, err := s.View.Actions(ctx, c, in.Application, view.PageSize{Slots: in.Limit, Closed: in.Limit, Jobs: in.Limit, Recent: in.Limit})
	if err != nil {
		return nil, err
	}
	out := wire.Actions{
		ApplicationID: p.Application.ID, Application: p.Application.Ref(), Pools: []wire.RunnerPool{}, Slots: wireSlots(p.Open), SlotsAll: p.OpenAll,
		Closed: wireSlots(p.Closed), Queue: wireJobs(p.Queue), QueueAll: p.QueueAll, Recent: wireJobs(p.Recent),
	}
	for _, row := range p.Pools {
		w := wirePool(row)
		for _, slot := range p.Open {
			if r, registered := observed(slot); registered && slot.PoolID == row.ID {
				w.Observed.Runners = append(w.Observed.Runners, r)
			}
		}
		out.Pools = append(out.Pools, w)
	}
	return reply(out, nil)
}

func (s *service) listSlots(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	Page
	Pool string `query:"pool" maxLength:"40" doc:"Only those of a service."`
	Open bool   `query:"open" doc:"Only those that are not closed."`
},
) (*answer[wire.List[wire.Slot]], error) {
	l, err := s.View.Slots(ctx, c, in.Application, in.Pool, in.Open, in.view())
	return listing(l, err, wireSlot)
}

func (s *service) listJobs(ctx context.Context, c slipway.Caller, in *struct {
	ApplicationPath
	Page
	State string `query:"state" enum:"waiting,queued,in_progress,completed" doc:"Only those in a state."`
	Run   int64  `query:"run" minimum:"1" doc:"Only those of a run, of all its attempts."`
},
) (*answer[wire.List[wire.Job]], error) {
	l, err := s.View.Jobs(ctx, c, in.Application, view.JobsFilter{State: slipway.JobState(in.State), RunID: in.Run}, in.view())
	return listing(l, err, wireJob)
}

// JobPath is the part of a request that names a job.
type JobPath struct {
	Host string `path:"host" maxLength:"253" pattern:"^[A-Za-z0-9.-]+(:[0-9]+)?$" doc:"Of the forge." example:"github.com"`
	Job  int64  `path:"job" minimum:"1" doc:"The forge's ID."`
}

func (s *service) getJob(ctx context.Context, c slipway.Caller, in *struct {
	JobPath
	Steps bool `query:"steps" doc:"Also ask the forge for the job's steps."`
},
) (*answer[wire.Job], error) {
	p, err := s.View.Job(ctx, c, slipway.ForgeHost(in.Host), in.Job)
	if err != nil {
		return nil, err
	}
	row := view.JobRow{Job: p.Job, Why: p.Why, Service: p.Pool.Service}
	if p.Slot != nil {
		row.Slot = p.Slot.ID
	}
	out := wireJob(row)
	if !p.Known {
		out.State = "unknown"
	}
	if in.Steps {
		steps, err := s.jobSteps(ctx, p)
		out.Steps = steps
		if err != nil {
			out.StepsError = s.inWords(ctx, c, err)
		}
	}
	return reply(out, nil)
}

func (s *service) jobSteps(ctx context.Context, p view.JobPage) ([]wire.JobStep, error) {
	if err := s.readable(p); err != nil {
		return nil, err
	}
	steps, err := s.Jobs.Steps(ctx, p.Pool, p.Job)
	if err != nil {
		return nil, err
	}
	out := []wire.JobStep{}
	for _, st := range steps {
		out = append(out, wire.JobStep{Number: st.Number, Name: st.Name, Status: st.Status, Conclusion: st.Conclusion, StartedAt: when(st.StartedAt), EndedAt: when(st.EndedAt)})
	}
	return out, nil
}

// inWords is an error as the caller reads it; the log has the rest.
func (s *service) inWords(ctx context.Context, c slipway.Caller, err error) string {
	var fault *slipway.Error
	if errors.As(err, &fault) && fault.Kind != slipway.Internal {
		return fault.Msg
	}
	s.Log.ErrorContext(ctx, "a job's steps were not read", "request_id", c.RequestID, "error", err)
	return "the forge's answer was not understood; the server's log has the cause under request " + c.RequestID
}

// readable refuses what cannot be read at the forge, or is not the caller's to read.
func (s *service) readable(p view.JobPage) error {
	switch {
	case !p.Known:
		return slipway.Errorf(slipway.NotFound, "there is no job %d of %s, or you may not see it", p.ID, p.Host).WithHint("%s", p.Why.Sentence)
	case p.Pool.ID == 0:
		return slipway.Errorf(slipway.Conflict, "no pool that you see runs this job, and so there is no credential to read it with").
			WithHint("see it at %s", cmp.Or(p.URL, p.Host))
	case s.Jobs == nil:
		return slipway.Errorf(slipway.Unavailable, "this server does not reach the forge")
	}
	return nil
}

func (s *service) getJobLog(ctx context.Context, c slipway.Caller, in *struct {
	JobPath
	Search string `query:"search" maxLength:"200" doc:"Only lines with this in them, without regard to case."`
	After  int    `query:"after" minimum:"0" doc:"Only lines behind the one of this number."`
	Limit  int    `query:"limit" minimum:"1" maximum:"5000" default:"1000" doc:"How many lines at most."`
},
) (*answer[wire.JobLog], error) {
	p, err := s.View.Job(ctx, c, slipway.ForgeHost(in.Host), in.Job)
	if err != nil {
		return nil, err
	}
	if err := s.readable(p); err != nil {
		return nil, err
	}
	l, err := joblog.Fetch(ctx, s.Jobs, p.Pool, p.Job, joblog.Query{Search: in.Search, After: in.After, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	out := wire.JobLog{Lines: make([]wire.LogLine, len(l.Lines)), Read: l.Read, Next: l.Next, Cut: l.Cut}
	for i, line := range l.Lines {
		out.Lines[i] = wire.LogLine{Number: line.Number, At: when(line.At), Text: line.Text}
	}
	return reply(out, nil)
}
