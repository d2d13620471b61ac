package dashboard

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// poolForm is what somebody typed of one runner pool, or of the whole file of an
// application. It judges nothing: it is written as application.toml, and the parser of that
// says what is wrong, with the keys that lead back to the fields.
type poolForm struct {
	File   bool              // the file itself is edited
	Source string            // then: the file
	Values map[string]string // else: what stands in each field, by the field's name
}

// poolField is a field whose text is the value of one key of the file.
type poolField struct {
	name  string
	path  string // of the key, below the service
	kind  fieldKind
	label string
	hint  string
}

type fieldKind int

const (
	textField fieldKind = iota
	numberField
	listField
)

// poolFields are in the order of the file. Three things are no such field: the names of the
// application and of the service, whose jobs they are (of and owner), and when the runners
// go (when and idle).
var poolFields = []poolField{
	{"size", "size", textField, "Size of a runner", ""},
	{"replicas", "replicas", numberField, "Runners at most", "So many jobs run at once."},
	{"requests_cpu", "resources.requests.cpu", textField, "CPU reserved", "As the size says where it is empty. For example 500m or 2."},
	{"requests_memory", "resources.requests.memory", textField, "Memory reserved", "For example 4Gi."},
	{"limits_cpu", "resources.limits.cpu", textField, "CPU at most", ""},
	{"limits_memory", "resources.limits.memory", textField, "Memory at most", ""},
	{"runner_group_id", "actions.runner_group_id", numberField, "Runner group", "Its ID, from the address of its page at GitHub. Without one it is the organization's default."},
	{"base_url", "actions.base_url", textField, "Server", "Of your own: https://github.example.com. Empty for github.com or gitlab.com."},
	{"credential", "actions.credential", textField, "Credential", ""},
	{"jobs_credential", "actions.jobs_credential", textField, "Credential for jobs and logs", "A token that may read Actions, where the other one may not."},
	{"labels", "actions.labels", listField, "Labels", "That jobs name in runs-on, or in tags at GitLab, with commas between them: slipway, large. Without any, runners of GitLab take jobs without tags, and those of Bitbucket have its own labels alone."},
	{"architecture", "actions.architecture", textField, "Architecture", ""},
	{"node_name", "actions.node_name", textField, "Only on the node", "As kubectl get nodes names it. Empty: on any that is prepared for runners."},
	{"timeout_minutes", "actions.timeout_minutes", numberField, "Minutes that a runner may live", "60 where it is empty. A job that takes longer is ended."},
	{"workspace_size_gib", "actions.workspace_size_gib", numberField, "Disk of a runner in GiB", "2 to 16; 2 where it is empty."},
	{"idle", "actions.idle_seconds", numberField, "Seconds", ""},
	{"min_replicas", "actions.min_replicas", numberField, "Runners at least", "That stay when no job waits; 0 where it is empty."},
	{"spare", "actions.spare", numberField, "Free runners at least", "That are ready beside the busy ones; 0 where it is empty."},
	{"priority", "actions.priority", numberField, "Priority", "-100 to 100. Where the installation's limit is short, the pool with the higher one is served first."},
}

// otherFields are those that are no poolField.
var otherFields = []string{"name", "service", "of", "owner", "when"}

func fieldNames() []string {
	out := slices.Clone(otherFields)
	for _, f := range poolFields {
		out = append(out, f.name)
	}
	return out
}

// fieldOf describes a field.
func fieldOf(name string) poolField {
	i := slices.IndexFunc(poolFields, func(f poolField) bool { return f.name == name })
	if i < 0 {
		panic("no field " + name)
	}
	return poolFields[i]
}

// poolOwner is a way to say whose jobs a pool takes.
type poolOwner struct {
	name  string // of the choice
	forge slipway.ForgeKind
	key   string // of the file
	label string
	of    func(slipway.RunnerActions) string
}

var poolOwners = []poolOwner{
	{"organization", slipway.GitHub, "organization", "Organization at GitHub", func(a slipway.RunnerActions) string { return a.Organization }},
	{"repository", slipway.GitHub, "repository", "Repository at GitHub", func(a slipway.RunnerActions) string { return a.Repository }},
	{"gitlab-group", slipway.GitLab, "group", "Group at GitLab", func(a slipway.RunnerActions) string { return a.Group }},
	{"gitlab-project", slipway.GitLab, "project", "Project at GitLab", func(a slipway.RunnerActions) string { return a.Project }},
	{"bitbucket-workspace", slipway.Bitbucket, "workspace", "Workspace at Bitbucket", func(a slipway.RunnerActions) string { return a.Workspace }},
	{"bitbucket-repository", slipway.Bitbucket, "repository", "Repository at Bitbucket", func(a slipway.RunnerActions) string { return a.Repository }},
}

// owner is the choice that was made; the first one where none was.
func (f poolForm) owner() poolOwner {
	for _, o := range poolOwners {
		if o.name == f.Values["of"] {
			return o
		}
	}
	return poolOwners[0]
}

// When runners go that have no job.
const (
	whenIdle  = "idle"
	whenNever = "never"
)

// freshPool is the form before anyone has filled it in: a pool that sleeps.
func freshPool() poolForm {
	return poolForm{Values: map[string]string{"service": "runner", "of": "organization", "when": whenIdle, "idle": "300", "replicas": "4", "size": "standard", "architecture": string(slipway.AMD64)}}
}

// poolFormOf fills the form with the pool of a spec. What the form cannot show is not in
// it: see shows.
func poolFormOf(s slipway.ApplicationSpec) poolForm {
	f := poolForm{Values: map[string]string{"name": s.Name, "when": whenNever, "of": "organization"}}
	for service, x := range s.Services {
		f.Values["service"] = service
		f.fill(x)
		break // of several the form shows none: see shows
	}
	return f
}

func (f poolForm) fill(x slipway.RunnerService) {
	a := x.Actions
	put := func(name, text string) {
		if text != "" {
			f.Values[name] = text
		}
	}
	number := func(name string, n int64) {
		if n != 0 {
			f.Values[name] = strconv.FormatInt(n, 10)
		}
	}
	put("size", x.Size)
	number("replicas", int64(x.Replicas))
	var size slipway.ServiceResources
	for _, s := range view.RunnerSizes() {
		if s.Name == x.Size {
			size = s.ServiceResources
		}
	}
	for name, q := range map[string][2]string{
		"requests_cpu": {x.Resources.Requests.CPU, size.Requests.CPU}, "requests_memory": {x.Resources.Requests.Memory, size.Requests.Memory},
		"limits_cpu": {x.Resources.Limits.CPU, size.Limits.CPU}, "limits_memory": {x.Resources.Limits.Memory, size.Limits.Memory},
	} {
		if q[0] != q[1] {
			put(name, q[0])
		}
	}
	for _, o := range poolOwners {
		if owner := o.of(a); o.forge == a.Forge && owner != "" {
			f.Values["of"], f.Values["owner"] = o.name, owner
		}
	}
	number("runner_group_id", a.RunnerGroupID)
	put("base_url", a.BaseURL)
	put("credential", a.Credential)
	put("jobs_credential", a.JobsCredential)
	put("labels", strings.Join(a.Labels, ", "))
	put("architecture", string(a.Architecture))
	put("node_name", a.NodeName)
	number("timeout_minutes", int64(a.TimeoutMinutes))
	number("workspace_size_gib", int64(a.WorkspaceGiB))
	if a.IdleSeconds > 0 {
		f.Values["when"] = whenIdle
	}
	number("idle", int64(a.IdleSeconds))
	number("min_replicas", int64(a.MinReplicas))
	number("spare", int64(a.Spare))
	number("priority", int64(a.Priority))
}

// readPoolForm reads what was sent.
func readPoolForm(r *request) poolForm {
	f := poolForm{File: r.form("as") == "file", Values: map[string]string{}}
	if f.File {
		f.Source = r.lines("source")
		return f
	}
	for _, name := range fieldNames() {
		if v := r.form(name); v != "" {
			f.Values[name] = v
		}
	}
	return f
}

// hidden are the form's fields as another form carries them on.
func (f poolForm) hidden() []crumb {
	if f.File {
		return []crumb{{"as", "file"}}
	}
	out := []crumb{{"as", "form"}}
	for _, name := range fieldNames() {
		if v := f.Values[name]; v != "" {
			out = append(out, crumb{name, v})
		}
	}
	return out
}

// TOML is the file that the form stands for.
func (f poolForm) TOML() string {
	if f.File {
		return f.Source
	}
	service := tomlKey(f.Values["service"])
	tables := []string{"", "resources.requests", "resources.limits", "actions"}
	lines := map[string][]string{}
	put := func(path, value string) {
		at := strings.LastIndexByte(path, '.')
		lines[path[:max(at, 0)]] = append(lines[path[:max(at, 0)]], path[at+1:]+" = "+value)
	}
	whose := f.owner()
	if whose.forge != slipway.GitHub {
		put("actions.forge", tomlText(string(whose.forge)))
	}
	if owner := f.Values["owner"]; owner != "" {
		put("actions."+whose.key, tomlText(owner))
	}
	for _, field := range poolFields {
		v := f.Values[field.name]
		switch {
		case field.name == "idle" && f.Values["when"] == whenNever:
		case field.name == "idle":
			put(field.path, tomlNumber(v)) // also when it is empty: left out it would say that no runner ever goes
		case field.name == "labels" && whose.forge != slipway.GitHub:
			put(field.path, tomlList(v)) // none at all has a meaning there
		case v == "":
		case field.kind == numberField:
			put(field.path, tomlNumber(v))
		case field.kind == listField:
			put(field.path, tomlList(v))
		default:
			put(field.path, tomlText(v))
		}
	}
	var b strings.Builder
	b.WriteString("schema_version = 1\n")
	if name := f.Values["name"]; name != "" {
		b.WriteString("name = " + tomlText(name) + "\n")
	}
	for _, table := range tables {
		// The parser wants the table of a service and its actions, also when nothing is in them.
		if len(lines[table]) == 0 && strings.HasPrefix(table, "resources") {
			continue
		}
		path := "services." + service
		if table != "" {
			path += "." + table
		}
		b.WriteString("\n[" + path + "]\n")
		for _, l := range lines[table] {
			b.WriteString(l + "\n")
		}
	}
	return b.String()
}

// fieldAt is the field that a key of the file stands for; empty: none.
func (f poolForm) fieldAt(path string) string {
	rest, under := strings.CutPrefix(path, "services.")
	if !under {
		return map[string]string{"name": "name", "services": "service"}[path]
	}
	service := f.Values["service"]
	for _, name := range []string{service, strconv.Quote(service)} {
		key, ok := strings.CutPrefix(rest, name)
		if !ok || key != "" && key[0] != '.' {
			continue
		}
		key, _, _ = strings.Cut(strings.TrimPrefix(key, "."), "[")
		switch {
		case key == "":
			return "service"
		case key == "actions" || slices.ContainsFunc(poolOwners, func(o poolOwner) bool { return key == "actions."+o.key }):
			return "owner"
		}
		if i := slices.IndexFunc(poolFields, func(p poolField) bool { return p.path == key }); i >= 0 {
			return poolFields[i].name
		}
	}
	return ""
}

// place sorts faults to the fields that they are about. Those of the whole come back.
func (f poolForm) place(faults []slipway.FieldError) (at map[string][]slipway.FieldError, rest []slipway.FieldError) {
	at = map[string][]slipway.FieldError{}
	for _, fault := range faults {
		if name := f.fieldAt(fault.Path); name != "" && !f.File {
			if isNumber(name) && !isWhole(f.Values[name]) {
				fault.Msg, fault.Hint = "must be a whole number", "" // of quotes, which the parser tells of, the form knows nothing
			}
			at[name] = append(at[name], fault)
		} else {
			rest = append(rest, fault)
		}
	}
	return at, rest
}

func isNumber(name string) bool {
	return slices.ContainsFunc(poolFields, func(p poolField) bool { return p.name == name && p.kind == numberField })
}

func isWhole(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

// tomlText writes a text. JSON's way of writing one is TOML's, but for DEL.
func tomlText(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string can always be written
	}
	return strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "\x7f", `\u007f`)
}

// tomlNumber writes a whole number; what is none stays a text, for the parser to refuse it
// at its place.
func tomlNumber(s string) string {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return tomlText(s)
	}
	return strconv.FormatInt(n, 10)
}

func tomlList(s string) string {
	var out []string
	for _, item := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(", \t\r\n", r) }) {
		out = append(out, tomlText(item))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// tomlKey writes a key, in quotes unless it is a word.
func tomlKey(s string) string {
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		return s
	}
	return tomlText(s)
}

// beyondForm says what of a file the form would not keep, although the spec says nothing of
// it: comments, and keys that belong to nobody.
func beyondForm(source string) string {
	aside, err := view.AsideOf(source)
	switch {
	case err != nil: // it was accepted once; nobody knows what else stands in it
		return "parts that are not understood any more"
	case aside.Comments && len(aside.Keys) > 0:
		return "comments and keys that begin with x-"
	case aside.Comments:
		return "comments"
	case len(aside.Keys) > 0:
		return "keys that begin with x-"
	}
	return ""
}

// newPoolAddress is where a pool is made in an environment.
func newPoolAddress(in string) string {
	q := url.Values{}
	set(q, "in", in)
	return withQuery("/runners/new", q)
}
