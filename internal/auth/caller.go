package auth

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
)

type callerKey struct{}

// WithCaller keeps who asks for those who serve the request.
func WithCaller(ctx context.Context, c slipway.Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the caller that WithCaller kept; ok is false when there is none.
func CallerFrom(ctx context.Context) (c slipway.Caller, ok bool) {
	c, ok = ctx.Value(callerKey{}).(slipway.Caller)
	return c, ok
}
