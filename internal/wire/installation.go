package wire

import "time"

// Installation says which Slipway answers.
type Installation struct {
	ID         string    `json:"id" doc:"The installation's UUID; tags everything that it creates outside."`
	ExternalID string    `json:"external_id" doc:"The short ID that third parties are shown."`
	Version    string    `json:"version" doc:"The version of the server that answers."`
	CreatedAt  time.Time `json:"created_at"`
	Replicas   []Replica `json:"replicas,omitempty" nullable:"false" doc:"The processes that are alive; not told to a confined token."`
}

// Replica is one running process of the installation.
type Replica struct {
	ID        string    `json:"id"`
	Host      string    `json:"host"`
	Role      string    `json:"role" enum:"api,worker,all"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
	SeenAt    time.Time `json:"seen_at"`
}

// Setup makes the first administrator.
type Setup struct {
	Secret   string `json:"secret" minLength:"1" maxLength:"200" doc:"The content of the setup secret's file, which only the server's host has."`
	Username string `json:"username" minLength:"1" maxLength:"64" doc:"The administrator's name."`
	Password string `json:"password" minLength:"1" maxLength:"1000" doc:"Their password."`
}
