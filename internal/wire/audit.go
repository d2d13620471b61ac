package wire

import (
	"encoding/json"
	"time"
)

// Audit is one line of the record of who did what.
type Audit struct {
	ID        int64           `json:"id"`
	At        time.Time       `json:"at"`
	User      string          `json:"user"`
	TokenID   int64           `json:"token_id,omitempty"`
	Remote    string          `json:"remote,omitempty" doc:"The address that asked."`
	RequestID string          `json:"request_id,omitempty"`
	Action    string          `json:"action" example:"application.deploy"`
	Noun      string          `json:"noun" example:"application"`
	Name      string          `json:"name" example:"shop/production/guestbook"`
	Before    json.RawMessage `json:"before,omitempty" doc:"The noun before, without secret values."`
	After     json.RawMessage `json:"after,omitempty" doc:"The noun after, without secret values."`
}

// Event says that something changed and is to be read again.
type Event struct {
	ID          int64     `json:"id"`
	At          time.Time `json:"at"`
	Kind        string    `json:"kind" example:"task.changed"`
	Noun        string    `json:"noun" example:"task"`
	NounID      int64     `json:"noun_id"`
	Project     string    `json:"project,omitempty"`
	Environment string    `json:"environment,omitempty"`
}
