package application

import (
	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/outside/prefect"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// What follows is for a rehearsal of a driver, which must not differ from the real thing.
// Like Plan, it calls nobody.

// InOrder gives the actions of a mode in the order in which a task runs them.
func InOrder(actions []slipway.Action, task int64, key string) []slipway.Action {
	return shuffled(actions, task, key)
}

// NotStarted adds to the failure of an action which of its mode were not begun for it.
func NotStarted(err error, rest []slipway.Action) error { return notStarted(err, rest) }

// Arguments are what the function of an action is called with.
func Arguments(s Snapshot, a slipway.Action, contextDigest string) map[string]any {
	return (&work{snap: s}).params(a, contextDigest)
}

// Verdict is a failed action in words.
func Verdict(a slipway.Action, out prefect.Outcome, redact func(string) string) error {
	return verdict(a, out, redact)
}

// NotReached is the failure of an upgrade whose actions did not change the version.
func NotReached(now, target string) error { return notReached(slipway.UpgradeTask, now, target) }

// EnvOf is the environment that the team set on a component.
func EnvOf(c spec.ContextComponent) []kube.EnvVar { return envOf(c) }

// UnknownComponent is the refusal of a component that the driver does not have.
func UnknownComponent(d slipway.DriverSpec, name string) error { return unknownComponent(d, name) }

// ChildFailed is what the action hears when a task that its call started has failed.
func ChildFailed(child slipway.Task) string { return childEnd(child).Error }

// CodeOf is the code of a failed call.
func CodeOf(err error) string { return codeOf(err) }
