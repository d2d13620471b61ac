package cli

import (
	"context"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// look plays an observer: "look none", "look drifted" or "look missed" writes what a look
// at application 1 would have found. It begins in a minute, so that it answers whoever asks.
func look(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: look none|drifted|missed")
	}
	s, ctx := ts.Value(storeKey{}).(*store.Store), context.Background()
	ts.Check(s.InTx(ctx, func(tx *store.Tx) error {
		d, err := tx.Drift(ctx, 1)
		if err != nil {
			return err
		}
		d.Revision, d.LookedAt, d.Missed = 1, tx.Now.Add(time.Minute), ""
		switch args[0] {
		case "none":
			d.CheckedAt, d.Found, d.Since = tx.Now, nil, time.Time{}
		case "drifted":
			d.CheckedAt, d.Since = tx.Now.Add(-2*time.Minute-10*time.Second), tx.Now.Add(-2*time.Hour-time.Minute)
			d.Found = []slipway.Difference{
				{Object: "Deployment web", Kind: slipway.DiffChanged, Path: "replicas", Applied: "2", Live: "5", By: "kubectl"},
				{Object: "Service web", Kind: slipway.DiffMissing},
				{Object: "ConfigMap mine", Kind: slipway.DiffExtra},
			}
		case "missed":
			d.Missed = "the Kubernetes API does not answer"
		default:
			ts.Fatalf("usage: look none|drifted|missed")
		}
		return tx.SetDrift(ctx, d)
	}))
}
