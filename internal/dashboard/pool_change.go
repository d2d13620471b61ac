package dashboard

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// poolChange is the page on which a runner application is made or changed.
type poolChange struct {
	App          slipway.Application // the zero value: a new one
	Base         int64               // the revision that the form was filled from; 0: none
	In           string              // project/environment; empty: it is still to be chosen
	Environments []slipway.Environment
	Form         poolForm
	OnlyFile     string   // why the form cannot show the application; empty: it can
	Lost         string   // what the form would not keep of the file; empty: nothing
	Secrets      []string // of the environment
	Servers      []string // addresses that its connections have
	Woken        bool     // a connection brings it jobs, or who asks may not see whether one does
	At           map[string][]slipway.FieldError
}

// poolPlan is what a deploy of a poolChange would do.
type poolPlan struct {
	poolChange
	change.Plan
	Source string
}

func (m poolChange) fresh() bool { return m.App.ID == 0 }

// address is where the form is sent.
func (m poolChange) address() string {
	if m.fresh() {
		return "/runners/new"
	}
	return applicationAddress(m.App) + "/change"
}

// as is the address of the form, or of the file.
func (m poolChange) as(what string) string {
	if m.fresh() {
		return newPoolAddress(m.In) + "&as=" + what
	}
	return m.address() + "?as=" + what
}

func (m poolChange) title() string {
	if m.fresh() {
		return "New runner pool"
	}
	return "Change " + m.App.Name
}

func (m poolChange) crumbs() []crumb {
	if m.fresh() {
		return []crumb{{"Runners", "/runners"}}
	}
	return applicationCrumbs(m.App)
}

// file is how people name the file that a plan shows.
func (p poolPlan) file() string { return p.Name + ".toml" }

// warnings are the plan's, and what only somebody at a form has to be told.
func (p poolPlan) warnings() []string {
	out := slices.Clone(p.Warnings)
	if p.Base != 0 && p.Revision != p.Base {
		out = append(out, fmt.Sprintf("revision %d was deployed since you opened the form of revision %d: this would take back what it changed, as the differences show", p.Revision, p.Base))
	}
	if !p.Woken && slices.ContainsFunc(p.Pools, func(x change.PlannedPool) bool { return x.Sleeps }) {
		out = append(out, "no connection brings it jobs, so nothing wakes it: make one with  slipway connections create NAME -e "+p.In)
	}
	return out
}

// mayWrite refuses those who could not deploy what they would type.
func (r *request) mayWrite() error {
	if r.caller.Role.Allows(slipway.ReadWrite) {
		return nil
	}
	return slipway.Errorf(slipway.Forbidden, "this needs the role %s, and you have %s", slipway.ReadWrite, r.caller.Role).WithHint("ask an administrator")
}

// readForm reads a form that may hold a whole file.
func (r *request) readForm() error {
	err := r.ParseForm()
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return slipway.Errorf(slipway.TooLarge, "what was sent has more than %s", bytesWord(maxForm)).
			WithHint("keep the file in git, and give it to  slipway deploy")
	} else if err != nil {
		return slipway.Errorf(slipway.Invalid, "the form could not be read").WithHint("send it again")
	}
	return nil
}

// lines reads a field of several lines: browsers send CR LF at the end of each.
func (r *request) lines(name string) string {
	return strings.ReplaceAll(r.PostFormValue(name), "\r\n", "\n")
}

// newPool shows the form of a new pool, or asks first in which environment it is to be: the
// form offers the secrets of one.
func (s *site) newPool(r *request) error {
	m := poolChange{Form: freshPool(), In: r.URL.Query().Get("in")}
	if err := s.readPoolChange(r, &m); err != nil {
		return err
	}
	m.Form.File = r.URL.Query().Get("as") == "file"
	return s.showPoolForm(r, m, nil)
}

// doNewPool plans what was typed, or shows the form with it again.
func (s *site) doNewPool(r *request) error {
	m, err := s.sentNewPool(r)
	if err != nil {
		return err
	}
	if r.form("do") == "edit" {
		return s.showPoolForm(r, m, nil)
	}
	return s.showPoolPlan(r, m, m.Form.TOML(), nil)
}

func (s *site) doDeployNewPool(r *request) error {
	m, err := s.sentNewPool(r)
	if err != nil {
		return err
	}
	return s.deployPool(r, m)
}

func (s *site) sentNewPool(r *request) (m poolChange, err error) {
	if err := r.readForm(); err != nil {
		return m, err
	}
	m.Form, m.In = readPoolForm(r), r.form("in")
	return m, s.readPoolChange(r, &m)
}

// changePool shows the form of an application as it is wanted now.
func (s *site) changePool(r *request) error {
	m, err := s.changedPool(r)
	if err != nil {
		return err
	}
	return s.showPoolForm(r, m, nil)
}

func (s *site) doChangePool(r *request) error {
	m, err := s.sentChange(r)
	if err != nil {
		return err
	}
	if r.form("do") == "edit" {
		return s.showPoolForm(r, m, nil)
	}
	return s.showPoolPlan(r, m, m.Form.TOML(), nil)
}

func (s *site) doDeployChange(r *request) error {
	m, err := s.sentChange(r)
	if err != nil {
		return err
	}
	return s.deployPool(r, m)
}

func (s *site) sentChange(r *request) (poolChange, error) {
	if err := r.readForm(); err != nil {
		return poolChange{}, err
	}
	m, err := s.changedPool(r)
	if err != nil {
		return m, err
	}
	m.Form = readPoolForm(r)
	if m.OnlyFile != "" && !m.Form.File {
		// What the form cannot show must not be lost by somebody who kept an old page open.
		return m, slipway.Errorf(slipway.Conflict, "%s has changed since you opened the form: %s", m.App.Ref(), m.OnlyFile).
			WithHint("open its page again, and change the file")
	}
	if base, err := strconv.ParseInt(r.form("base"), 10, 64); err == nil {
		m.Base = base
	}
	return m, nil
}

// changedPool reads an application of the path, and fills the form with what is wanted.
func (s *site) changedPool(r *request) (m poolChange, err error) {
	if err := r.mayWrite(); err != nil {
		return m, err
	}
	page, err := s.applicationOf(r)
	if err != nil {
		return m, err
	}
	m.App = page.Application
	if m.App.Kind != slipway.RunnerApplication {
		return m, slipway.Errorf(slipway.NotFound, "%s is an application with a driver, and has no runner pools", m.App.Ref()).
			WithHint("change its file, and give it to  slipway deploy")
	}
	wanted, err := s.View.Revision(r.Context(), r.caller, m.App.ID, m.App.Revision)
	if err != nil {
		return m, err
	}
	m.Base, m.In = wanted.Revision.Number, slipway.EnvironmentRef(m.App.Project, m.App.Environment)
	m.Form = poolFormOf(wanted.Revision.Spec)
	if m.OnlyFile, err = s.formShows(r, m.Form, wanted.Revision.Spec); err != nil {
		return m, err
	}
	m.Lost = beyondForm(wanted.Revision.Source)
	as := r.URL.Query().Get("as")
	m.Form.File = m.OnlyFile != "" || as == "file" || as == "" && m.Lost != ""
	m.Form.Source = wanted.Revision.Source
	return m, s.readPoolChange(r, &m)
}

// formShows says why the form cannot show a spec; empty: it can. Whether it can is asked of
// the parser: what the form writes must be read as the very same spec, so that a key that
// the form does not know is never lost.
func (s *site) formShows(r *request, f poolForm, want slipway.ApplicationSpec) (why string, err error) {
	switch {
	case len(want.Services) > 1:
		return fmt.Sprintf("it has %d pools, and the form shows one", len(want.Services)), nil
	case slices.ContainsFunc(servicesOf(want), func(x slipway.RunnerService) bool { return len(x.Actions.Schedules) > 0 }):
		return "it has schedules, which the form does not show", nil
	}
	const other = "it says something that the form does not show"
	got, err := s.Change.Validate(r.Context(), r.caller, change.SpecInput{Source: []byte(f.TOML())})
	if slipway.Is(err, slipway.Invalid) {
		return other, nil
	} else if err != nil {
		return "", err
	}
	a, err1 := json.Marshal(got)
	b, err2 := json.Marshal(want)
	if err := errors.Join(err1, err2); err != nil {
		return "", fmt.Errorf("compare the form with the spec of %s: %w", want.Name, err)
	}
	if !bytes.Equal(a, b) {
		return other, nil
	}
	return "", nil
}

func servicesOf(s slipway.ApplicationSpec) (out []slipway.RunnerService) {
	for _, name := range sortedKeys(s.Services) {
		out = append(out, s.Services[name])
	}
	return out
}

// readPoolChange reads what the form offers.
func (s *site) readPoolChange(r *request, m *poolChange) (err error) {
	if err := r.mayWrite(); err != nil {
		return err
	}
	if m.Environments, err = s.environments(r.Context(), r.caller); err != nil {
		return err
	}
	if m.In == "" && len(m.Environments) == 1 {
		m.In = m.Environments[0].Ref()
	}
	project, environment := splitScope(m.In)
	if environment == "" {
		m.In = ""
		return nil
	}
	secrets, err := s.View.Secrets(r.Context(), r.caller, project, environment, view.Page{Limit: 500})
	if err != nil {
		return err
	}
	for _, x := range secrets.Items {
		m.Secrets = append(m.Secrets, x.Name)
	}
	connections, err := s.View.Connections(r.Context(), r.caller, view.ConnectionFilter{})
	if err != nil {
		return err
	}
	m.Woken = r.caller.Project != "" // who is confined does not see those of the installation
	for _, c := range connections {
		if c.EnvironmentID != 0 && slipway.EnvironmentRef(c.Project, c.Environment) != m.In {
			continue
		}
		m.Woken = m.Woken || m.Form.File || slipway.ForgeHost(c.BaseURL) == slipway.ForgeHost(m.Form.Values["base_url"])
		if c.BaseURL != "" && !slices.Contains(m.Servers, c.BaseURL) {
			m.Servers = append(m.Servers, c.BaseURL)
		}
	}
	return nil
}

// showPoolForm answers with the form, with what is wrong if something is.
func (s *site) showPoolForm(r *request, m poolChange, f *fault) error {
	page := r.frame(m.title(), "/runners")
	page.Crumbs = m.crumbs()
	status := http.StatusOK
	if f != nil {
		status = f.Status
		m.At, f.Fields = m.Form.place(f.Fields)
	}
	if m.In == "" {
		return r.render(status, poolWherePage(page, m))
	}
	return r.render(status, poolFormPage(page, m, f))
}

func (m poolChange) input(source string) change.SpecInput {
	project, environment := splitScope(m.In)
	in := change.SpecInput{Project: project, Environment: environment, Source: []byte(source)}
	if !m.Form.File {
		in.File = "the pool"
	}
	return in
}

// planPool plans a file. What is no change of the page's application is refused.
func (s *site) planPool(r *request, m poolChange, source string) (p change.Plan, err error) {
	p, err = s.Change.Plan(r.Context(), r.caller, m.input(source))
	if err != nil {
		return p, err
	}
	refused := func(path, msg, hint string) error {
		return &slipway.Error{Kind: slipway.Invalid, Msg: "the file cannot be deployed from here", Fields: []slipway.FieldError{{Path: path, Msg: msg, Hint: hint}}}
	}
	switch {
	case p.Driver.Name != "":
		return p, refused("driver", "it is the file of an application with a driver", "give it to  slipway deploy")
	case m.fresh() && p.Revision > 0:
		return p, refused("name", fmt.Sprintf("there is an application %s in %s already", p.Name, m.In), "take another name, or change that one on its page")
	case !m.fresh() && p.Name != m.App.Name:
		return p, refused("name", fmt.Sprintf("the name of %s cannot change: this would be another application", m.App.Name), "make another one under Runners, New runner pool")
	}
	return p, nil
}

// showPoolPlan answers with what a deploy of a file would do, or with the form and what is
// wrong.
func (s *site) showPoolPlan(r *request, m poolChange, source string, f *fault) error {
	if m.In == "" {
		return s.showPoolForm(r, m, nil)
	}
	p, err := s.planPool(r, m, source)
	if err != nil {
		f := r.fault(err)
		return s.showPoolForm(r, m, &f)
	}
	page := r.frame(m.title(), "/runners")
	page.Crumbs, page.Key = m.crumbs(), rand.Text()
	status := http.StatusOK
	if f != nil {
		status = f.Status
	}
	return r.render(status, poolPlanPage(page, poolPlan{m, p, source}, f))
}

// deployPool deploys the file that a plan has shown, against the revision that it was made
// for. When something came first it is planned anew, for the asker to look at.
func (s *site) deployPool(r *request, m poolChange) error {
	source := r.lines("source")
	expected, err := strconv.ParseInt(r.form("expected"), 10, 64)
	if err != nil || source == "" {
		return slipway.Errorf(slipway.Invalid, "the form names no file or no revision").WithHint("open the page again")
	}
	done, err := s.Change.Deploy(r.Context(), r.caller, change.DeployInput{SpecInput: m.input(source), ExpectedRevision: &expected, IdempotencyKey: r.form("key")})
	switch {
	case slipway.Is(err, slipway.Conflict):
		f := r.fault(err)
		return s.showPoolPlan(r, m, source, &f)
	case err != nil:
		f := r.fault(err)
		return s.showPoolForm(r, m, &f)
	}
	r.redirect(taskAddress(done.Task.ID))
	return nil
}

// wrongField is a fault beside its field.
type wrongField struct {
	Name, Label string
	slipway.FieldError
}

// wrong lists the faults that stand beside fields, in the order of the form.
func (m poolChange) wrong() (out []wrongField) {
	for _, name := range fieldNames() {
		for _, e := range m.At[name] {
			out = append(out, wrongField{name, labelOf(name), e})
		}
	}
	return out
}

var otherLabels = map[string]string{"name": "Name", "service": "Name of the pool", "of": "Whose jobs", "owner": "Whose jobs", "when": "When no job waits"}

func labelOf(name string) string {
	if l, ok := otherLabels[name]; ok {
		return l
	}
	return fieldOf(name).label
}

// moreFields are those that few pools need.
var moreFields = []string{
	"service", "base_url", "runner_group_id", "jobs_credential", "min_replicas", "spare", "priority", "requests_cpu", "requests_memory",
	"limits_cpu", "limits_memory", "architecture", "node_name", "workspace_size_gib", "timeout_minutes",
}

// moreOpen reports whether something stands or is wrong in a field that is shut away.
func (m poolChange) moreOpen() bool {
	usual := map[string]string{"service": "runner", "architecture": string(slipway.AMD64), "workspace_size_gib": "2", "timeout_minutes": "60"}
	return slices.ContainsFunc(moreFields, func(name string) bool {
		v := m.Form.Values[name]
		return len(m.At[name]) > 0 || v != "" && v != usual[name]
	})
}

// withCurrent is a list with what stands in a field, though it be not in the list any more.
func withCurrent(list []string, current string) []string {
	if current == "" || slices.Contains(list, current) {
		return list
	}
	return append([]string{current}, list...)
}

func sizeWords(s view.RunnerSize) string {
	return fmt.Sprintf("%s: %s–%s CPU, %s–%s", s.Name, s.Requests.CPU, s.Limits.CPU, s.Requests.Memory, s.Limits.Memory)
}

func describedBy(m poolChange, name, hint string) string {
	if hint == "" && len(m.At[name]) == 0 {
		return ""
	}
	return "says-" + name
}

func inputMode(f poolField) string {
	if f.kind == numberField && f.name != "priority" { // which may be below zero
		return "numeric"
	}
	return "text"
}

// wrongAttributes mark a field that is wrong, for those who do not see its colour.
func wrongAttributes(m poolChange, name string) templ.Attributes {
	if len(m.At[name]) == 0 {
		return nil
	}
	return templ.Attributes{"aria-invalid": "true"}
}

// environment is the one that the list is narrowed to; empty: it is not.
func (m poolsModel) environment() string {
	if _, environment := splitScope(m.In); environment == "" {
		return ""
	}
	return m.In
}
