package wire

import "time"

// DriftSummary says in short whether the cluster is as it was last applied.
type DriftSummary struct {
	State       string     `json:"state" enum:"unknown,none,drifted" doc:"unknown: no look has told anything yet."`
	Differences int        `json:"differences" doc:"How many there are."`
	CheckedAt   *time.Time `json:"checked_at,omitempty" doc:"When the cluster was last compared."`
	Missed      string     `json:"missed,omitempty" doc:"Why the last look told nothing; what is said is then of checked_at."`
}

// Drift says in what the cluster differs from what was last applied.
type Drift struct {
	State       string       `json:"state" enum:"unknown,none,drifted" doc:"unknown: no look has told anything yet."`
	Revision    int64        `json:"revision" doc:"The applied revision that was compared with; 0: none yet."`
	CheckedAt   *time.Time   `json:"checked_at,omitempty" doc:"When the cluster was last compared."`
	LookedAt    *time.Time   `json:"looked_at,omitempty" doc:"When the last look began, whatever came of it."`
	Missed      string       `json:"missed,omitempty" doc:"Why the last look told nothing; what is said is then of checked_at."`
	Since       *time.Time   `json:"since,omitempty" doc:"Since when something differs."`
	Differences []Difference `json:"differences" nullable:"false"`
	Unable      []string     `json:"unable,omitempty" nullable:"false" doc:"What could not be compared, and why."`
	Current     bool         `json:"current" doc:"With asked: a look that began then or later has had its say."`
}

// Difference is one thing that is not as it was applied.
type Difference struct {
	Object     string `json:"object" example:"Deployment web"`
	Component  string `json:"component,omitempty"`
	Kind       string `json:"kind" enum:"missing,changed,extra" doc:"extra: it carries the application's labels, and no change made it."`
	Path       string `json:"path,omitempty" example:"image of container web"`
	Applied    string `json:"applied,omitempty" doc:"Absent when nothing was applied there, or it is hidden."`
	Live       string `json:"live,omitempty" doc:"Absent when nothing is there, or it is hidden."`
	Hidden     bool   `json:"hidden,omitempty" doc:"The values are secret."`
	By         string `json:"by,omitempty" doc:"The program that wrote it last." example:"kubectl-edit"`
	Text       string `json:"text" doc:"The difference in one line, without the object." example:"replicas: 2 → 5"`
	Repairable bool   `json:"repairable" doc:"Whether a repair puts it right."`
}

// DriftCheck is the answer to a request to look now.
type DriftCheck struct {
	Asked time.Time `json:"asked" doc:"Give it as asked to wait for the look."`
}

// Repair asks for what drifted to be put back.
type Repair struct {
	ExpectedRevision int64 `json:"expected_revision" minimum:"1" doc:"The revision that the caller has seen. Another one is a conflict."`
}
