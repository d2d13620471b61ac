package dashboard

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// What forms hold, so that a refused one comes back as it was filled in. None keeps a
// password or a secret.
type (
	signInForm struct{ Name, Next string }
	setupForm  struct{ Name string }
	userForm   struct{ Name, Role string }
	tokenForm  struct {
		Name, Role, In string
		Days           int
	}
)

type applicationsModel struct {
	Filter       view.ApplicationFilter
	In           string // the filter's scope as the form writes it
	List         view.List[view.ApplicationRow]
	Environments []slipway.Environment
}

type tasksModel struct {
	Filter       view.TaskFilter
	In           string
	List         view.List[view.TaskRow]
	Environments []slipway.Environment
}

func (m tasksModel) filtered() bool { return m.Filter != (view.TaskFilter{}) }

func (m tasksModel) query() string {
	q := url.Values{}
	if m.Filter.ApplicationID > 0 {
		q.Set("application", id(m.Filter.ApplicationID))
	}
	set(q, "in", m.In)
	set(q, "state", string(m.Filter.State))
	return withQuery("/tasks", q)
}

type taskModel struct {
	view.TaskPage
	Outputs   map[int64]output
	Result    string
	Said      string // one sentence on where it stands, for those who hear the page
	PrefectUI string
}

func newTaskModel(p view.TaskPage, prefectUI string) taskModel {
	m := taskModel{TaskPage: p, Outputs: outputs(p.Steps), PrefectUI: prefectUI, Said: said(p)}
	if len(p.Task.Result) > 0 && string(p.Task.Result) != "{}" && string(p.Task.Result) != "null" {
		m.Result = pretty(p.Task.Result)
	}
	return m
}

// said is the sentence that a screen reader speaks whenever it changes.
func said(p view.TaskPage) string {
	s := fmt.Sprintf("Task %d: %s.", p.Task.ID, strings.ToLower(taskSign(p.Task.State).Word))
	if n := len(p.Steps); n > 0 && !p.Task.State.Over() {
		last := p.Steps[n-1]
		s += fmt.Sprintf(" Step %d, %s: %s.", n, last.Name, strings.ToLower(stepSign(last.State).Word))
	}
	return s
}

type tokensModel struct {
	All          bool
	List         view.List[slipway.Token]
	New          *newTokenModel
	Form         tokenForm
	Environments []slipway.Environment
}

// newTokenModel is a token that was just made, with its value. It is rendered into one
// answer and then dropped.
type newTokenModel struct{ Name, Value string }

// revoke is where a token's revocation is asked for, and from where one comes back to the
// same list.
func (m tokensModel) revoke(t slipway.Token) string {
	to := address("tokens", id(t.ID), "revoke")
	if m.All {
		to += "?of=all"
	}
	return to
}

func (m tokensModel) query() string {
	if m.All {
		return "/tokens?of=all"
	}
	return "/tokens"
}

var (
	applicationStates = []slipway.ApplicationState{slipway.AppAccepted, slipway.AppChanging, slipway.AppRunning, slipway.AppFailed, slipway.AppDeleting}
	taskStates        = []slipway.TaskState{slipway.Queued, slipway.Running, slipway.Succeeded, slipway.Failed, slipway.Cancelled}
	tokenDays         = []int{7, 30, 90, 365, 0}
)

// scopeOptions lists what a filter can be set to: each project, then its environments.
func scopeOptions(environments []slipway.Environment) []string {
	var out []string
	for i, e := range environments {
		if i == 0 || environments[i-1].Project != e.Project {
			out = append(out, e.Project)
		}
		out = append(out, e.Ref())
	}
	return out
}

// splitScope reads a scope as scopeOptions writes it.
func splitScope(in string) (project, environment string) {
	project, environment, _ = strings.Cut(in, "/")
	return project, environment
}

func joinScope(project, environment string) string {
	if environment == "" {
		return project
	}
	return slipway.EnvironmentRef(project, environment)
}

func applicationsQuery(f view.ApplicationFilter, after string) string {
	q := url.Values{}
	set(q, "in", joinScope(f.Project, f.Environment))
	set(q, "state", string(f.State))
	set(q, "after", after)
	return withQuery("/applications", q)
}

func auditQuery(f view.AuditFilter) string {
	q := url.Values{}
	set(q, "user", f.User)
	set(q, "action", f.Action)
	return withQuery("/audit", q)
}

func set(q url.Values, key, value string) {
	if value != "" {
		q.Set(key, value)
	}
}

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// nextPage is the address of a list's next part; empty when there is none.
func nextPage(list, after string) string {
	if after == "" {
		return ""
	}
	path, query, _ := strings.Cut(list, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		return "" // list is one of our own addresses
	}
	q.Set("after", after)
	return withQuery(path, q)
}

func revisionAddress(a slipway.Application, number int64) string {
	return applicationAddress(a) + "/revisions/" + id(number)
}

func revisionsMore(m view.ApplicationPage) string {
	return nextPage(applicationAddress(m.Application), m.Revisions.Next)
}

func outputAddress(s view.Step) string {
	return taskAddress(s.TaskID) + "/steps/" + id(s.ID) + "/output"
}

func driverAddress(d slipway.Driver) string { return address("drivers", d.Name, d.Version) }

func appliedWord(revision int64) string {
	if revision == 0 {
		return "none on the cluster yet"
	}
	return fmt.Sprintf("revision %d on the cluster", revision)
}

func anyVersion(supported string) string {
	if supported == "" {
		return "any version"
	}
	return supported
}

func chartWord(c slipway.ChartRef) string {
	if strings.Contains(c.Location, "://") {
		return strings.TrimSpace(c.Location + " " + c.Version)
	}
	return strings.TrimSpace("in the bundle " + c.Version)
}

func timeoutWord(a slipway.Action) string {
	d := a.Timeout
	if d == 0 {
		d = slipway.DefaultActionTimeout
	}
	if d%time.Hour == 0 {
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return took(d)
}

func selectorWord(selector map[string]string) string {
	var parts []string
	for _, k := range sortedKeys(selector) {
		parts = append(parts, k+"="+selector[k])
	}
	return strings.Join(parts, ", ")
}

// orderedActions puts a driver's actions as they run: setup before upgrade before rollback, pre before
// core before post.
func orderedActions(d slipway.DriverSpec) []slipway.Action {
	var out []slipway.Action
	for _, h := range []slipway.Hook{slipway.Setup, slipway.Upgrade, slipway.Rollback} {
		for _, m := range []slipway.Mode{slipway.Pre, slipway.Core, slipway.Post} {
			out = append(out, d.ActionsOf(h, m)...)
		}
	}
	return out
}

func tokenScope(t slipway.Token) string {
	if t.Project == "" {
		return "everything"
	}
	return joinScope(t.Project, t.Environment)
}

func stoppedSentence(names []string) string {
	verb := "is"
	if len(names) > 1 {
		verb = "are"
	}
	return fmt.Sprintf("%s %s stopped since this task", strings.Join(names, ", "), verb)
}

// lastFailed is the newest task that failed; 0 when none of these did.
func lastFailed(rows []view.TaskRow) int64 {
	for _, t := range rows {
		if t.State == slipway.Failed {
			return t.ID
		}
	}
	return 0
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func pressed(b bool) string { return strconv.FormatBool(b) }

func firstTime(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}
