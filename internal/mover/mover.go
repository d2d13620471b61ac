package mover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"slipway.dev/slipway/internal/outside/objects"
	"slipway.dev/slipway/internal/slipway"
)

// maxResult is what a container's last message may hold.
const maxResult = 4096

// Run does the order in the environment, and leaves the result where Kubernetes looks for
// it. Its error is what the result says.
func Run(ctx context.Context, getenv func(string) string) error {
	var order slipway.MoveOrder
	if err := json.Unmarshal([]byte(getenv(slipway.MoverOrder)), &order); err != nil {
		return slipway.Errorf(slipway.Invalid, "there is no order in %s", slipway.MoverOrder).
			WithHint("the mover is started by Slipway in a Job, and by nobody else")
	}
	result, err := do(ctx, order)
	if err != nil {
		result.Error = words(err)
	}
	return errors.Join(err, leave(slipway.MoverResult, result))
}

func do(ctx context.Context, o slipway.MoveOrder) (slipway.MoveResult, error) {
	store, err := open(o)
	if err != nil {
		return slipway.MoveResult{}, err
	}
	return Do(ctx, store, o)
}

// open connects to the order's location.
func open(o slipway.MoveOrder) (objects.Store, error) {
	if o.Kind == slipway.LocationVolume {
		return objects.NewFolder(o.Root)
	}
	var keys [2]string
	for i, name := range []string{"access-key", "secret-key"} {
		raw, err := os.ReadFile(filepath.Join(slipway.MoverCredentials, name))
		if err != nil {
			return nil, slipway.Errorf(slipway.Unavailable, "the credentials of the location are not mounted: %v", err)
		}
		keys[i] = strings.TrimSpace(string(raw))
	}
	return objects.NewS3(o.S3, keys[0], keys[1])
}

// Do does one order with a store.
func Do(ctx context.Context, store objects.Store, o slipway.MoveOrder) (slipway.MoveResult, error) {
	switch o.Do {
	case slipway.MovePut:
		if o.Tree {
			return putTree(ctx, store, o)
		}
		return putFile(ctx, store, o)
	case slipway.MoveGet:
		if len(o.Files) != 1 {
			return slipway.MoveResult{}, slipway.Errorf(slipway.Invalid, "an order to get names one file, not %d", len(o.Files))
		}
		if o.Tree {
			return getTree(ctx, store, o)
		}
		return getFile(ctx, store, o)
	case slipway.MoveVerify:
		return verify(ctx, store, o)
	case slipway.MoveRemove:
		removed, err := store.Remove(ctx, o.Prefix)
		return slipway.MoveResult{Objects: removed.Files, Uploads: removed.Unfinished}, err
	}
	return slipway.MoveResult{}, slipway.Errorf(slipway.Invalid, "the mover knows no order %q", o.Do).
		WithHint("backup.image names another version of Slipway than the server's")
}

// leave writes the result where the kubelet reads it.
func leave(file string, r slipway.MoveResult) error {
	raw, err := json.Marshal(r)
	for err == nil && len(raw) > maxResult && len(r.Notes) > 0 {
		r.Notes = r.Notes[:len(r.Notes)/2]
		raw, err = json.Marshal(r)
	}
	if err == nil {
		err = os.WriteFile(file, raw, 0o600)
	}
	if err != nil {
		return fmt.Errorf("leave the result: %w", err)
	}
	return nil
}

// words is an error as its reader in the step should see it.
func words(err error) string {
	var e *slipway.Error
	if !errors.As(err, &e) {
		return cut(err.Error(), 1500)
	}
	if e.Hint == "" {
		return cut(e.Msg, 1500)
	}
	return cut(e.Msg+" ("+e.Hint+")", 1500)
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
