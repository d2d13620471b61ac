package slipway

import "time"

// Installation is one Slipway: its database, its servers, its cluster.
type Installation struct {
	ID         string // UUID, made at the first start, never changed; tags everything we create outside
	ExternalID string // short and unguessable; goes where an ID is shown to a third party
	CreatedAt  time.Time
	SetupDone  bool // the first administrator exists
}

// Replica is one running process of an installation. ID is new at every start, so a
// replica that beats no more is dead for ever.
type Replica struct {
	ID        string
	Host      string // hostname and boot ID, to tell whether its child processes can be ours
	Role      string // api, worker or all
	Version   string
	StartedAt time.Time
	SeenAt    time.Time
}
