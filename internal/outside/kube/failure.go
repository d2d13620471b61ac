package kube

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"slipway.dev/slipway/internal/slipway"
)

// Failure is an error with the code that the author of an action may act on, one of
// slipway.Code….
type Failure struct {
	Code string
	Err  *slipway.Error
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// fail returns a Failure whose message is built like fmt.Sprintf's.
func fail(code string, kind slipway.Kind, format string, args ...any) *Failure {
	return &Failure{Code: code, Err: slipway.Errorf(kind, format, args...)}
}

func (f *Failure) hint(format string, args ...any) *Failure {
	f.Err = f.Err.WithHint(format, args...)
	return f
}

// CodeOf returns the code of the first Failure in err's chain, and slipway.CodeInternal
// for any other error.
func CodeOf(err error) string {
	var f *Failure
	if errors.As(err, &f) {
		return f.Code
	}
	return slipway.CodeInternal
}

// ErrNewer says that a later change has reached the cluster, and that it was left alone.
type ErrNewer struct{ Number int64 }

func (e *ErrNewer) Error() string {
	return fmt.Sprintf("change %d is already on the cluster", e.Number)
}

// explain sorts an error of the API server into a kind that its reader can act on. It
// leaves our own errors and the end of a context as they are.
func explain(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	var ours *slipway.Error
	if errors.As(err, &ours) {
		return err
	}
	doing := fmt.Sprintf(format, args...)
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if why := unverified(err); why != "" {
		// No cause goes with it: waiting does not cure it, as it does for one that is away.
		return slipway.Errorf(slipway.Unavailable, "%s: the certificate of the Kubernetes API cannot be verified: %s", doing, why).
			WithHint("check the server and its certificate-authority-data in Slipway's kubeconfig; a cluster that was made anew has another authority")
	}
	e := &slipway.Error{Kind: slipway.Internal, Msg: doing + ": " + plain(err), Err: err}
	switch {
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		e.Kind = slipway.Forbidden
		e.Hint = "give Slipway's user in the cluster the rights that it needs, or check its kubeconfig"
	case apierrors.IsNotFound(err):
		e.Kind = slipway.NotFound
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		e.Kind = slipway.Conflict
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), meta.IsNoMatchError(err):
		e.Kind = slipway.Invalid
	case apierrors.IsRequestEntityTooLargeError(err):
		e.Kind = slipway.TooLarge
	case apierrors.ReasonForError(err) == "" || passing(err):
		e.Kind = slipway.Unavailable
		e.Msg = doing + ": the Kubernetes API does not answer"
		e.Hint = "check that the cluster is up and that Slipway's kubeconfig points to it"
	}
	return e
}

// unverified says why a server's certificate was not accepted; "" for any other error.
func unverified(err error) string {
	var (
		refused   *tls.CertificateVerificationError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &refused):
		return refused.Err.Error()
	case errors.As(err, &authority):
		return authority.Error()
	case errors.As(err, &host):
		return host.Error()
	case errors.As(err, &invalid):
		return invalid.Error()
	}
	return ""
}

// Passing reports whether a repeat of the same request may well succeed.
func Passing(err error) bool { return err != nil && passing(err) }

func passing(err error) bool {
	return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsInternalError(err) || errors.Is(err, context.DeadlineExceeded)
}

// plain is the message of an API error without the name of the Go type around it.
func plain(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Message != "" {
		return status.Status().Message
	}
	return err.Error()
}
