package spec

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// flattenService puts the lines of one pool. A credential is the name of a secret, and is
// shown as such.
func flattenService(put func(path, text string), path string, s slipway.RunnerService) {
	number := func(path string, n int64) {
		if n != 0 {
			put(path, strconv.FormatInt(n, 10))
		}
	}
	secret := func(path, name string) {
		if name != "" {
			put(path, "secret "+name)
		}
	}
	put(path+".size", s.Size)
	put(path+".resources.requests.cpu", s.Resources.Requests.CPU)
	put(path+".resources.requests.memory", s.Resources.Requests.Memory)
	put(path+".resources.limits.cpu", s.Resources.Limits.CPU)
	put(path+".resources.limits.memory", s.Resources.Limits.Memory)
	number(path+".replicas", int64(s.Replicas))
	a, path := s.Actions, path+".actions"
	put(path+".forge", string(a.Forge))
	put(path+".organization", a.Organization)
	put(path+".repository", a.Repository)
	number(path+".runner_group_id", a.RunnerGroupID)
	put(path+".workspace", a.Workspace)
	put(path+".group", a.Group)
	put(path+".project", a.Project)
	put(path+".base_url", a.BaseURL)
	secret(path+".credential", a.Credential)
	secret(path+".jobs_credential", a.JobsCredential)
	put(path+".labels", strings.Join(a.Labels, ", "))
	put(path+".architecture", string(a.Architecture))
	put(path+".node_name", a.NodeName)
	number(path+".timeout_minutes", int64(a.TimeoutMinutes))
	number(path+".workspace_size_gib", int64(a.WorkspaceGiB))
	number(path+".idle_seconds", int64(a.IdleSeconds))
	number(path+".min_replicas", int64(a.MinReplicas))
	number(path+".spare", int64(a.Spare))
	number(path+".priority", int64(a.Priority))
	for i, w := range a.Schedules {
		put(item(path+".schedules", i), scheduleText(w))
	}
}

// scheduleText is a window in a line: "mon–fri 08:00–18:00 Europe/Rome: min_replicas 2".
func scheduleText(w slipway.RunnerSchedule) string {
	var numbers []string
	if w.MinReplicas != nil {
		numbers = append(numbers, "min_replicas "+strconv.Itoa(*w.MinReplicas))
	}
	if w.Spare != nil {
		numbers = append(numbers, "spare "+strconv.Itoa(*w.Spare))
	}
	return strings.Join(w.Days, " ") + " " + w.From + "–" + w.To + " " + w.TimeZone + ": " + strings.Join(numbers, ", ")
}

// The tables of a runner application as FormatApplication writes them.
type (
	quantitiesForm struct {
		CPU    string `toml:"cpu"`
		Memory string `toml:"memory"`
	}
	resourcesForm struct {
		Requests quantitiesForm `toml:"requests"`
		Limits   quantitiesForm `toml:"limits"`
	}
	scheduleForm struct {
		Days        []string `toml:"days"`
		From        string   `toml:"from"`
		To          string   `toml:"to"`
		TimeZone    string   `toml:"time_zone"`
		MinReplicas *int     `toml:"min_replicas,omitempty"`
		Spare       *int     `toml:"spare,omitempty"`
	}
	runnerActionsForm struct {
		Forge          string         `toml:"forge,omitempty"`
		Organization   string         `toml:"organization,omitempty"`
		Repository     string         `toml:"repository,omitempty"`
		RunnerGroupID  int64          `toml:"runner_group_id,omitempty"`
		Workspace      string         `toml:"workspace,omitempty"`
		Group          string         `toml:"group,omitempty"`
		Project        string         `toml:"project,omitempty"`
		BaseURL        string         `toml:"base_url,omitempty"`
		Credential     string         `toml:"credential"`
		JobsCredential string         `toml:"jobs_credential,omitempty"`
		Labels         []string       `toml:"labels"`
		Architecture   string         `toml:"architecture"`
		NodeName       string         `toml:"node_name,omitempty"`
		TimeoutMinutes int            `toml:"timeout_minutes"`
		WorkspaceGiB   int            `toml:"workspace_size_gib"`
		IdleSeconds    int            `toml:"idle_seconds,omitempty"`
		MinReplicas    int            `toml:"min_replicas,omitempty"`
		Spare          int            `toml:"spare,omitempty"`
		Priority       int            `toml:"priority,omitempty"`
		Schedules      []scheduleForm `toml:"schedules,omitempty"`
	}
	serviceForm struct {
		Size      string            `toml:"size"`
		Replicas  int               `toml:"replicas"`
		Resources *resourcesForm    `toml:"resources,omitempty"`
		Actions   runnerActionsForm `toml:"actions"`
	}
)

// runnerForm is the TOML of a runner application. What a size gives anyway is left out.
func runnerForm(s slipway.ApplicationSpec) any {
	out := struct {
		SchemaVersion int                    `toml:"schema_version"`
		Name          string                 `toml:"name"`
		Services      map[string]serviceForm `toml:"services"`
	}{s.SchemaVersion, s.Name, map[string]serviceForm{}}
	for _, name := range slices.Sorted(maps.Keys(s.Services)) {
		x := s.Services[name]
		a := x.Actions
		f := serviceForm{Size: x.Size, Replicas: x.Replicas, Actions: runnerActionsForm{
			Forge: string(a.Forge), Organization: a.Organization, Repository: a.Repository, RunnerGroupID: a.RunnerGroupID,
			Workspace: a.Workspace, Group: a.Group, Project: a.Project, BaseURL: a.BaseURL,
			Credential: a.Credential, JobsCredential: a.JobsCredential, Labels: a.Labels, Architecture: string(a.Architecture),
			NodeName: a.NodeName, TimeoutMinutes: a.TimeoutMinutes, WorkspaceGiB: a.WorkspaceGiB, IdleSeconds: a.IdleSeconds,
			MinReplicas: a.MinReplicas, Spare: a.Spare, Priority: a.Priority,
		}}
		if x.Resources != runnerSizes[x.Size] {
			f.Resources = &resourcesForm{quantitiesForm(x.Resources.Requests), quantitiesForm(x.Resources.Limits)}
		}
		for _, w := range a.Schedules {
			f.Actions.Schedules = append(f.Actions.Schedules, scheduleForm(w))
		}
		out.Services[name] = f
	}
	return out
}
