package pool

import (
	"crypto/rand"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// NamePrefix begins the names of all runners of an installation. It tells our
// registrations from those of others in the same organization.
func NamePrefix(i slipway.Installation) string {
	return "slipway-" + label(i.ExternalID, 8) + "-"
}

// runnerName makes a name that nobody can guess and nobody had before. It is the pod's as
// well, so it is a DNS label.
func runnerName(i slipway.Installation, service string) string {
	return NamePrefix(i) + label(service, 20) + "-" + strings.ToLower(rand.Text())[:16]
}

// label keeps of a text what a DNS label may have, up to limit letters.
func label(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r == '_' || r == '.':
			return '-'
		}
		return -1
	}, s)
	s = strings.Trim(s[:min(len(s), limit)], "-")
	if s == "" {
		return "x"
	}
	return s
}
