package spec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// forgeForm is what [services.<name>.actions] is on one forge.
type forgeForm struct {
	kind       slipway.ForgeKind
	secret     string   // an example
	server     string   // an example
	public     []string // hosts that need no base_url
	wantLabels string   // the hint of the missing key
	unlabelled bool     // no labels at all have a meaning
	exact      bool     // labels differ by case
	lower      bool     // labels are of lower-case letters, digits and dots, which Bitbucket asks for
	minTimeout int64
	scope      func(r *reader, n *node, path string, a *slipway.RunnerActions)
	never      map[string][2]string // keys that it has not: why, and what to do
}

// fixed is why what makes a pool sleep and wake is for GitHub alone.
func fixed(forge string) [2]string {
	return [2]string{"is for pools that wake by their jobs, and " + forge + " tells of none: the pool keeps all its runners at all times", "leave it out"}
}

var forgeForms = map[string]forgeForm{
	"github": {
		kind: slipway.GitHub, secret: "github-runner-token", server: "https://github.example.com",
		public: []string{"github.com", "api.github.com", "www.github.com"}, minTimeout: minTimeout,
		wantLabels: `write the labels that jobs name in runs-on: labels = ["slipway"]`,
		scope:      (*reader).scope,
		never: map[string][2]string{
			"group":     {"is GitLab's", `write organization, or forge = "gitlab"`},
			"project":   {"is GitLab's", `write repository, or forge = "gitlab"`},
			"workspace": {"is Bitbucket's", `write organization, or forge = "bitbucket"`},
		},
	},
	"gitlab": {
		kind: slipway.GitLab, secret: "gitlab-runner-token", server: "https://gitlab.example.com",
		public: []string{"gitlab.com", "www.gitlab.com"}, minTimeout: minGitLabTimeout, unlabelled: true, exact: true,
		wantLabels: `write the tags of the runners: labels = ["slipway"]; without any, labels = [], they take jobs without tags`,
		scope:      (*reader).gitlabScope,
		never: map[string][2]string{
			"organization":    {"is GitHub's", "write group"},
			"repository":      {"is GitHub's", "write project"},
			"workspace":       {"is Bitbucket's", `write group, or forge = "bitbucket"`},
			"runner_group_id": {"is GitHub's", "leave it out; labels tell runners apart"},
			"jobs_credential": {"reads jobs and their logs, which are not read from GitLab", "leave it out"},
			"idle_seconds":    fixed("GitLab"), "min_replicas": fixed("GitLab"), "spare": fixed("GitLab"), "schedules": fixed("GitLab"),
		},
	},
	"bitbucket": {
		kind: slipway.Bitbucket, secret: "bitbucket-runner-token", minTimeout: minStepTimeout, unlabelled: true, exact: true, lower: true,
		public:     []string{"bitbucket.org"},
		wantLabels: `write the labels that steps name in runs-on: labels = ["slipway"]; without any, labels = [], the runners have self.hosted and linux`,
		scope:      (*reader).bitbucketScope,
		never: map[string][2]string{
			"organization":    {"is GitHub's", "write workspace"},
			"group":           {"is GitLab's", "write workspace"},
			"project":         {"is GitLab's", "write repository"},
			"base_url":        {"is for servers of one's own, and there are no runners but on Bitbucket Cloud", "leave it out"},
			"runner_group_id": {"is GitHub's", "leave it out; labels tell runners apart"},
			"jobs_credential": {"reads jobs and their logs, which are not read from Bitbucket", "leave it out"},
			"idle_seconds":    fixed("Bitbucket"), "min_replicas": fixed("Bitbucket"), "spare": fixed("Bitbucket"), "schedules": fixed("Bitbucket"),
		},
	},
}

// forge reads which forge the pool is of.
func (r *reader) forge(n *node, path string) forgeForm {
	v := n.get("forge")
	if v == nil {
		return forgeForms["github"]
	}
	name := r.text(v, path+".forge")
	f, known := forgeForms[name]
	if !known {
		if v.shape == textShape {
			r.fault(v.pos, path+".forge", `write "github", "gitlab" or "bitbucket"`, "%q is no forge of runner pools", cut(name, 40))
		}
		// What else is there is read as GitHub's, and not refused for a word that is wrong.
		f = forgeForms["github"]
		f.never, f.scope = nil, func(*reader, *node, string, *slipway.RunnerActions) {}
	}
	return f
}

// only refuses the keys that the forge has not, and returns the others.
func (r *reader) only(n *node, path string, f forgeForm) *node {
	rest := *n
	rest.keys = slices.DeleteFunc(slices.Clone(n.keys), func(e entry) bool {
		why, never := f.never[e.key]
		if never {
			r.fault(e.value.pos, path+"."+e.key, why[1], "%s", why[0])
		}
		return never
	})
	return &rest
}

// gitlabPart is a group's or a project's name in a path.
var gitlabPart = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$`)

// gitlabScope reads whose jobs the pool takes: those of a group's projects, or of one.
func (r *reader) gitlabScope(n *node, path string, a *slipway.RunnerActions) {
	group, project := n.get("group"), n.get("project")
	switch {
	case group == nil && project == nil:
		r.fault(n.pos, path, `write group = "your-group", or project = "your-group/your-project"`, "needs a group or a project")
	case group != nil && project != nil:
		r.fault(project.pos, path+".project", "keep one of the two", "is set beside group")
	}
	if r.shaped(group, path+".group", textShape, "") {
		if a.Group = group.text(); !gitlabName(a.Group) {
			r.fault(group.pos, path+".group", "write it as in its address: https://gitlab.com/your-group/tools is your-group/tools", "%q is no group's path", cut(a.Group, 60))
		}
	}
	if r.shaped(project, path+".project", textShape, "") {
		if a.Project = project.text(); !gitlabName(a.Project) || !strings.Contains(a.Project, "/") {
			r.fault(project.pos, path+".project", fmt.Sprintf("write it with its group: %q", "your-group/your-project"), "%q is no project's path", cut(a.Project, 60))
		}
	}
}

// gitlabName checks a path: a name, with the groups that it is in before it.
func gitlabName(path string) bool {
	const deepest = 22 // twenty groups within one, and a project
	parts := strings.Split(path, "/")
	bad := func(p string) bool {
		return !gitlabPart.MatchString(p) || strings.HasSuffix(p, ".git") || strings.HasSuffix(p, ".atom")
	}
	return len(parts) <= deepest && !slices.ContainsFunc(parts, bad)
}

var (
	bitbucketPart  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$`)
	bitbucketLabel = regexp.MustCompile(`^[a-z0-9.]{1,100}$`)
)

// bitbucketScope reads whose steps the pool takes: those of a workspace's repositories, or
// of one.
func (r *reader) bitbucketScope(n *node, path string, a *slipway.RunnerActions) {
	workspace, repository := n.get("workspace"), n.get("repository")
	switch {
	case workspace == nil && repository == nil:
		r.fault(n.pos, path, `write workspace = "your-workspace", or repository = "your-workspace/your-repository"`, "needs a workspace or a repository")
	case workspace != nil && repository != nil:
		r.fault(repository.pos, path+".repository", "keep one of the two", "is set beside workspace")
	}
	if r.shaped(workspace, path+".workspace", textShape, "") {
		if a.Workspace = workspace.text(); !bitbucketPart.MatchString(a.Workspace) {
			r.fault(workspace.pos, path+".workspace", "write it as in its address: https://bitbucket.org/your-workspace", "%q is no workspace's name", cut(a.Workspace, 60))
		}
	}
	if r.shaped(repository, path+".repository", textShape, "") {
		a.Repository = repository.text()
		if owner, name, found := strings.Cut(a.Repository, "/"); !found || !bitbucketPart.MatchString(owner) || !bitbucketPart.MatchString(name) {
			r.fault(repository.pos, path+".repository", `write it with its workspace: "your-workspace/your-repository"`, "%q is no repository's name", cut(a.Repository, 60))
		}
	}
}
