package api

import (
	"net/http"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// operation is one thing that the API can do.
type operation struct {
	id      string
	method  string
	path    string
	role    slipway.Role // the weakest that may; empty with open alone
	open    bool         // needs no credentials
	status  int          // of success
	tag     string
	summary string
	timeout time.Duration // of the handler; 0: ordinaryTimeout
}

const (
	get, post, put, patch, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete

	read, write, admin = slipway.ReadOnly, slipway.ReadWrite, slipway.Administrator
)

// operations is the whole API, and who may do what. A test walks it: none without a role
// or the word open, none that is not served.
var operations = []operation{
	{id: "get-installation", method: get, path: "/installation", role: read, status: 200, tag: "installation", summary: "Show which Slipway answers"},
	{id: "setup", method: post, path: "/setup", open: true, status: 201, tag: "installation", summary: "Make the first administrator"},
	{id: "login", method: post, path: "/login", open: true, status: 201, tag: "sessions", summary: "Exchange a password for a personal token"},
	{id: "logout", method: post, path: "/logout", role: read, status: 204, tag: "sessions", summary: "Revoke the token of this request"},
	{id: "whoami", method: get, path: "/whoami", role: read, status: 200, tag: "sessions", summary: "Show who the server takes the caller for"},

	{id: "list-projects", method: get, path: "/projects", role: read, status: 200, tag: "projects", summary: "List the projects"},
	{id: "create-project", method: post, path: "/projects", role: admin, status: 201, tag: "projects", summary: "Make a project"},
	{id: "get-project", method: get, path: "/projects/{project}", role: read, status: 200, tag: "projects", summary: "Show a project"},
	{id: "delete-project", method: del, path: "/projects/{project}", role: admin, status: 204, tag: "projects", summary: "Delete a project without environments"},

	{id: "list-environments", method: get, path: "/environments", role: read, status: 200, tag: "environments", summary: "List the environments"},
	{id: "create-environment", method: post, path: "/environments", role: admin, status: 201, tag: "environments", summary: "Make an environment"},
	{id: "get-environment", method: get, path: "/environments/{project}/{environment}", role: read, status: 200, tag: "environments", summary: "Show an environment"},
	{id: "set-environment-settings", method: patch, path: "/environments/{project}/{environment}", role: admin, status: 200, tag: "environments", summary: "Replace an environment's settings"},
	{id: "delete-environment", method: del, path: "/environments/{project}/{environment}", role: admin, status: 204, tag: "environments", summary: "Delete an environment without applications"},

	{id: "list-secrets", method: get, path: "/environments/{project}/{environment}/secrets", role: read, status: 200, tag: "secrets", summary: "List the secrets, without values"},
	{id: "set-secret", method: put, path: "/environments/{project}/{environment}/secrets/{secret}", role: write, status: 200, tag: "secrets", summary: "Give a secret a value"},
	{id: "delete-secret", method: del, path: "/environments/{project}/{environment}/secrets/{secret}", role: write, status: 204, tag: "secrets", summary: "Delete a secret that no application uses"},

	{id: "list-drivers", method: get, path: "/drivers", role: read, status: 200, tag: "drivers", summary: "List the loaded drivers"},
	{id: "load-driver", method: post, path: "/drivers", role: admin, status: 201, tag: "drivers", summary: "Load a packed driver", timeout: loadTimeout},
	{id: "get-driver", method: get, path: "/drivers/{driver}/{version}", role: read, status: 200, tag: "drivers", summary: "Show a driver"},
	{id: "delete-driver", method: del, path: "/drivers/{driver}/{version}", role: admin, status: 204, tag: "drivers", summary: "Delete a version of a driver that is not in use"},

	{id: "list-applications", method: get, path: "/applications", role: read, status: 200, tag: "applications", summary: "List the applications"},
	{id: "validate-application", method: post, path: "/environments/{project}/{environment}/applications:validate", role: read, status: 200, tag: "applications", summary: "Check a spec", timeout: checkTimeout},
	{id: "plan-application", method: post, path: "/environments/{project}/{environment}/applications:plan", role: read, status: 200, tag: "applications", summary: "Say what a deploy of a spec would do; writes nothing", timeout: checkTimeout},
	{id: "deploy-application", method: post, path: "/environments/{project}/{environment}/applications", role: write, status: 202, tag: "applications", summary: "Ask for a spec to be made true", timeout: checkTimeout},
	{id: "get-application", method: get, path: "/applications/{application}", role: read, status: 200, tag: "applications", summary: "Show an application"},
	{id: "delete-application", method: del, path: "/applications/{application}", role: write, status: 202, tag: "applications", summary: "Ask for an application to be removed from its cluster"},
	{id: "list-revisions", method: get, path: "/applications/{application}/revisions", role: read, status: 200, tag: "applications", summary: "List an application's revisions, newest first"},
	{id: "get-revision", method: get, path: "/applications/{application}/revisions/{revision}", role: read, status: 200, tag: "applications", summary: "Show a revision with its TOML"},
	{id: "get-drift", method: get, path: "/applications/{application}/drift", role: read, status: 200, tag: "applications", summary: "Show in what the cluster differs from what was applied", timeout: (maxWait + 10) * time.Second},
	{id: "check-drift", method: post, path: "/applications/{application}/drift/check", role: read, status: 202, tag: "applications", summary: "Ask for the cluster to be compared now"},
	{id: "repair-application", method: post, path: "/applications/{application}/repair", role: write, status: 202, tag: "applications", summary: "Ask for what drifted to be put back; runs no hooks"},
	{id: "plan-rollback", method: get, path: "/applications/{application}/rollback", role: read, status: 200, tag: "applications", summary: "Say what a rollback would do; writes nothing", timeout: checkTimeout},
	{id: "rollback-application", method: post, path: "/applications/{application}/rollback", role: write, status: 202, tag: "applications", summary: "Ask for the content of an earlier revision"},
	{id: "stop-components", method: post, path: "/applications/{application}/components/stop", role: write, status: 202, tag: "applications", summary: "Ask for components to be stopped"},
	{id: "start-components", method: post, path: "/applications/{application}/components/start", role: write, status: 202, tag: "applications", summary: "Ask for components to be started"},

	{id: "list-backup-locations", method: get, path: "/environments/{project}/{environment}/backup-locations", role: read, status: 200, tag: "backups", summary: "List the places for backups"},
	{id: "create-backup-location", method: post, path: "/environments/{project}/{environment}/backup-locations", role: write, status: 201, tag: "backups", summary: "Make a place for backups"},
	{id: "delete-backup-location", method: del, path: "/environments/{project}/{environment}/backup-locations/{location}", role: write, status: 204, tag: "backups", summary: "Delete a place that holds no backup"},
	{id: "list-backups", method: get, path: "/backups", role: read, status: 200, tag: "backups", summary: "List backups, newest first"},
	{id: "get-backup", method: get, path: "/backups/{backup}", role: read, status: 200, tag: "backups", summary: "Show a backup with its files"},
	{id: "create-backup", method: post, path: "/applications/{application}/backups", role: write, status: 202, tag: "backups", summary: "Ask for a backup of an application"},
	{id: "delete-backup", method: del, path: "/backups/{backup}", role: write, status: 202, tag: "backups", summary: "Ask for a backup's files to be removed"},
	{id: "plan-restore", method: post, path: "/applications/{application}/restore:plan", role: read, status: 200, tag: "backups", summary: "Say what a restore would do; writes nothing"},
	{id: "restore-application", method: post, path: "/applications/{application}/restore", role: write, status: 202, tag: "backups", summary: "Ask for what is there to be overwritten by a backup"},

	{id: "list-runner-pools", method: get, path: "/runner-pools", role: read, status: 200, tag: "runners", summary: "List the runner pools and how they stand"},
	{id: "get-actions", method: get, path: "/applications/{application}/actions", role: read, status: 200, tag: "runners", summary: "Show an application's runner pools with their slots and jobs"},
	{id: "pause-pools", method: post, path: "/applications/{application}/actions/pause", role: write, status: 200, tag: "runners", summary: "Have pools take no more jobs; busy runners end theirs"},
	{id: "resume-pools", method: post, path: "/applications/{application}/actions/resume", role: write, status: 200, tag: "runners", summary: "Have paused pools take jobs again"},
	{id: "forget-runners", method: post, path: "/applications/{application}/actions/forget", role: admin, status: 200, tag: "runners", summary: "Give up runners of pools that are being deleted and whose cleanup cannot end"},
	{id: "list-slots", method: get, path: "/applications/{application}/actions/slots", role: read, status: 200, tag: "runners", summary: "List the slots of an application's pools, newest first"},
	{id: "list-jobs", method: get, path: "/applications/{application}/actions/jobs", role: read, status: 200, tag: "runners", summary: "List the jobs that an application's pools serve, newest first"},
	{id: "get-job", method: get, path: "/jobs/{host}/{job}", role: read, status: 200, tag: "runners", summary: "Show a job, known or not, and why it waits", timeout: forgeTimeout},
	{id: "get-job-log", method: get, path: "/jobs/{host}/{job}/log", role: read, status: 200, tag: "runners", summary: "Fetch the log of a job that has ended, or search it; it is not stored", timeout: forgeTimeout},

	{id: "list-connections", method: get, path: "/connections", role: read, status: 200, tag: "connections", summary: "List the connections to forges"},
	// For an environment who may write there may; one of the installation is an
	// administrator's, which package change checks.
	{id: "create-connection", method: post, path: "/connections", role: write, status: 201, tag: "connections", summary: "Make an address that a forge can send deliveries to"},
	{id: "get-connection", method: get, path: "/connections/{connection}", role: read, status: 200, tag: "connections", summary: "Show a connection"},
	{id: "delete-connection", method: del, path: "/connections/{connection}", role: write, status: 204, tag: "connections", summary: "Delete a connection with the record of its deliveries"},
	{id: "rotate-connection-secret", method: post, path: "/connections/{connection}/secret", role: write, status: 201, tag: "connections", summary: "Give a connection another webhook secret"},
	{id: "list-deliveries", method: get, path: "/connections/{connection}/deliveries", role: read, status: 200, tag: "connections", summary: "List the newest deliveries of a connection"},
	{id: "get-app-manifest", method: get, path: "/connections/{connection}/manifest", role: read, status: 200, tag: "connections", summary: "Show what GitHub makes the connection's App from"},
	{id: "take-app", method: post, path: "/connections/{connection}/app", role: write, status: 200, tag: "connections", summary: "Give a connection its GitHub App, by a code that GitHub gave or by its key", timeout: forgeTimeout},

	{id: "list-tasks", method: get, path: "/tasks", role: read, status: 200, tag: "tasks", summary: "List tasks, newest first"},
	{id: "get-task", method: get, path: "/tasks/{task}", role: read, status: 200, tag: "tasks", summary: "Show a task with its steps", timeout: (maxWait + 10) * time.Second},
	{id: "cancel-task", method: post, path: "/tasks/{task}/cancel", role: write, status: 202, tag: "tasks", summary: "Ask for a task's end"},
	{id: "plan-retry", method: get, path: "/tasks/{task}/retry", role: read, status: 200, tag: "tasks", summary: "Say what a retry of a task would repeat; writes nothing"},
	{id: "retry-task", method: post, path: "/tasks/{task}/retry", role: write, status: 202, tag: "tasks", summary: "Ask for another attempt at a task that failed or was cancelled"},
	{id: "get-step-output", method: get, path: "/tasks/{task}/steps/{step}/output", role: read, status: 200, tag: "tasks", summary: "Show what is stored of a step's output"},
	{id: "add-step-note", method: post, path: "/tasks/{task}/steps/{step}/notes", role: write, status: 204, tag: "actions", summary: "Add a line to a running step; only for actions"},

	{id: "call-action", method: post, path: "/action-calls", role: write, status: 202, tag: "actions", summary: "Ask for a primitive; only for actions"},
	{id: "get-action-call", method: get, path: "/action-calls/{call}", role: write, status: 200, tag: "actions", summary: "Show a call of a primitive", timeout: (maxWait + 10) * time.Second},

	{id: "list-users", method: get, path: "/users", role: read, status: 200, tag: "users", summary: "List the users"},
	{id: "create-user", method: post, path: "/users", role: admin, status: 201, tag: "users", summary: "Make a user"},
	{id: "get-user", method: get, path: "/users/{user}", role: read, status: 200, tag: "users", summary: "Show a user"},
	// A user may change their own password; package change refuses the rest.
	{id: "change-user", method: patch, path: "/users/{user}", role: read, status: 200, tag: "users", summary: "Change a user's role or password, or shut them out"},

	{id: "list-tokens", method: get, path: "/tokens", role: read, status: 200, tag: "tokens", summary: "List one's own tokens or, as an administrator, all"},
	{id: "create-token", method: post, path: "/tokens", role: read, status: 201, tag: "tokens", summary: "Make a token"},
	{id: "revoke-token", method: del, path: "/tokens/{token}", role: read, status: 204, tag: "tokens", summary: "Revoke a token"},

	{id: "list-audit", method: get, path: "/audit", role: admin, status: 200, tag: "audit", summary: "List who did what, newest first"},
	{id: "watch-events", method: get, path: "/events", role: read, status: 200, tag: "events", summary: "Stream what changes, as server-sent events"},
}

func operationByID(id string) operation {
	for _, o := range operations {
		if o.id == id {
			return o
		}
	}
	panic("api: operation " + id + " is not in the table")
}
