package helm

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
)

// longestMessage bounds what of Helm's words is kept. It quotes whole manifests at times.
const longestMessage = 2000

// Redactor takes secrets out of a text before anybody sees or stores it.
type Redactor func(string) string

// told makes of an error of Helm's one of ours. Nothing of the original goes on but its
// redacted words and what kind it is: its own text may quote values and manifests, and a
// cause is logged.
func (redact Redactor) told(err error, doing string) error {
	if err == nil {
		return nil
	}
	var ours *slipway.Error
	if errors.As(err, &ours) {
		return err
	}
	text := strings.TrimSpace(err.Error())
	if redact != nil {
		text = redact(text)
	}
	if len(text) > longestMessage {
		text = strings.ToValidUTF8(text[:longestMessage], "") + " …"
	}
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return &ended{doing + ": " + text, end}
		}
	}
	e := &slipway.Error{Kind: kindOf(err), Msg: doing + ": " + text}
	e.Hint = remedies[e.Kind]
	for _, known := range knownFaults {
		if strings.Contains(err.Error(), known.says) {
			e.Kind, e.Hint = known.kind, known.hint
		}
	}
	return e
}

var remedies = map[slipway.Kind]string{
	slipway.Unavailable: "check that the cluster is up, then request the change again",
	slipway.Forbidden:   "give Slipway's service account the rights that the chart needs",
}

// knownFaults are those of Helm's errors that do not say what to do.
var knownFaults = []struct {
	says string
	kind slipway.Kind
	hint string
}{
	{"cannot be imported into the current release", slipway.Conflict, "an object of that name is somebody else's: rename or delete it, then request the change again"},
	{"must have at most 1048576 bytes", slipway.TooLarge, "Helm keeps the chart and its values in one Secret of at most 1 MiB: take files out of the chart, or exclude them with .helmignore"},
	{"no matches for kind", slipway.Invalid, "the cluster lacks the custom resource definition, or this version of it: install what the chart depends on first"},
}

// ended is the error of something that its context ended.
type ended struct {
	text string
	by   error
}

func (e *ended) Error() string { return e.text }
func (e *ended) Unwrap() error { return e.by }

func kindOf(err error) slipway.Kind {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return slipway.Forbidden
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return slipway.Conflict
	case apierrors.IsRequestEntityTooLargeError(err):
		return slipway.TooLarge
	case kube.Passing(err), strings.Contains(err.Error(), "kubernetes cluster unreachable"):
		return slipway.Unavailable
	}
	return slipway.Invalid
}
