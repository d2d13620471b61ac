package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// The tests here stand in the world of a real SQLite database with the real auth, change,
// view and events, over HTTP and without a browser.

func httptestRequest(t *testing.T) *http.Request {
	t.Helper()
	return httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
}

func asError(err error, to **slipway.Error) bool { return errors.As(err, to) }

// withNodes has the cluster seen with a node that holds many runners, and gives shop/dev the
// secrets of a pool.
func (w *world) withNodes() *world {
	w.Helper()
	ctx := context.Background()
	w.write(func(tx *store.Tx) error {
		e, err := tx.EnvironmentByName(ctx, "shop", "dev")
		if err != nil {
			return err
		}
		for _, name := range []string{"github-runner-token", "jobs"} {
			if _, err := tx.PutSecret(ctx, e.ID, name, []byte("sealed"), "ada"); err != nil {
				return err
			}
		}
		const gib = slipway.GiB
		return tx.SetClusterView(ctx, slipway.ClusterView{RuntimeClass: true, LookedAt: tx.Now, Nodes: []slipway.Node{{
			Name: "ci-1", Ready: true, Schedulable: true, Architecture: slipway.AMD64, Runners: true, CPU: slipway.Amount{Allocatable: 16000},
			Memory: slipway.Amount{Allocatable: 64 * gib}, Disk: slipway.Amount{Allocatable: 200 * gib}, Pods: slipway.Amount{Allocatable: 110},
		}}})
	})
	return w
}

// poolNamed is the pool that the store has of an application of shop/dev.
func (w *world) poolNamed(application string) (a slipway.Application, p slipway.RunnerPool) {
	w.Helper()
	ctx := context.Background()
	w.must(w.store.Read(ctx, func(tx *store.Tx) error {
		e, err := tx.EnvironmentByName(ctx, "shop", "dev")
		if err != nil {
			return err
		}
		if a, err = tx.ApplicationByName(ctx, e.ID, application); err != nil {
			return err
		}
		all, err := tx.RunnerPoolsOf(ctx, a.ID)
		if len(all) == 1 {
			p = all[0]
		}
		return err
	}))
	return a, p
}

const poolForms = "form[action=/runners/new]"

// plans sends the form of a new pool of shop/dev.
func (b *browser) plans(fields ...string) reply {
	b.Helper()
	filled := []string{"name", "team-ci", "owner", "acme", "credential", "github-runner-token", "labels", "slipway", "when", whenIdle, "do", "plan"}
	return b.send(b.page("/runners/new?in=shop%2Fdev"), poolForms, append(filled, fields...)...)
}

func TestNewPool(t *testing.T) {
	t.Parallel()
	w := settled(t).withNodes()
	b := w.as("grace")
	b.page("/runners").one(t, "a[href=/runners/new]")
	b.page("/runners?in=shop%2Fdev").one(t, "a[href=/runners/new?in=shop%2Fdev]")
	if where := b.page("/runners/new"); len(where.all("select[name=in] option")) != 2 {
		t.Errorf("the environments to choose from:\n%s", where.text())
	}
	before := w.facts()
	plan := b.plans("workspace_size_gib", "4")
	checkPage(t, plan.body)
	if plan.status != http.StatusOK {
		t.Fatalf("the plan: %d\n%s", plan.status, plan.doc.text())
	}
	for _, want := range []string{
		"runner: new, asleep until a job waits, then up to 4 runners", "4000m CPU, 8Gi memory and 22Gi disk", "16000m CPU, 64Gi memory and 200Gi disk",
		"Keep it in git as team-ci.toml", "No connection brings it jobs", "As revision 1", "services.runner.actions.organization",
	} {
		if !strings.Contains(plan.doc.text(), want) {
			t.Errorf("the plan does not say %q:\n%s", want, plan.doc.text())
		}
	}
	if after := w.facts(); after != before {
		t.Errorf("a plan changes something:\n%s\n%s", before, after)
	}
	// Back to the form everything still stands in its field.
	form := plan.doc.one(t, "form[action=/runners/new/deploy]")
	values := url.Values{"do": {"edit"}}
	for _, in := range form.all("input") {
		values.Set(in.get("name"), in.get("value"))
	}
	again := b.post("/runners/new", values)
	checkPage(t, again.body)
	if got := again.doc.one(t, "#pool-workspace_size_gib").get("value"); got != "4" || again.doc.one(t, "#pool-name").get("value") != "team-ci" || !again.doc.has("details.more[open]") {
		t.Errorf("what was typed is gone:\n%s", again.body)
	}

	// A doubled click is one deploy.
	done, twice := b.send(plan.doc, "form[action=/runners/new/deploy]"), b.send(plan.doc, "form[action=/runners/new/deploy]")
	if done.status != http.StatusSeeOther || !strings.HasPrefix(done.to, "/tasks/") || twice.to != done.to {
		t.Fatalf("deploy: %d to %q, and once more to %q; want one task\n%s", done.status, done.to, twice.to, done.doc.text())
	}
	if got := b.page(done.to).one(t, "h1").text(); got != "Set up the runner pools of team-ci" {
		t.Errorf("the task's page is of %q", got)
	}
	a, p := w.poolNamed("team-ci")
	if p.Service != "runner" || p.Spec.Replicas != 4 || p.Spec.Scope.Owner != "acme" || p.Spec.Idle.Seconds() != 300 || p.Spec.WorkspaceGiB != 4 || a.Revision != 1 {
		t.Errorf("the pool is %+v", p)
	}

	// The name is taken now: it is said beside the field, and nothing is planned over it.
	taken := b.plans()
	if taken.status != http.StatusUnprocessableEntity || !strings.Contains(taken.doc.one(t, "#says-name").text(), "there is an application team-ci in shop/dev already") &&
		!strings.Contains(taken.doc.one(t, "#says-name").text(), "There is an application team-ci in shop/dev already") {
		t.Errorf("a name that is taken: %d\n%s", taken.status, taken.doc.text())
	}
}

// TestNewPoolFaults: each fault of the parser and of the check stands beside its field, with
// what was typed.
func TestNewPoolFaults(t *testing.T) {
	t.Parallel()
	w := settled(t).withNodes()
	b := w.as("grace")
	for _, name := range append([]string{"owner", "name", "service"}, func() (out []string) {
		for _, f := range poolFields {
			out = append(out, f.name)
		}
		return out
	}()...) {
		bad, ok := poolErrors[name]
		if !ok {
			t.Errorf("no value is known that %s refuses", name)
			continue
		}
		r := b.plans(name, bad[0])
		if r.status != http.StatusUnprocessableEntity {
			t.Errorf("%s = %q: %d\n%s", name, bad[0], r.status, r.doc.text())
			continue
		}
		checkPage(t, r.body)
		if says := r.doc.one(t, "#says-"+name); !says.has(".bad") || !strings.Contains(strings.ToLower(says.text()), strings.ToLower(bad[1])) {
			t.Errorf("%s = %q: its field says %q, want %q", name, bad[0], says.text(), bad[1])
		}
		field := r.doc.one(t, "#pool-"+name)
		if field.get("aria-invalid") != "true" || field.Data == "input" && field.get("value") != bad[0] {
			t.Errorf("%s = %q: the field is %s", name, bad[0], field.source())
		}
		if !r.doc.one(t, "#problem").has("a[href=#pool-" + name + "]") {
			t.Errorf("%s: the summary does not lead to it: %s", name, r.doc.one(t, "#problem").text())
		}
		if len(r.doc.all("main .bad")) != 1 {
			t.Errorf("%s = %q: also wrong is %s", name, bad[0], r.doc.one(t, "#problem").text())
		}
	}
	// What does not fit is said with its numbers, beside the number.
	full := b.plans("replicas", "40")
	if full.status != http.StatusConflict || !strings.Contains(full.doc.one(t, "#says-replicas").text(), "24 of 40 runners of runner have no place: they reserve 40000m CPU") {
		t.Errorf("too many runners: %d\n%s", full.status, full.doc.text())
	}
	empty := b.plans("idle", "")
	if !strings.Contains(empty.doc.one(t, "#says-idle").text(), "Must be a whole number") {
		t.Errorf("a sleeping pool without its seconds: %d\n%s", empty.status, empty.doc.text())
	}
	if says := b.plans("replicas", "many").doc.one(t, "#says-replicas").text(); strings.Contains(says, "quotes") {
		t.Errorf("the form speaks of the file's quotes: %q", says)
	}
	gitlab := b.plans("of", "gitlab-group")
	if !strings.Contains(gitlab.doc.one(t, "#says-idle").text(), "GitLab tells of none") || !strings.Contains(gitlab.doc.one(t, "#pool-of option[selected]").text(), "GitLab") {
		t.Errorf("a pool of GitLab that sleeps: %d\n%s", gitlab.status, gitlab.doc.text())
	}
	if none := b.plans("labels", ""); !strings.Contains(none.doc.one(t, "#says-labels").text(), "Is missing") {
		t.Errorf("a pool without labels: %d\n%s", none.status, none.doc.text())
	}
	// Without a script to open it, what is wrong under More is open.
	if r := b.plans("priority", "x"); !r.doc.has("details.more[open]") {
		t.Error("More is shut over a fault")
	}
	long := b.post("/runners/new", url.Values{"in": {"shop/dev"}, "as": {"file"}, "source": {strings.Repeat("#", maxForm)}})
	if long.status != http.StatusRequestEntityTooLarge || !strings.Contains(long.doc.text(), "64.0 KiB") {
		t.Errorf("a file that is too long: %d %s", long.status, long.doc.text())
	}
}

// deployed deploys a file to shop/dev as the CLI does.
func (w *world) deployed(expected int64, source string) change.Accepted {
	w.Helper()
	grace := slipway.Caller{UserID: w.grace.ID, UserName: "grace", Role: slipway.ReadWrite}
	a, err := w.change.Deploy(context.Background(), grace, change.DeployInput{
		SpecInput: change.SpecInput{Project: "shop", Environment: "dev", Source: []byte(source)}, ExpectedRevision: &expected,
	})
	w.must(err)
	return a
}

const (
	ciPath   = "/applications/shop/dev/team-ci"
	ciChange = "form[action=" + ciPath + "/change]"
	ciDeploy = "form[action=" + ciPath + "/change/deploy]"
)

const withDriver = "schema_version = 1\nname = \"new\"\n[driver]\nname = \"guestbook\"\nversion = \"1.0.0\"\n[app]\nversion = \"1.0.0\"\n"

func ciFile(more string) string { return handWritten("replicas = 2", "organization = \"acme\"\n"+more) }

func TestChangePool(t *testing.T) {
	t.Parallel()
	w := settled(t).withNodes()
	w.deployed(0, ciFile("idle_seconds = 600"))
	b := w.as("grace")
	b.page(ciPath).one(t, "a[href="+ciPath+"/change]")
	form := b.page(ciPath + "/change")
	for name, want := range map[string]string{"replicas": "2", "idle": "600", "labels": "slipway", "timeout_minutes": "60"} {
		if got := form.one(t, "#pool-"+name).get("value"); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	plan := b.send(form, ciChange, "replicas", "3", "when", whenIdle, "do", "plan")
	checkPage(t, plan.body)
	for _, want := range []string{"Differences from revision 1", "services.runner.replicas 2 3", "runner: no runner is replaced", "As revision 2"} {
		if !strings.Contains(plan.doc.text(), want) {
			t.Errorf("the plan does not say %q:\n%s", want, plan.doc.text())
		}
	}
	// Somebody else is first: nothing is deployed, and it is planned anew.
	w.deployed(1, ciFile("idle_seconds = 900"))
	late := b.send(plan.doc, ciDeploy)
	checkPage(t, late.body)
	if _, p := w.poolNamed("team-ci"); late.status != http.StatusConflict || p.Spec.Replicas != 2 || p.Spec.Idle.Seconds() != 900 {
		t.Fatalf("a deploy that comes too late: %d\n%s", late.status, late.doc.text())
	}
	for _, want := range []string{"Revision 1 of shop/dev/team-ci was expected, and revision 2 is wanted now", "Revision 2 was deployed since you opened the form of revision 1", "services.runner.actions.idle_seconds 900 600", "As revision 3"} {
		if !strings.Contains(late.doc.text(), want) {
			t.Errorf("the new plan does not say %q:\n%s", want, late.doc.text())
		}
	}
	done, twice := b.send(late.doc, ciDeploy), b.send(late.doc, ciDeploy)
	if done.status != http.StatusSeeOther || twice.to != done.to {
		t.Fatalf("deploy: %d to %q, then %q\n%s", done.status, done.to, twice.to, done.doc.text())
	}
	if a, p := w.poolNamed("team-ci"); p.Spec.Replicas != 3 || p.Spec.Idle.Seconds() != 600 || a.Revision != 3 {
		t.Errorf("the pool is %+v of revision %d", p.Spec, a.Revision)
	}
	// An application with a driver has no such form.
	if got := b.get("/applications/shop/dev/guestbook/change").status; got != http.StatusNotFound {
		t.Errorf("the form of a guestbook: %d", got)
	}
}

// TestChangeByFile: what the form cannot show is changed by the file, and is not lost.
func TestChangeByFile(t *testing.T) {
	t.Parallel()
	w := settled(t).withNodes()
	const second = "\n[services.second.actions]\nrepository = \"acme/shop\"\ncredential = \"github-runner-token\"\nlabels = [\"other\"]\n"
	source := ciFile("idle_seconds = 600")
	w.deployed(0, source)
	b := w.as("grace")
	old := b.page(ciPath + "/change")
	w.deployed(1, source+second)
	page := b.page(ciPath + "/change")
	if !strings.Contains(page.text(), "it has 2 pools, and the form shows one") || page.has("#pool-replicas") || page.has("nav.tabs") {
		t.Fatalf("the page of two pools:\n%s", page.text())
	}
	if got := page.one(t, "textarea").text(); !strings.Contains(got, "[services.second.actions]") {
		t.Errorf("the file is %q", got)
	}
	if r := b.send(old, ciChange, "replicas", "3", "when", whenIdle, "do", "plan"); r.status != http.StatusConflict || !strings.Contains(r.doc.text(), "has changed since you opened the form") {
		t.Errorf("an old form over two pools: %d\n%s", r.status, r.doc.text())
	}
	file := func(source string) reply {
		return b.post(ciPath+"/change", url.Values{"as": {"file"}, "base": {"2"}, "source": {strings.ReplaceAll(source, "\n", "\r\n")}})
	}
	commented := "# why\n" + strings.Replace(source, "= 600", "= 700", 1) + second
	plan := file(commented)
	if plan.status != http.StatusOK || !strings.Contains(plan.doc.text(), "second: stays as it is") {
		t.Fatalf("the plan: %d\n%s", plan.status, plan.doc.text())
	}
	done := b.send(plan.doc, ciDeploy)
	if done.status != http.StatusSeeOther {
		t.Fatalf("deploy: %d\n%s", done.status, done.doc.text())
	}
	a, _ := w.poolNamed("team-ci")
	w.must(w.store.Read(t.Context(), func(tx *store.Tx) error {
		r, err := tx.Revision(t.Context(), a.ID, a.Revision)
		if r.Number != 3 || r.Source != commented {
			t.Errorf("revision %d keeps the file\n%q, want\n%q", r.Number, r.Source, commented)
		}
		return err
	}))
	// The parser's faults have their lines, and what was written stands there still.
	wrong := file("schema_version = 1\nname = \"team-ci\"\nnonsense = true\n" + second)
	if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.doc.one(t, "#problem").text(), "application.toml:3:1: nonsense: unknown key") || !strings.Contains(wrong.doc.one(t, "textarea").text(), "nonsense") {
		t.Errorf("a wrong file: %d\n%s", wrong.status, wrong.doc.text())
	}
	for name, bad := range map[string]string{
		"another application": strings.Replace(source, "team-ci", "other", 1),
		"one with a driver":   withDriver,
	} {
		if r := file(bad); r.status != http.StatusUnprocessableEntity || r.doc.has(ciDeploy) {
			t.Errorf("the file of %s: %d\n%s", name, r.status, r.doc.text())
		}
	}
	if r := b.post("/runners/new", url.Values{"as": {"file"}, "in": {"shop/dev"}, "source": {withDriver}}); r.status != http.StatusUnprocessableEntity || !strings.Contains(r.doc.text(), "the file of an application with a driver") {
		t.Errorf("a guestbook as a new pool: %d\n%s", r.status, r.doc.text())
	}
	// Comments are offered to be kept: the file comes first, and the form says what it loses.
	w.deployed(3, "# why\n"+source)
	if page := b.page(ciPath + "/change"); !page.has("textarea") || !strings.Contains(page.text(), "The file has comments") {
		t.Errorf("a file with comments:\n%s", page.text())
	}
	if page := b.page(ciPath + "/change?as=form"); !page.has("#pool-replicas") || !strings.Contains(page.text(), "has comments, which the form does not keep") {
		t.Errorf("its form:\n%s", page.text())
	}
	w.deployed(4, `schema_version = 1
name = "team-ci"
services = { runner = { actions = { organization = "acme", credential = "github-runner-token", labels = ["slipway"], x-owner = "ada" } } }
`)
	if page := b.page(ciPath + "/change"); !page.has("textarea") || !strings.Contains(page.text(), "The file has keys that begin with x-") {
		t.Errorf("a file with a key of somebody's own in a line:\n%s", page.text())
	}
}

func TestPauseAndResume(t *testing.T) {
	t.Parallel()
	w := settled(t)
	a := w.runners("team-ci", 2, 4)
	path := applicationAddress(a)
	b := w.as("grace")
	page := b.page(path)
	if text := page.text(); !strings.Contains(text, "2 busy runners end their jobs first") || !strings.Contains(text, "also after later deploys, until it is resumed") {
		t.Errorf("the question is not answered:\n%s", text)
	}
	pause := page.all("form[action=" + path + "/pause]")
	if len(pause) != 3 {
		t.Fatalf("%d forms pause, want one a pool and one for all", len(pause))
	}
	if r := b.post(path+"/pause", url.Values{"pool": {"runner-000"}, "key": {"k"}}); r.to != path {
		t.Fatalf("pause: %d to %q", r.status, r.to)
	}
	page = b.page(path)
	if text := page.text(); !strings.Contains(text, "Paused") || !strings.Contains(text, "2 runners still to end") {
		t.Errorf("after the pause:\n%s", text)
	}
	if r := b.post(path+"/pause", url.Values{"key": {"all"}}); r.to != path || b.page(path).has("form[action="+path+"/pause]") {
		t.Errorf("after all are paused a pause is offered: %d", r.status)
	}
	if r := b.post(path+"/resume", nil); r.to != path || b.page(path).has("form[action="+path+"/resume]") {
		t.Errorf("after all are resumed a resume is offered: %d", r.status)
	}
	if r := b.post(path+"/pause", url.Values{"pool": {"none"}}); r.status != http.StatusUnprocessableEntity || !strings.Contains(r.doc.one(t, "#problem").text(), "has no pool") {
		t.Errorf("an unknown pool: %d\n%s", r.status, r.doc.text())
	}
}

// TestPoolRoles: who may not write is offered nothing, and refused; who is confined to one
// environment gets no other's.
func TestPoolRoles(t *testing.T) {
	t.Parallel()
	w := settled(t).withNodes()
	w.deployed(0, ciFile("idle_seconds = 600"))
	kurt := w.as("kurt")
	for _, path := range []string{"/runners", ciPath} {
		page := kurt.page(path).one(t, "main")
		for _, a := range page.all("a") {
			if to := a.get("href"); strings.HasPrefix(to, "/runners/new") || strings.HasSuffix(to, "/change") {
				t.Errorf("%s offers %s to a reader", path, to)
			}
		}
		if page.has("form[method=post]") {
			t.Errorf("%s has a form for a reader", path)
		}
	}
	deploy := url.Values{"in": {"shop/dev"}, "as": {"file"}, "source": {ciFile("idle_seconds = 700")}, "expected": {"1"}}
	before := w.facts()
	for _, path := range []string{"/runners/new", ciPath + "/change"} {
		if got := kurt.get(path).status; got != http.StatusForbidden {
			t.Errorf("GET %s by a reader: %d", path, got)
		}
		for _, p := range []string{path, path + "/deploy"} {
			if r := kurt.post(p, deploy); r.status != http.StatusForbidden || !strings.Contains(r.doc.text(), "needs the role") {
				t.Errorf("POST %s by a reader: %d", p, r.status)
			}
		}
	}
	for _, p := range []string{"/pause", "/resume"} {
		if r := kurt.post(ciPath+p, nil); r.status != http.StatusForbidden {
			t.Errorf("POST %s by a reader: %d", p, r.status)
		}
	}
	confined := w.withToken(slipway.ReadWrite, "shop", "production")
	deploy.Set("expected", "0")
	for _, p := range []string{"/runners/new", "/runners/new/deploy"} {
		if r := confined.post(p, deploy); r.status != http.StatusNotFound {
			t.Errorf("POST %s into another environment: %d\n%s", p, r.status, r.doc.text())
		}
	}
	for _, p := range []string{ciPath + "/change", "/runners/new?in=shop%2Fdev"} {
		if r := confined.get(p); r.status != http.StatusNotFound || strings.Contains(r.body, "github-runner-token") {
			t.Errorf("GET %s from another environment: %d", p, r.status)
		}
	}
	if page := confined.page("/runners/new"); !strings.Contains(page.text(), "In shop/production") || strings.Contains(page.text(), "shop/dev") {
		t.Errorf("the form of who sees one environment:\n%s", page.text())
	}
	// A form that another site has the browser send changes nothing.
	for _, p := range []string{"/runners/new/deploy", ciPath + "/change/deploy", ciPath + "/pause"} {
		r, err := http.NewRequest(http.MethodPost, w.server.URL+p, strings.NewReader(deploy.Encode()))
		w.must(err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		if got := w.as("ada").do(r); got.status != http.StatusForbidden {
			t.Errorf("POST %s from another site: %d", p, got.status)
		}
	}
	after := w.facts()
	if strip(before) != strip(after) {
		t.Errorf("something changed:\n%s\n%s", before, after)
	}
}

// strip leaves out what a sign-in and a token of the test's own add.
func strip(facts string) string {
	var out []string
	for part := range strings.SplitSeq(facts, ", ") {
		if !strings.HasPrefix(part, "audit ") && !strings.HasPrefix(part, "sessions ") && !strings.HasPrefix(part, "tokens ") && !strings.HasPrefix(part, "events ") {
			out = append(out, part)
		}
	}
	return strings.Join(out, ", ")
}
