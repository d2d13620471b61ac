package slipway

import (
	"strings"
	"time"
)

// Connection is a forge's hook that sends to us: its secret, and where its jobs may wake
// pools.
type Connection struct {
	ID            int64
	Name          string // unique in the installation
	EnvironmentID int64  // whose pools its jobs may wake; 0: those of the whole installation
	Project       string
	Environment   string
	Forge         string // github
	BaseURL       string // of a GitHub Enterprise Server; empty: github.com
	Hook          string // the unguessable end of the URL that the forge sends to
	AppID         int64  // of the GitHub App whose hook it is; 0: a hook of a repository or organization
	AppURL        string // the App's page at the forge; empty: none is known
	AppCredential string // the secret that holds its credential, as project/environment/name; empty: none is known
	CreatedBy     string
	CreatedAt     time.Time
	LastDelivery  time.Time // of the newest that was taken
	RecoveredAt   time.Time // lost deliveries were last looked for
	RecoverError  string    // why that failed, in words; empty: it did not
}

// Delivery is one message of a forge, as it was taken. Its body is not kept.
type Delivery struct {
	ConnectionID int64
	GUID         string // a redelivery keeps it
	Event        string
	Action       string
	Outcome      DeliveryOutcome
	Why          string // beside Outcome, in words; may be empty
	JobID        int64  // 0: it is about none
	Size         int64  // of the body, in bytes
	ReceivedAt   time.Time
}

// DeliveryOutcome is what became of a delivery.
type DeliveryOutcome string

const (
	DeliveryTaken   DeliveryOutcome = "taken"   // a job moved by it
	DeliveryOld     DeliveryOutcome = "old"     // the job had come further already
	DeliveryIgnored DeliveryOutcome = "ignored" // an event that concerns nobody here
	DeliveryInvalid DeliveryOutcome = "invalid" // signed, and not to be understood
)

// WebhookPath is where the forge sends a connection's deliveries to, below the address of
// the installation.
func (c Connection) WebhookPath() string { return "/webhooks/" + c.Forge + "/" + c.Hook }

// InstallURL is where people give the App of a connection its repositories; empty when its
// page is not known.
func (c Connection) InstallURL() string {
	if c.AppURL == "" {
		return ""
	}
	return c.AppURL + "/installations/new"
}

// SeenBy leaves out where the App's credential is when the caller does not see that place.
func (c Connection) SeenBy(who Caller) Connection {
	if place := strings.Split(c.AppCredential, "/"); len(place) != 3 || !who.Sees(place[0], place[1]) {
		c.AppCredential = ""
	}
	return c
}
