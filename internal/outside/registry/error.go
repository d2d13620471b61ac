package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"slipway.dev/slipway/internal/slipway"
)

// explain turns what the library says into what a person can act on. The library's words
// may hold addresses with signatures in them, so only the cause for the log keeps them.
func explain(r Reference, doing string, err error) error {
	var own *slipway.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	fail := func(k slipway.Kind, hint, format string, args ...any) error {
		return &slipway.Error{Kind: k, Msg: fmt.Sprintf(format, args...), Hint: hint, Err: err}
	}
	var answer *errcode.ErrorResponse
	var dns *net.DNSError
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s %s: %w", doing, r, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fail(slipway.Unavailable, "try again; the registry or the network is slow", "the registry %s did not answer in time", r.Registry)
	case errors.Is(err, errPlain):
		return fail(slipway.Invalid, "--plain-http allows it for this registry alone", "the registry %s leads to an address without TLS", r.Registry)
	case errors.Is(err, errRedirect):
		return fail(slipway.Unavailable, "", "the registry %s redirects without end", r.Registry)
	case errors.Is(err, errdef.ErrNotFound), errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound:
		return fail(slipway.NotFound, "check its name and version", "the registry has no %s", r)
	case errors.Is(err, errdef.ErrSizeExceedsLimit):
		return fail(slipway.TooLarge, "", "%s is larger than its registry says, or than may be read", r)
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData), errors.Is(err, content.ErrInvalidDescriptorSize),
		strings.Contains(err.Error(), "mismatch Content-Length"): // the library has no name for it
		return fail(slipway.Invalid, "", "the registry sent other content for %s than it announced", r)
	case errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden),
		errors.Is(err, auth.ErrBasicCredentialNotFound):
		return fail(slipway.Forbidden, "check the credentials: docker login, or --username and --password-stdin", "the registry refuses to %s %s", doing, r)
	case errors.As(err, &answer) && answer.StatusCode == http.StatusTooManyRequests:
		return fail(slipway.Throttled, "wait, then repeat", "the registry %s asks to wait", r.Registry)
	case errors.As(err, &answer) && answer.StatusCode < http.StatusInternalServerError:
		return fail(slipway.Invalid, "", "the registry refuses to %s %s: %d %s", doing, r, answer.StatusCode, http.StatusText(answer.StatusCode))
	case errors.As(err, &answer):
		return fail(slipway.Unavailable, "try again later", "the registry %s answers with %d %s", r.Registry, answer.StatusCode, http.StatusText(answer.StatusCode))
	case errors.As(err, &cert):
		return fail(slipway.Unavailable, "let this machine trust its authority, or name that one's file by SSL_CERT_FILE", "the certificate of the registry %s is not trusted: %s", r.Registry, cert.Err)
	case errors.As(err, &dns):
		return fail(slipway.Unavailable, "check the name", "there is no host %s", dns.Name)
	case errors.As(err, &op) && op.Err != nil:
		return fail(slipway.Unavailable, "check the network and the registry's name", "the registry %s does not answer: %s", r.Registry, op.Err)
	}
	return fail(slipway.Unavailable, "check the network and the registry's name; a registry without TLS needs --plain-http", "the registry %s cannot be used", r.Registry)
}
