package slipway

// RunnerService is one [services.<name>] of a runner application: a pool as a team writes
// it, with the defaults filled in, so that a later default changes no accepted revision.
type RunnerService struct {
	Size      string           `json:"size"`
	Resources ServiceResources `json:"resources"` // the size's, but for what was written
	Replicas  int              `json:"replicas"`
	Actions   RunnerActions    `json:"actions"`
}

// ServiceResources are what one runner, with its Docker daemon and its sandbox, reserves and
// may use. Quantities are in their one form: 250m or 2 of a processor, 768Mi or 4Gi of
// memory.
type ServiceResources struct {
	Requests ServiceQuantities `json:"requests"`
	Limits   ServiceQuantities `json:"limits"`
}

// ServiceQuantities are an amount of both resources.
type ServiceQuantities struct {
	CPU    string `json:"cpu"`
	Memory string `json:"memory"`
}

// RunnerActions is [services.<name>.actions]: whose jobs the runners take, and when there
// are how many.
type RunnerActions struct {
	Forge          ForgeKind        `json:"forge,omitempty"`
	Organization   string           `json:"organization,omitempty"` // GitHub's, or Repository
	Repository     string           `json:"repository,omitempty"`   // owner/name
	RunnerGroupID  int64            `json:"runner_group_id,omitempty"`
	Workspace      string           `json:"workspace,omitempty"` // Bitbucket's, or Repository
	Group          string           `json:"group,omitempty"`     // GitLab's, or Project: acme/tools
	Project        string           `json:"project,omitempty"`   // acme/tools/shop
	BaseURL        string           `json:"base_url,omitempty"`  // of a server of one's own; empty: the public one
	Credential     string           `json:"credential"`          // the name of a secret
	JobsCredential string           `json:"jobs_credential,omitempty"`
	Labels         []string         `json:"labels"`
	Architecture   Architecture     `json:"architecture"`
	NodeName       string           `json:"node_name,omitempty"`
	TimeoutMinutes int              `json:"timeout_minutes"`
	WorkspaceGiB   int              `json:"workspace_size_gib"`
	IdleSeconds    int              `json:"idle_seconds,omitempty"` // 0: a fixed pool
	MinReplicas    int              `json:"min_replicas,omitempty"`
	Spare          int              `json:"spare,omitempty"`
	Priority       int              `json:"priority,omitempty"`
	Schedules      []RunnerSchedule `json:"schedules,omitempty"`
}

// RunnerSchedule gives other numbers in a window of the week. A nil number is the pool's
// own; where several windows cover a moment the highest number counts.
type RunnerSchedule struct {
	Days        []string `json:"days"` // mon … sun, in the order of the week
	From        string   `json:"from"` // 08:00
	To          string   `json:"to"`   // 18:00; at or before From: on the next day
	TimeZone    string   `json:"time_zone"`
	MinReplicas *int     `json:"min_replicas,omitempty"`
	Spare       *int     `json:"spare,omitempty"`
}

// Kind is what an application with this spec is.
func (s ApplicationSpec) Kind() ApplicationKind {
	if len(s.Services) > 0 {
		return RunnerApplication
	}
	return DriverApplication
}
