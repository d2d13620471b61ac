package git

import (
	"net/url"
	"path"
	"regexp"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// Source names a directory in a repository: git+https://host/org/repo//path?ref=v1.0.0. The
// path follows a double slash; without one it is the whole repository. The ref is a branch,
// a tag or a whole commit; without one it is the repository's default branch.
type Source struct {
	URL  string // as git takes it, without path and ref
	Path string // slash-separated; empty: the root
	Ref  string
}

// Prefix begins every source.
const Prefix = "git+"

// IsCommit reports whether a ref is a whole commit.
func IsCommit(ref string) bool { return commitForm.MatchString(ref) }

var (
	commitForm = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	// refForm is narrower than git's own rule: nothing that git would read as an option, a
	// range, a pattern or a pair of refs.
	refForm = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+-]*$`)
	scheme  = regexp.MustCompile(`^(https|http|ssh|file)$`)
)

// Parse reads a source.
func Parse(s string) (Source, error) {
	bad := func(why string) (Source, error) {
		return Source{}, slipway.Errorf(slipway.Invalid, "the git source %s", why).
			WithHint("write git+https://host/org/repository//path?ref=tag-or-branch-or-commit")
	}
	u, err := url.Parse(strings.TrimPrefix(s, Prefix))
	switch {
	case !strings.HasPrefix(s, Prefix):
		return bad("does not begin with git+")
	case err != nil:
		return bad("is no address") // without err, which repeats a password
	case !scheme.MatchString(u.Scheme):
		return bad("must begin with git+https://, git+ssh:// or git+file://")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return bad("would be read without TLS")
	case u.Fragment != "":
		return bad("holds a #")
	case strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-"):
		return bad("has a host that begins with a dash")
	case u.Scheme == "file" && u.Host != "":
		return bad("names a host; a file is on this machine: git+file:///path")
	case u.Scheme != "file" && u.Host == "":
		return bad("names no host")
	}
	if _, has := u.User.Password(); has || u.User != nil && u.Scheme != "ssh" {
		return Source{}, slipway.Errorf(slipway.Invalid, "the git source holds credentials").
			WithHint("leave them out of it: git's credential helpers and SSH keys are used")
	}
	query := u.Query()
	for k := range query {
		if k != "ref" {
			return bad("has the parameter " + cut(k) + "; only ref is known")
		}
	}
	out := Source{Ref: query.Get("ref")}
	if query.Has("ref") && (!refForm.MatchString(out.Ref) || strings.Contains(out.Ref, "..") || len(out.Ref) > 200) {
		return bad("has a ref that is no branch, tag or commit")
	}
	repo, inside, _ := strings.Cut(strings.TrimPrefix(u.Path, "/"), "//")
	if repo == "" {
		return bad("names no repository")
	}
	if inside = strings.Trim(inside, "/"); inside != "" {
		if out.Path = path.Clean(inside); out.Path != inside || out.Path == "." || strings.HasPrefix(out.Path, "..") || strings.ContainsAny(inside, "\x00\n") {
			return bad("has a path that is not plain")
		}
	}
	out.URL = (&url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: "/" + repo}).String()
	return out, nil
}

func (s Source) String() string {
	out := Prefix + s.URL
	if s.Path != "" {
		out += "//" + s.Path
	}
	if s.Ref != "" {
		out += "?ref=" + s.Ref
	}
	return out
}

func (s Source) scheme() string {
	name, _, _ := strings.Cut(s.URL, "://")
	return name
}

func loopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

func cut(s string) string {
	const limit = 80
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
