package slipway

import (
	"fmt"
	"regexp"
)

// MaxName is the longest name of a project, environment, application, component or
// secret, in characters. With the suffixes that we add it stays below Kubernetes' 63.
const MaxName = 40

var namePattern = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)

// CheckName returns nil when name may name a noun: a DNS label of at most MaxName
// characters that starts with a letter.
func CheckName(noun, name string) error {
	switch {
	case name == "":
		return Errorf(Invalid, "%s needs a name", noun)
	case len(name) > MaxName:
		return Errorf(Invalid, "the name of %s has %d characters; at most %d are allowed", noun, len(name), MaxName)
	case !namePattern.MatchString(name):
		return Errorf(Invalid, "%q cannot name %s", name, noun).
			WithHint("use lower-case letters, digits and single hyphens, starting with a letter: %s", suggestName(name))
	}
	return nil
}

var notNameChar = regexp.MustCompile(`[^a-z0-9]+`)

// suggestName bends s into a legal name, so that an error can show one.
func suggestName(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	out := notNameChar.ReplaceAllString(string(b), "-")
	for len(out) > 0 && (out[0] == '-' || (out[0] >= '0' && out[0] <= '9')) {
		out = out[1:]
	}
	if len(out) > MaxName {
		out = out[:MaxName]
	}
	for len(out) > 0 && out[len(out)-1] == '-' {
		out = out[:len(out)-1]
	}
	if out == "" {
		return "my-name"
	}
	return out
}

// MaxUserName is the longest name of a user, in characters.
const MaxUserName = 64

var userNamePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@+-]*$`)

// CheckUserName returns nil when name may name a person. E-mail addresses may; the names
// of built-in users may not, in any mix of cases.
func CheckUserName(name string) error {
	switch {
	case name == "":
		return Errorf(Invalid, "a user needs a name")
	case len(name) > MaxUserName:
		return Errorf(Invalid, "the name of a user has %d characters; at most %d are allowed", len(name), MaxUserName)
	case ReservedUser(name):
		return Errorf(Conflict, "the name %s belongs to a built-in user", name).WithHint("take another name")
	case !userNamePattern.MatchString(name):
		return Errorf(Invalid, "%q cannot name a user", name).
			WithHint("use letters, digits and . _ @ + -, starting with a letter or a digit")
	}
	return nil
}

// EnvironmentRef writes an environment as people do: shop/production.
func EnvironmentRef(project, environment string) string {
	return fmt.Sprintf("%s/%s", project, environment)
}
