package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"slipway.dev/slipway/internal/wire"
)

// Events calls each with every event after the one of ID after, until each returns an
// error, ctx ends, or the connection does. After a lost connection, call it again with
// the last ID that was seen. After 0 it begins with what happens from now on.
func (c *Client) Events(ctx context.Context, after int64, each func(wire.Event) error) error {
	q := query()
	if after > 0 {
		q.Set("after", id(after))
	}
	resp, err := c.open(ctx, request{method: http.MethodGet, path: "/events", query: q})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
		if err != nil {
			return &Unreachable{URL: c.server(), Err: err}
		}
		return refusal(resp, answer)
	}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		// The ID and the kind are in the data too; other lines are comments that keep
		// proxies from closing the connection.
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e wire.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fmt.Errorf("read an event: %w", err)
		}
		if err := each(e); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return &Unreachable{URL: c.server(), Err: err}
	}
	return nil
}
