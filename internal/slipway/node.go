package slipway

import "time"

// ClusterView is what was last seen of the cluster's nodes.
type ClusterView struct {
	RuntimeClass bool      // the sandbox that runner pods need is there
	LookedAt     time.Time // the last look that saw everything; zero: none has
	Missed       string    // why the newest look saw nothing, in words; empty: it did
	Nodes        []Node
}

// Node is one machine of the cluster.
type Node struct {
	Name         string       `json:"name"`
	Ready        bool         `json:"ready"`
	Schedulable  bool         `json:"schedulable"` // not cordoned
	Architecture Architecture `json:"architecture"`
	Runners      bool         `json:"runners"`          // prepared for runner pods: it has the label
	Taints       []string     `json:"taints,omitempty"` // that keep runner pods away
	CPU          Amount       `json:"cpu_m"`
	Memory       Amount       `json:"memory"`    // bytes
	Disk         Amount       `json:"ephemeral"` // bytes of ephemeral storage
	Pods         Amount       `json:"pods"`
	Absent       bool         `json:"absent,omitempty"` // the newest look did not list it, which once means little
	Gone         time.Time    `json:"gone,omitzero"`    // not listed by a second look either, since then; zero: it was
}

// Amount is how much there is for pods, and how much of it pods have reserved.
type Amount struct {
	Allocatable int64 `json:"allocatable"`
	Requested   int64 `json:"requested"`
}

// Free is what is not reserved.
func (a Amount) Free() int64 { return max(0, a.Allocatable-a.Requested) }
