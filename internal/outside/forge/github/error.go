package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/go-github/v92/github"

	"slipway.dev/slipway/internal/outside/forge"
	"slipway.dev/slipway/internal/outside/forge/rest"
	"slipway.dev/slipway/internal/slipway"
)

// request is what was asked of GitHub, as far as an error has to know it.
type request struct {
	doing      string        // "register a runner of team"
	permission string        // that it takes, in the words of GitHub's own pages
	absent     forge.Problem // what an answer of 404 means here; empty: NotFound
}

// The permissions, as GitHub's pages for tokens and Apps call them.
func runnersPermission(s slipway.ForgeScope) string {
	if s.Repository != "" {
		return "repository permission Administration: read and write"
	}
	return "organization permission Self-hosted runners: read and write"
}

func hooksPermission(s slipway.ForgeScope) string {
	if s.Repository != "" {
		return "repository permission Webhooks: read and write"
	}
	return "organization permission Webhooks: read and write"
}

const (
	readActions  = "repository permission Actions: read-only"
	writeActions = "repository permission Actions: read and write"
)

// explain sorts what went wrong, in one place.
func (c *Client) explain(r request, res *github.Response, err error) error {
	var own *forge.Error
	var urlErr interface{ Timeout() bool }
	var limited *github.RateLimitError
	var abuse *github.AbuseRateLimitError
	var answer *github.ErrorResponse
	if err == nil || errors.As(err, &own) {
		return err
	}
	fail := func(p forge.Problem, hint, format string, args ...any) *forge.Error {
		return forge.Fail(p, fmt.Sprintf(format, args...), hint, err)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", r.doing, err)
	case errors.As(err, &limited), errors.As(err, &abuse):
		return c.budget.Throttled(c.budget.Hold())
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &urlErr) && urlErr.Timeout():
		return fail(forge.Away, "", "GitHub did not answer in time: %s", r.doing)
	case !errors.As(err, &answer) && (res == nil || res.Response == nil || res.StatusCode < http.StatusBadRequest):
		return fail(forge.Away, "check the network and GitHub's status page", "GitHub cannot be asked to %s", r.doing)
	}
	code, words := 0, ""
	if res != nil && res.Response != nil {
		code = res.StatusCode
	}
	var header http.Header
	if answer != nil && answer.Response != nil {
		code, words, header = answer.Response.StatusCode, rest.Short(answer.Message), answer.Response.Header
	}
	said := ""
	if words != "" {
		said = fmt.Sprintf(" (GitHub says: %s)", words)
	}
	switch {
	case code == http.StatusUnauthorized:
		return fail(forge.Refused, "make a new token and save it in place of the old one", "GitHub does not accept the credential: it is wrong, has ended or was revoked").Lacks("a credential that GitHub accepts")
	case code == http.StatusTooManyRequests, code == http.StatusForbidden && tooFast(words):
		return c.budget.Throttled(c.budget.Hold())
	case code == http.StatusForbidden && strings.Contains(header.Get("X-Github-Sso"), "required"):
		return fail(forge.Refused, "authorise the token for the organization's single sign-on, under the token's settings", "GitHub does not let the credential %s", r.doing).Lacks("authorisation for single sign-on")
	case code == http.StatusForbidden, code == http.StatusNotFound && r.absent == forge.Refused:
		missing := r.permission
		if asked := header.Get("X-Accepted-Github-Permissions"); asked != "" {
			missing += " (" + rest.Short(asked) + ")"
		}
		return fail(forge.Refused, "it needs the "+missing+", and must be given access there", "GitHub does not let the credential %s%s", r.doing, said).Lacks(missing)
	case code == http.StatusNotFound, code == http.StatusGone:
		return fail(forge.NotFound, "", "GitHub has nothing there: %s", r.doing)
	case code >= http.StatusInternalServerError:
		return fail(forge.Away, "see GitHub's status page", "GitHub has a fault (%d): %s", code, r.doing)
	}
	return fail(forge.Invalid, "", "GitHub refuses to %s with %d%s", r.doing, code, said)
}

// tooFast recognises the refusals of a limit that have neither its header nor its link.
func tooFast(words string) bool {
	w := strings.ToLower(words)
	return strings.Contains(w, "rate limit") || strings.Contains(w, "abuse detection")
}

// said reports whether GitHub refused with a code and these words in its message.
func said(err error, code int, words ...string) bool {
	var answer *github.ErrorResponse
	if !errors.As(err, &answer) || answer.Response == nil || answer.Response.StatusCode != code {
		return false
	}
	all := strings.ToLower(answer.Message)
	for _, e := range answer.Errors {
		all += " " + strings.ToLower(e.Message)
	}
	if len(words) == 0 {
		return true
	}
	for _, w := range words {
		if strings.Contains(all, w) {
			return true
		}
	}
	return false
}
