package dashboard

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/a-h/templ"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

var storybook = flag.String("storybook", "", "write every page, from canned data, into this folder")

// TestStorybook stands in the pure world: it renders every page from the sample, with no
// server behind it, and holds what is true of every page. With -storybook DIR the pages
// are kept, to be looked at:
//
//	go test ./internal/dashboard -run TestStorybook -storybook /tmp/book
//	python3 -m http.server -d /tmp/book
func TestStorybook(t *testing.T) {
	t.Parallel()
	for name, page := range samplePages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			html := rendered(t, page)
			checkPage(t, html)
			if got, most := len(html), 200<<10; got > most {
				t.Errorf("it has %d bytes, want at most %d", got, most)
			}
			if *storybook != "" {
				keep(t, name+".html", []byte(html))
			}
		})
	}
	if *storybook == "" {
		return
	}
	for _, a := range assets {
		keep(t, a.address, a.content)
	}
}

func rendered(t testing.TB, page templ.Component) string {
	t.Helper()
	html, err := write(t.Context(), page)
	if err != nil {
		t.Fatal(err)
	}
	return string(html)
}

func keep(t *testing.T, name string, content []byte) {
	t.Helper()
	path := filepath.Join(*storybook, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
}

// hostile is text that would do harm wherever it is not taken for text.
const hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='x' \x1b[31mred\x1b[0m\u202eltr javascript:alert(1)"

// TestHostileData stands in the pure world: every text of every model is hostile, and each
// page stays what it is.
func TestHostileData(t *testing.T) {
	t.Parallel()
	f := sampleFrame("x", "/applications")
	app, task, running := sampleApplicationPage(), sampleTaskPage(), sampleRunningPage()
	apps, users, tokens := sampleApplications(3), sampleUsers(), sampleTokens()
	tokens.New = &newTokenModel{}
	driver := view.DriverPage{Driver: sampleDriver, Versions: []slipway.Driver{sampleDriver}, Users: []slipway.Application{sampleApplication}, UsersAll: 1}
	audit := sampleAudit()
	revision := view.RevisionPage{Application: sampleApplication, Row: app.Revisions.Items[0], Lines: app.Revisions.Items[0].Diff}
	drivers := view.List[slipway.Driver]{Items: []slipway.Driver{sampleDriver}, Next: "x"}
	tasks := tasksModel{List: view.List[view.TaskRow]{Items: []view.TaskRow{{Task: sampleUpgrade}}}, Environments: sampleEnvironments}
	runners, job, log := sampleRunners(), sampleJobPage(true), sampleLog()
	refused := newFault(slipway.Errorf(slipway.Invalid, "x"), "x")
	pool := samplePoolPlan()
	badPool, badPoolFault := sampleWrongPool()
	poolFile := badPool
	poolFile.OnlyFile, poolFile.Lost, poolFile.Form = "x", "x", poolForm{File: true, Source: "x"}
	refused.Fields = []slipway.FieldError{{File: "x", Path: "x", Msg: "x", Hint: "x"}}
	for _, m := range []any{&app, &task, &running, &apps, &users, &tokens, &driver, &audit, &revision, &drivers, &tasks, &runners, &job, &log, &refused, &pool, &badPool, &badPoolFault, &poolFile, &f.Title, &f.Version, &f.Caller.UserName, &f.Crumbs} {
		poison(reflect.ValueOf(m))
	}
	// States decide what a page shows; with a hostile one it would show less.
	app.Application.State, task.Task.State, running.Task.State = slipway.AppFailed, slipway.Failed, slipway.Running
	for i := range runners.Actions.Open {
		runners.Actions.Open[i].State = slipway.SlotDraining
	}
	f.Path = "/applications?in=%22%3E%3Cscript%3E"
	f.Live = "/live"
	for name, page := range map[string]templ.Component{
		"application": applicationPage(f, app, change.RollbackOffer{Why: "no"}, &refused), "task": taskPage(f, newTaskModel(task, "http://127.0.0.1:4200"), &refused),
		"running task": taskPage(f, newTaskModel(running, ""), nil), "applications": applicationsPage(f, apps),
		"users": usersPage(f, users, userForm{hostile, hostile}, &refused), "tokens": tokensPage(f, tokens, &refused),
		"driver": driverPage(f, driver), "drivers": driversPage(f, drivers), "audit": auditPage(f, audit, view.AuditFilter{User: hostile}),
		"revision": revisionPage(f, revision), "tasks": tasksPage(f, tasks), "error": errorPage(f, refused),
		"runners": runnersPage(f, runners, change.RollbackOffer{}, nil), "pools": poolsPage(f, poolsModel{Pools: runners.Actions.Pools}),
		"pool form": poolFormPage(f, badPool, &badPoolFault), "pool file": poolFormPage(f, poolFile, &refused), "pool plan": poolPlanPage(f, pool, &refused), "pool where": poolWherePage(f, badPool),
		"job": jobPage(f, job), "log": jobLogPage(f, log),
		"sign in": signInPage(f, signInForm{hostile, hostile}, &refused), "setup": setupPage(f, setupForm{hostile}, &refused),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			html := rendered(t, page)
			doc := parse(t, html)
			if strings.ContainsFunc(html, isControl) {
				t.Error("the page holds control codes")
			}
			if doc.has("img") {
				t.Error("text has become an element")
			}
			for _, fault := range faultsOf(doc) {
				// The poison makes equal texts of IDs and addresses that are built of them.
				if !strings.Contains(fault, "stands twice") {
					t.Error(fault)
				}
			}
			if !strings.Contains(html, "alert(1)") {
				t.Error("nothing hostile is on the page: the test shows nothing")
			}
		})
	}
}

// poison makes every text that v holds hostile, but for keys of maps.
func poison(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			poison(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				poison(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"x":"` + `<script>alert(1)</script>` + `"}`))
			return
		}
		// A copy: samples share what they hold.
		fresh := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(fresh, v)
		v.Set(fresh)
		for i := range v.Len() {
			poison(v.Index(i))
		}
	case reflect.Map:
		fresh := reflect.MakeMap(v.Type())
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem()
			e.Set(v.MapIndex(k))
			poison(e)
			fresh.SetMapIndex(k, e)
		}
		v.Set(fresh)
	case reflect.String:
		v.SetString(hostile)
	}
}
