package slipway

import "time"

// Audit is one line of the record of who did what. Before and After are JSON objects of
// the noun without any secret value, either may be empty.
type Audit struct {
	ID        int64
	At        time.Time
	User      string
	TokenID   int64
	Remote    string
	RequestID string
	Action    string // application.deploy, user.deactivate, secret.set
	Noun      string // application
	NounID    int64
	NounName  string // shop/production/guestbook
	Before    []byte
	After     []byte
}

// Event says that something changed and must be read again; it carries no state. The
// event stream and the pages wake by it.
type Event struct {
	ID          int64
	At          time.Time
	Kind        string // task.changed, step.changed, application.changed, driver.loaded
	Noun        string
	NounID      int64
	Project     string // empty: concerns the installation
	Environment string
}
