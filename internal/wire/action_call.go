package wire

import (
	"encoding/json"
	"time"
)

// NewActionCall asks for a primitive in the name of a running action. The header
// X-Slipway-Step names the hook step in which the action runs, and the header
// Idempotency-Key the call: <flow run>/<run count>/<call number>.
type NewActionCall struct {
	Primitive string         `json:"primitive" enum:"stop_components,start_components,upgrade_deployment_version,get_component_images,execute_commands"`
	Arguments map[string]any `json:"arguments,omitempty" doc:"The primitive's arguments by name."`
}

// ActionCall is one call of a primitive.
type ActionCall struct {
	ID        int64           `json:"id"`
	Step      int64           `json:"step"`
	Primitive string          `json:"primitive"`
	State     string          `json:"state" enum:"running,succeeded,failed"`
	Task      int64           `json:"task,omitempty" doc:"The task that it started."`
	Result    json.RawMessage `json:"result,omitempty"`
	Code      string          `json:"code,omitempty" doc:"The kind of a failure: job_failed, unknown_component, …"`
	Error     string          `json:"error,omitempty"`
	CreatedAt time.Time       `json:"created_at"`
	EndedAt   *time.Time      `json:"ended_at,omitempty"`
}
