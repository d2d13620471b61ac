package spec

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// What GitHub takes as names, and what it and we take as a label.
var (
	ownerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	repoName  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
	labelText = regexp.MustCompile(`^[A-Za-z0-9_.:/+=-]{1,100}$`)
	nodeName  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
)

// scope reads whose jobs the pool takes: one organization's, or one repository's.
func (r *reader) scope(n *node, path string, a *slipway.RunnerActions) {
	organization, repository := n.get("organization"), n.get("repository")
	switch {
	case organization == nil && repository == nil:
		r.fault(n.pos, path, `write organization = "your-team", or repository = "your-team/your-repository"`, "needs an organization or a repository")
	case organization != nil && repository != nil:
		r.fault(repository.pos, path+".repository", "keep one of the two", "is set beside organization")
	}
	if r.shaped(organization, path+".organization", textShape, "") {
		a.Organization = organization.text()
		switch owner, repo, both := strings.Cut(a.Organization, "/"); {
		case both && ownerName.MatchString(owner) && repoName.MatchString(repo):
			r.fault(organization.pos, path+".organization", fmt.Sprintf("write organization = %q, or repository = %q", owner, a.Organization), "names a repository")
		case !ownerName.MatchString(a.Organization):
			r.fault(organization.pos, path+".organization", "write it as in its address: https://github.com/your-team is your-team", "%q is no organization's name", cut(a.Organization, 60))
		}
	}
	if r.shaped(repository, path+".repository", textShape, "") {
		a.Repository = repository.text()
		owner, repo, both := strings.Cut(a.Repository, "/")
		if !both || !ownerName.MatchString(owner) || !repoName.MatchString(repo) || strings.Trim(repo, ".") == "" || strings.HasSuffix(repo, ".git") {
			r.fault(repository.pos, path+".repository", `write owner/name: "your-team/your-repository"`, "%q is no repository's name", cut(a.Repository, 60))
		}
	}
	group := n.get("runner_group_id")
	a.RunnerGroupID = r.whole(group, path+".runner_group_id", 1, 1<<53)
	if group != nil && organization == nil && repository != nil {
		r.fault(group.pos, path+".runner_group_id", "leave it out", "only an organization has runner groups")
	}
}

// baseURL reads the address of a server of one's own, and gives it its one form.
func (r *reader) baseURL(n *node, path string, f forgeForm) string {
	if !r.shaped(n, path, textShape, "") {
		return ""
	}
	u, err := url.Parse(n.text())
	hint := fmt.Sprintf("write the server's own address: %q", f.server)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		r.fault(n.pos, path, hint, "is no address")
	case u.Scheme != "https":
		r.fault(n.pos, path, hint, "does not begin with https://, and a token would cross the network in clear")
	case u.User != nil:
		r.fault(n.pos, path, "take them out, and store the token as the secret of credential", "holds a user or a password")
	case u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		r.fault(n.pos, path, hint, "has more than a host")
	case slices.Contains(f.public, strings.ToLower(u.Hostname())):
		r.fault(n.pos, path, "leave it out", "%s needs no base_url", f.public[0])
	default:
		return "https://" + strings.ToLower(u.Host)
	}
	return ""
}

func (r *reader) architecture(n *node, path string) slipway.Architecture {
	if n == nil {
		return slipway.AMD64
	}
	switch a := slipway.Architecture(r.text(n, path)); a {
	case slipway.AMD64, slipway.ARM64:
		return a
	default:
		if n.shape == textShape {
			r.fault(n.pos, path, `write "amd64" or "arm64"`, "%q is no architecture of a runner", cut(n.text(), 40))
		}
		return slipway.AMD64
	}
}

// labels reads the labels of a pool. GitHub folds their case, so two that differ in nothing
// else are one; what every runner has anyway may be written, and what it cannot be may not.
func (r *reader) labels(n *node, path string, arch slipway.Architecture, f forgeForm) []string {
	if !r.shaped(n, path, listShape, `write labels = ["slipway"]`) {
		return nil
	}
	if len(n.list) == 0 && !f.unlabelled {
		r.fault(n.pos, path, `write labels = ["slipway"]`, "is empty: no job would come")
	}
	if len(n.list) > maxLabels {
		r.fault(n.pos, path, "keep those that jobs name", "has %d labels; at most %d are allowed", len(n.list), maxLabels)
		return nil
	}
	other := map[slipway.Architecture]string{slipway.AMD64: "arm64", slipway.ARM64: "x64"}[arch]
	var out []string
	for i, v := range n.list {
		at := item(path, i)
		if !r.shaped(v, at, textShape, "") {
			continue
		}
		l := v.text()
		folded := strings.ToLower(l)
		switch {
		case !labelText.MatchString(l):
			r.fault(v.pos, at, "use letters, digits and . _ - : / + =, at most 100 of them", "%q is no label", cut(l, 60))
			continue
		case f.lower && !bitbucketLabel.MatchString(l):
			r.fault(v.pos, at, "use lower-case letters, digits and dots", "%q is no label of Bitbucket", cut(l, 60))
			continue
		case f.lower && (l == "linux.shell" || strings.HasPrefix(l, "linux.arm64") && arch == slipway.AMD64):
			r.fault(v.pos, at, "leave it out, or set architecture", "the runners have Docker and are %s, and steps that ask for %s would fail on them", arch, l)
			continue
		case !f.exact && slices.ContainsFunc(out, func(have string) bool { return strings.EqualFold(have, l) }):
			r.fault(v.pos, at, "keep one", "%q is there already; GitHub does not look at case", l)
			continue
		case f.exact && slices.Contains(out, l):
			r.fault(v.pos, at, "keep one", "%q is there already", l)
			continue
		case folded == "windows" || folded == "macos":
			r.fault(v.pos, at, "leave it out", "the runners are Linux, and jobs that ask for %s would fail on them", l)
		case folded == other:
			r.fault(v.pos, at, "leave it out, or set architecture", "the runners of this pool are %s, and jobs that ask for %s would fail on them", arch, l)
		}
		out = append(out, l)
	}
	return out
}

func (r *reader) nodeName(n *node, path string) string {
	if !r.shaped(n, path, textShape, "") {
		return ""
	}
	if name := n.text(); len(name) > 253 || !nodeName.MatchString(name) {
		r.fault(n.pos, path, "write it as kubectl get nodes does", "%q is no node's name", cut(name, 60))
		return ""
	}
	return n.text()
}
