package fake

import (
	"fmt"
	"strings"
	"time"

	"slipway.dev/slipway/internal/outside/forge"
)

// The shapes of what webhooks send. They have all that GitHub's have, as fake_test.go
// compares with the published form; what is made up is the same everywhere.

const (
	apiURL  = "https://api.github.com"
	webURL  = "https://github.com"
	head    = "4f5d1b0a9c3e7f2d6b8a0c1e3d5f7a9b1c3e5d7f"
	madeAt  = "2026-01-02T03:04:05Z"
	flowID  = 4712
	ownerID = 42
)

func node(kind string, id int64) string { return fmt.Sprintf("%s_%d", kind, id) }

func userJSON(login, kind string, id int64) map[string]any {
	u := apiURL + "/users/" + login
	return map[string]any{
		"login": login, "id": id, "node_id": node("U", id), "avatar_url": "https://avatars.githubusercontent.com/u/1", "gravatar_id": "",
		"url": u, "html_url": webURL + "/" + login, "followers_url": u + "/followers", "following_url": u + "/following{/other_user}",
		"gists_url": u + "/gists{/gist_id}", "starred_url": u + "/starred{/owner}{/repo}", "subscriptions_url": u + "/subscriptions",
		"organizations_url": u + "/orgs", "repos_url": u + "/repos", "events_url": u + "/events{/privacy}", "received_events_url": u + "/received_events",
		"type": kind, "site_admin": false,
	}
}

func organizationJSON(login string) map[string]any {
	u := apiURL + "/orgs/" + login
	return map[string]any{
		"login": login, "id": ownerID, "node_id": node("O", ownerID), "url": u, "repos_url": u + "/repos", "events_url": u + "/events", "hooks_url": u + "/hooks",
		"issues_url": u + "/issues", "members_url": u + "/members{/member}", "public_members_url": u + "/public_members{/member}",
		"avatar_url": "https://avatars.githubusercontent.com/u/1", "description": nil,
	}
}

// repositoryPaths are the addresses that every repository's payload has.
const repositoryPaths = `archive/{archive_format}{/ref} assignees{/user} blobs=git/blobs{/sha} branches{/branch} collaborators{/collaborator} comments{/number} commits{/sha}
compare/{base}...{head} contents/{+path} contributors deployments downloads events forks git_commits=git/commits{/sha} git_refs=git/refs{/sha} git_tags=git/tags{/sha} hooks
issue_comment=issues/comments{/number} issue_events=issues/events{/number} issues{/number} keys{/key_id} labels{/name} languages merges milestones{/number}
notifications{?since,all,participating} pulls{/number} releases{/id} stargazers statuses/{sha} subscribers subscription tags teams trees=git/trees{/sha}`

// repositoryLite is a repository inside something else.
func (g *GitHub) repositoryLite(r forge.Repository) map[string]any {
	u := apiURL + "/repos/" + r.String()
	id := g.repos[strings.ToLower(r.String())]
	out := map[string]any{
		"id": id, "node_id": node("R", id), "name": r.Name, "full_name": r.String(), "private": true, "owner": userJSON(r.Owner, "Organization", ownerID),
		"html_url": webURL + "/" + r.String(), "description": nil, "fork": false, "url": u,
	}
	for _, p := range strings.Fields(repositoryPaths) {
		name, path, ok := strings.Cut(p, "=")
		if !ok {
			name, path = p[:len(p)-len(strings.TrimLeft(p, "abcdefghijklmnopqrstuvwxyz_"))], p
		}
		out[name+"_url"] = u + "/" + path
	}
	return out
}

func (g *GitHub) repositoryJSON(r forge.Repository) map[string]any {
	out := g.repositoryLite(r)
	for k, v := range map[string]any{
		"created_at": madeAt, "updated_at": madeAt, "pushed_at": madeAt, "git_url": "git://github.com/" + r.String() + ".git", "ssh_url": "git@github.com:" + r.String() + ".git",
		"clone_url": webURL + "/" + r.String() + ".git", "svn_url": webURL + "/" + r.String(), "homepage": nil, "size": 1, "stargazers_count": 0, "watchers_count": 0,
		"language": nil, "has_issues": true, "has_projects": false, "has_downloads": true, "has_wiki": false, "has_pages": false, "forks_count": 0, "mirror_url": nil,
		"archived": false, "open_issues_count": 0, "license": nil, "forks": 0, "open_issues": 0, "watchers": 0, "default_branch": "main", "is_template": false,
		"web_commit_signoff_required": false, "topics": []any{}, "visibility": "private", "custom_properties": map[string]any{},
	} {
		out[k] = v
	}
	return out
}

// envelope is what every payload has around its own.
func (g *GitHub) envelope(r forge.Repository, action string) map[string]any {
	return map[string]any{
		"action": action, "repository": g.repositoryJSON(r), "organization": organizationJSON(r.Owner), "sender": userJSON("octocat", "User", 1),
	}
}

// jobPayload is a job as webhooks send it: what the lists show, and where to read on.
func jobPayload(j *job) map[string]any {
	out := jobJSON(j.Job)
	u := apiURL + "/repos/" + j.repo.String()
	for k, v := range map[string]any{
		"run_url": fmt.Sprintf("%s/actions/runs/%d", u, j.RunID), "node_id": node("CR", j.ID), "head_sha": head, "url": fmt.Sprintf("%s/actions/jobs/%d", u, j.ID),
		"html_url": fmt.Sprintf("%s/%s/actions/runs/%d/job/%d", webURL, j.repo, j.RunID, j.ID), "check_run_url": fmt.Sprintf("%s/check-runs/%d", u, j.ID),
	} {
		out[k] = v
	}
	return out
}

func (g *GitHub) runPayload(w *run) map[string]any {
	out := runJSON(w.Run)
	u := fmt.Sprintf("%s/repos/%s/actions/runs/%d", apiURL, w.repo, w.ID)
	before := any(nil)
	if w.Attempt > 1 {
		before = fmt.Sprintf("%s/attempts/%d", u, w.Attempt-1)
	}
	person := map[string]any{"name": "Octo Cat", "email": "octocat@example.com"}
	for k, v := range map[string]any{
		"artifacts_url": u + "/artifacts", "cancel_url": u + "/cancel", "check_suite_url": apiURL + "/repos/" + w.repo.String() + "/check-suites/1", "check_suite_id": 1,
		"check_suite_node_id": node("CS", 1), "event": "push", "head_branch": "main", "head_sha": head, "jobs_url": u + "/jobs", "logs_url": u + "/logs", "node_id": node("WFR", w.ID),
		"head_commit":     map[string]any{"id": head, "tree_id": head, "message": "Change it", "timestamp": madeAt, "author": person, "committer": person},
		"head_repository": g.repositoryLite(w.repo), "repository": g.repositoryLite(w.repo), "pull_requests": []any{}, "rerun_url": u + "/rerun", "run_number": 1, "url": u,
		"workflow_id": flowID, "workflow_url": fmt.Sprintf("%s/repos/%s/actions/workflows/%d", apiURL, w.repo, flowID), "run_started_at": w.CreatedAt.Format(time.RFC3339),
		"previous_attempt_url": before, "actor": userJSON("octocat", "User", 1), "triggering_actor": userJSON("octocat", "User", 1), "path": ".github/workflows/ci.yml",
		"display_title": "Change it",
	} {
		out[k] = v
	}
	return out
}

func workflowJSON(r forge.Repository) map[string]any {
	return map[string]any{
		"id": flowID, "node_id": node("W", flowID), "name": "CI", "path": ".github/workflows/ci.yml", "state": "active", "created_at": madeAt, "updated_at": madeAt,
		"url":      fmt.Sprintf("%s/repos/%s/actions/workflows/%d", apiURL, r, flowID),
		"html_url": webURL + "/" + r.String() + "/blob/main/.github/workflows/ci.yml", "badge_url": webURL + "/" + r.String() + "/workflows/CI/badge.svg",
	}
}
