package cli

import (
	"crypto/x509"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure. A registry's certificate is not the server's, though the causes are alike.
func TestAFaultIsToldInItsOwnWords(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := &session{Process: Process{Stderr: &out}}
	err := &slipway.Error{Kind: slipway.Unavailable, Msg: "the certificate of the registry is not trusted", Hint: "trust it", Err: x509.UnknownAuthorityError{}}
	code := s.exit(t.Context(), err)
	if want := "slipway: the certificate of the registry is not trusted\nhint: trust it\n"; code != exitUnavailable || out.String() != want {
		t.Errorf("%d, %q; want %d, %q", code, out.String(), exitUnavailable, want)
	}
}
