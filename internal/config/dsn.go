package config

import (
	"log/slog"
	"net/url"
	"regexp"
	"strings"
)

// DSN is the address of a database. However it is printed, logged or encoded, it shows
// no password; Reveal alone returns the whole.
type DSN string

// Reveal returns the address with its password, for the one who connects.
func (d DSN) Reveal() string { return string(d) }

// String writes the address without its password.
func (d DSN) String() string {
	if d == "" {
		return ""
	}
	if d.keywords() {
		return passwordKeyword.ReplaceAllString(string(d), "${1}="+hidden)
	}
	u, err := url.Parse(string(d))
	if err != nil {
		// The parts cannot be told apart, so none of them is shown.
		return "postgres://…"
	}
	if u.User != nil {
		if _, has := u.User.Password(); has {
			u.User = url.UserPassword(u.User.Username(), hidden)
		}
	}
	if q := u.Query(); hideIn(q) {
		u.RawQuery = q.Encode()
	}
	return strings.ReplaceAll(u.String(), url.QueryEscape(hidden), hidden)
}

// keywords reports whether the address has PostgreSQL's other form: host=db dbname=slipway.
func (d DSN) keywords() bool {
	return !strings.Contains(string(d), "://") && keyword.MatchString(string(d))
}

var (
	keyword         = regexp.MustCompile(`^\s*[a-z_]+\s*=`)
	passwordKeyword = regexp.MustCompile(`(?i)(\w*password)\s*=\s*('(?:[^'\\]|\\.)*'?|\S*)`)
)

const hidden = "***"

// hideIn covers the values of a query that hold a password, and reports whether any did.
// PostgreSQL takes them there as well: ?password=…&sslpassword=….
func hideIn(q url.Values) bool {
	found := false
	for name := range q {
		if strings.Contains(strings.ToLower(name), "password") {
			q.Set(name, hidden)
			found = true
		}
	}
	return found
}

// GoString is what %#v prints.
func (d DSN) GoString() string { return d.String() }

// LogValue is what slog prints.
func (d DSN) LogValue() slog.Value { return slog.StringValue(d.String()) }

// MarshalText is what encoders print.
func (d DSN) MarshalText() ([]byte, error) { return []byte(d.String()), nil }
