package kube

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxTries bounds the repeats of a write that lost a race. Each of them read the newest
// state first, so more than a few in a row mean a fight that repeating does not win.
const maxTries = 8

// again reports whether a write lost a race, or met a moment in which the API server
// could not answer, so that reading again and repeating it may succeed.
func again(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || passing(err)
}

// pause waits a little longer at each try.
func pause(ctx context.Context, try int) error {
	t := time.NewTimer(min(20*time.Millisecond<<try, time.Second))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
