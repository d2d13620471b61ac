package spec

import (
	"slices"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Pool is what a service of an accepted spec asks of its pool.
func Pool(s slipway.RunnerService) slipway.PoolSpec {
	a := s.Actions
	out := slipway.PoolSpec{
		Scope:      poolScope(a),
		Credential: a.Credential, JobsCredential: a.JobsCredential, Labels: slices.Clone(a.Labels), Architecture: a.Architecture,
		Replicas: s.Replicas, Minimum: a.MinReplicas, Spare: a.Spare,
		Idle: time.Duration(a.IdleSeconds) * time.Second, Timeout: time.Duration(a.TimeoutMinutes) * time.Minute,
		Priority: a.Priority, Resources: Amounts(s.Resources), WorkspaceGiB: a.WorkspaceGiB, NodeName: a.NodeName,
	}
	for _, w := range a.Schedules {
		window := slipway.PoolSchedule{From: w.From, To: w.To, TimeZone: w.TimeZone, Minimum: a.MinReplicas, Spare: a.Spare}
		if w.MinReplicas != nil {
			window.Minimum = *w.MinReplicas
		}
		if w.Spare != nil {
			window.Spare = *w.Spare
		}
		for _, d := range w.Days {
			window.Days = append(window.Days, time.Weekday((slices.Index(weekdays, d)+1)%7))
		}
		out.Schedules = append(out.Schedules, window)
	}
	return out
}

func poolScope(a slipway.RunnerActions) slipway.ForgeScope {
	s := slipway.ForgeScope{Forge: a.Forge, BaseURL: a.BaseURL, Owner: a.Organization, Group: a.RunnerGroupID}
	if a.Group != "" {
		s.Owner = a.Group
	}
	if a.Workspace != "" {
		s.Owner = a.Workspace
	}
	if whole := a.Repository + a.Project; whole != "" { // one of the two
		last := strings.LastIndex(whole, "/")
		s.Owner, s.Repository = whole[:max(last, 0)], whole[last+1:]
	}
	return s
}
