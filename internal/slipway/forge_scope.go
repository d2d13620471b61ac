package slipway

import "strings"

// ForgeKind is the kind of forge that runners are registered at.
type ForgeKind string

const (
	GitHub    ForgeKind = "" // as scopes were written before there were others
	GitLab    ForgeKind = "gitlab"
	Bitbucket ForgeKind = "bitbucket"
)

// Name is the forge as people write it.
func (k ForgeKind) Name() string {
	switch k {
	case GitLab:
		return "GitLab"
	case Bitbucket:
		return "Bitbucket"
	}
	return "GitHub"
}

// TellsJobs reports whether the forge tells us of the jobs that wait for runners and of the
// runner that has each. Where it does not, a pool has a fixed size.
func (k ForgeKind) TellsJobs() bool { return k == GitHub }

// EndsByItself reports whether a runner's program ends after its one job. Bitbucket's takes
// one step after another, until it is kept from that.
func (k ForgeKind) EndsByItself() bool { return k != Bitbucket }

// ForgeScope is where runners are registered: an organization or a group, or one repository
// or project of it.
type ForgeScope struct {
	Forge ForgeKind `json:"forge,omitempty"`
	// BaseURL is of a server of one's own, https://github.example.com; empty: the forge's
	// public one.
	BaseURL    string `json:"base_url,omitempty"`
	Owner      string `json:"owner"`                // of GitLab it may have several parts: acme/tools
	Repository string `json:"repository,omitempty"` // empty: all that the owner has
	Group      int64  `json:"group,omitempty"`      // GitHub's runner group; 0: the default one
}

// GitHubHost is the host of jobs and hooks when a scope or a connection names none.
const GitHubHost = "github.com"

// Host is the forge that the scope is on, as jobs are kept by: lower case, without scheme.
func (s ForgeScope) Host() string {
	switch {
	case s.BaseURL == "" && s.Forge == GitLab:
		return "gitlab.com"
	case s.BaseURL == "" && s.Forge == Bitbucket:
		return "bitbucket.org"
	}
	return ForgeHost(s.BaseURL)
}

// Server is the address of the forge, without a path.
func (s ForgeScope) Server() string {
	if s.BaseURL != "" {
		return s.BaseURL
	}
	return "https://" + s.Host()
}

// ForgeHost is the host of a base URL; of an empty one it is github.com.
func ForgeHost(baseURL string) string {
	_, host, found := strings.Cut(baseURL, "://")
	if !found {
		host = baseURL
	}
	host, _, _ = strings.Cut(host, "/")
	if host == "" {
		return GitHubHost
	}
	return strings.ToLower(host)
}

// String writes the scope as the forge's pages do: acme, or acme/shop.
func (s ForgeScope) String() string {
	if s.Repository == "" {
		return s.Owner
	}
	return s.Owner + "/" + s.Repository
}

// Covers reports whether jobs of a repository may come to runners of this scope. Names are
// compared as the forge does, without regard to case.
func (s ForgeScope) Covers(owner, repository string) bool {
	return strings.EqualFold(s.Owner, owner) && (s.Repository == "" || strings.EqualFold(s.Repository, repository))
}
