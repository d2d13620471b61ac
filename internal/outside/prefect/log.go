package prefect

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// levelError is Python's logging.ERROR.
const levelError = 40

// The engine flushes its log when it ends, which takes up to this long to be readable.
const logSettle = 5 * time.Second

// FirstError returns the message of the first log record of the run with level ERROR or
// above, or "" when there is none. A record that is not there yet is waited for, up to 5 s.
//
// The message is as the action wrote it: redact it, then cut it, before it is stored.
func (c *Client) FirstError(ctx context.Context, flowRunID string) (string, error) {
	for end := time.Now().Add(logSettle); ; {
		var out []struct{ Message string }
		err := c.call(ctx, http.MethodPost, "/logs/filter", map[string]any{
			"logs": map[string]any{"flow_run_id": map[string]any{"any_": []string{flowRunID}}, "level": map[string]any{"ge_": levelError}},
			"sort": "TIMESTAMP_ASC", "limit": 1, "offset": 0,
		}, &out)
		if err != nil {
			return "", fmt.Errorf("read the log of flow run %s: %w", flowRunID, err)
		}
		if len(out) > 0 {
			return out[0].Message, nil
		}
		if time.Now().After(end) {
			return "", nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("read the log of flow run %s: %w", flowRunID, context.Cause(ctx))
		case <-time.After(250 * time.Millisecond):
		}
	}
}

// WriteLog adds one record of level ERROR to the run's log, under the name "slipway". It
// may be written twice when an answer is lost.
func (c *Client) WriteLog(ctx context.Context, flowRunID, message string) error {
	err := c.call(ctx, http.MethodPost, "/logs/", []map[string]any{{
		"name": "slipway", "level": levelError, "message": message, "flow_run_id": flowRunID,
		"timestamp": time.Now().UTC().Format(time.RFC3339Nano),
	}}, nil)
	if err != nil {
		return fmt.Errorf("write to the log of flow run %s: %w", flowRunID, err)
	}
	return nil
}
