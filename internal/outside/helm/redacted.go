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
	if e.Kind == slipway.Unavailable {
		e.Hint = "check that the cluster is up, then request the change again"
	}
	return e
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
