//go:build browser

package dashboard

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// The tests here stand in the world of a real Chromium on the real pages, over a real
// SQLite database. They fail where Chromium or axe-core is missing:
//
//	apt-get install chromium
//	cd tools/web && npm ci --ignore-scripts
//	go test -tags browser ./internal/dashboard -run Browser
//
// With -shots DIR they keep a picture of every page in both colours.

var shots = flag.String("shots", "", "keep pictures of all pages in this folder")

const axePath = "../../tools/web/node_modules/axe-core/axe.min.js"

// chromium is a browser that a test drives.
type chromium struct {
	*world
	ctx context.Context

	mu     sync.Mutex
	faults []string // what the browser complained of
}

func (w *world) chromium() *chromium {
	w.Helper()
	path := "/usr/bin/chromium"
	if p := os.Getenv("SLIPWAY_TEST_CHROMIUM"); p != "" {
		path = p
	}
	if _, err := os.Stat(path); err != nil {
		w.Fatalf("this test needs Chromium: %v; install the package chromium, or name it in SLIPWAY_TEST_CHROMIUM", err)
	}
	c := &chromium{world: w}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(alloc)
	ctx, end := context.WithTimeout(ctx, 3*time.Minute)
	w.Cleanup(func() { end(); cancel(); stop() })
	c.ctx = ctx
	c.do(chromedp.EmulateViewport(1280, 900))
	console := chromedp.Console(ctx)
	go func() {
		for m, err := range console {
			if err != nil {
				return
			}
			if m.Type == chromedp.ConsoleError || m.Type == chromedp.ConsoleException || m.Type == chromedp.ConsoleWarning {
				c.mu.Lock()
				c.faults = append(c.faults, fmt.Sprintf("%s: %s (%s)", m.Type, m.Text, m.URL))
				c.mu.Unlock()
			}
		}
	}()
	return c
}

func (c *chromium) do(steps ...chromedp.Action[chromedp.Void]) {
	c.Helper()
	if err := chromedp.Do(c.ctx, steps...); err != nil {
		c.Fatal(err)
	}
}

func (c *chromium) open(path string) {
	c.Helper()
	c.do(chromedp.Navigate(c.server.URL+path), chromedp.WaitReady(chromedp.CSS("main#content")))
}

// evaluate runs a script in the page.
func evaluate[T any](c *chromium, script string, o ...chromedp.EvaluateOption) T {
	c.Helper()
	v, err := chromedp.Run(c.ctx, chromedp.Evaluate[T](script, o...))
	if err != nil {
		c.Fatalf("%s: %v", script[:min(len(script), 120)], err)
	}
	return v
}

// until waits for a condition of the page.
func (c *chromium) until(what, script string) {
	c.Helper()
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if v, err := chromedp.Run(c.ctx, chromedp.Evaluate[bool](script)); err == nil && v {
			return
		}
	}
	html, _ := chromedp.Run(c.ctx, chromedp.OuterHTML(chromedp.CSS("body")))
	c.Fatalf("%s does not come; the page:\n%s\n%v", what, html, c.complaints())
}

func (c *chromium) complaints() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.faults
}

func (c *chromium) path() string {
	c.Helper()
	at, err := chromedp.Run(c.ctx, chromedp.Location())
	c.must(err)
	u, err := url.Parse(at)
	c.must(err)
	return u.Path
}

func (c *chromium) signIn(name string) {
	c.Helper()
	c.open("/sign-in")
	c.do(
		chromedp.SendKeys(chromedp.CSS("#name"), name), chromedp.SendKeys(chromedp.CSS("#password"), password),
		chromedp.Click(chromedp.CSS("form[action='/sign-in'] button")), chromedp.WaitReady(chromedp.CSS("nav[aria-label=Main]")),
	)
}

// colours has the browser prefer light or dark.
func (c *chromium) colours(scheme string) {
	c.Helper()
	p := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}}
	_, err := chromedp.Call(c.ctx, emulation.SetEmulatedMedia, p)
	c.must(err)
}

// shot keeps a picture of the whole page.
func (c *chromium) shot(name string) {
	c.Helper()
	if *shots == "" {
		return
	}
	png, err := chromedp.Run(c.ctx, chromedp.FullScreenshot(100))
	c.must(err)
	c.must(os.MkdirAll(*shots, 0o755))
	c.must(os.WriteFile(filepath.Join(*shots, name+".png"), png, 0o644))
}

// accessible runs axe-core on the page as it is.
func (c *chromium) accessible(where string) {
	c.Helper()
	source, err := os.ReadFile(axePath)
	if err != nil {
		c.Fatalf("this test needs axe-core: %v; run: cd tools/web && npm ci --ignore-scripts", err)
	}
	evaluate[bool](c, string(source)+";true")
	found := evaluate[string](c, `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r =>
		JSON.stringify(r.violations.flatMap(v => v.nodes.map(n => v.id + ": " + v.help + ": " + n.html.slice(0, 200) + " " + n.failureSummary))))`, chromedp.EvalAwaitPromise)
	var violations []string
	c.must(json.Unmarshal([]byte(found), &violations))
	for _, v := range violations {
		c.Errorf("%s: %s", where, v)
	}
}

// eventful is a world with an application that failed in its upgrade and a task that runs.
func eventful(t *testing.T) (w *world, a slipway.Application, failed, running slipway.Task, step slipway.Step) {
	w = settled(t)
	ctx := context.Background()
	a, _ = w.application("shop", "dev", "shopfront")
	failed, first := w.running(a)
	w.write(func(tx *store.Tx) error {
		if err := tx.SetStepOutput(ctx, first.ID, sampleOutput, true); err != nil {
			return err
		}
		if err := tx.AddStepNote(ctx, first.ID, "deleted the Job guestbook-action that an earlier action left"); err != nil {
			return err
		}
		if _, err := tx.CreateActionRun(ctx, slipway.ActionRun{StepID: first.ID, Action: "migrate", Key: "k", FlowRunID: "0b8f5a3e", State: "failed"}); err != nil {
			return err
		}
		child, err := tx.CreateTask(ctx, slipway.Task{Kind: slipway.StopTask, Title: "stop worker of shopfront", ApplicationID: a.ID, ParentStepID: first.ID, RequestedBy: slipway.ActionsUser})
		if err != nil {
			return err
		}
		epoch, err := tx.ClaimTask(ctx, child.ID, "replica")
		if err != nil {
			return err
		}
		if err := tx.FinishTask(ctx, child.ID, epoch, store.TaskEnd{State: slipway.Succeeded}); err != nil {
			return err
		}
		if err := tx.CloseStep(ctx, first.ID, failed.Epoch, slipway.StepFailed, sampleUpgrade.Error); err != nil {
			return err
		}
		end := store.TaskEnd{State: slipway.Failed, Error: sampleUpgrade.Error, Hint: sampleUpgrade.Hint, Result: []byte(`{"failed_step":"check"}`)}
		if err := tx.FinishTask(ctx, failed.ID, failed.Epoch, end); err != nil {
			return err
		}
		return tx.SetApplicationState(ctx, a.ID, slipway.AppFailed, "the last start failed; version 1.0.0 serves")
	})
	running, step = w.running(a)
	w.write(func(tx *store.Tx) error {
		if err := tx.SetStepOutput(ctx, step.ID, "so far\n", false); err != nil {
			return err
		}
		return tx.SetComponentStopped(ctx, a.ID, "web", running.ID)
	})
	return w, a, failed, running, step
}

// TestBrowserPages opens every page in light and in dark, on a wide and on a narrow
// screen: no page offends its own policy, or axe, or is wider than the screen.
func TestBrowserPages(t *testing.T) {
	w, a, failed, running, _ := eventful(t)
	runners := applicationAddress(w.runners("team-ci", 2, 6))
	c := w.chromium()
	c.open("/sign-in")
	for _, scheme := range []string{"light", "dark"} {
		c.colours(scheme)
		c.shot("sign-in-" + scheme)
		c.accessible("sign-in, " + scheme)
	}
	c.signIn("ada")
	for _, scheme := range []string{"light", "dark"} {
		c.colours(scheme)
		for name, path := range map[string]string{
			"applications": "/applications", "application": applicationAddress(a), "revision": applicationAddress(a) + "/revisions/1", "tasks": "/tasks",
			"task-failed": taskAddress(failed.ID), "task-running": taskAddress(running.ID), "drivers": "/drivers", "driver": "/drivers/guestbook/1.0.0",
			"users": "/users", "tokens": "/tokens", "audit": "/audit", "not-found": "/tasks/999",
			"runners": "/runners", "runner": runners, "job": "/jobs/github.com/1001", "connections": "/connections",
		} {
			c.open(path)
			evaluate[bool](c, `document.querySelectorAll("main details").forEach(d => { d.open = !d.classList.contains("menu-pop") }); true`)
			c.shot(name + "-" + scheme)
			c.accessible(name + ", " + scheme)
			want := map[string]string{"light": "rgb(255, 255, 255)", "dark": ""}[scheme]
			if got := evaluate[string](c, `getComputedStyle(document.querySelector(".bar")).backgroundColor`); (got == want || strings.HasPrefix(got, "oklch(1 ")) != (scheme == "light") {
				t.Errorf("%s in %s is on %s", name, scheme, got)
			}
		}
	}
	c.colours("light")
	c.do(chromedp.EmulateViewport(390, 800))
	for name, path := range map[string]string{"applications": "/applications", "application": applicationAddress(a), "task": taskAddress(failed.ID), "tokens": "/tokens", "runner": runners} {
		c.open(path)
		if wide := evaluate[float64](c, `document.documentElement.scrollWidth`); wide > 390 {
			t.Errorf("%s is %v wide on a screen of 390", name, wide)
		}
		c.shot(name + "-narrow")
	}
	for _, f := range c.complaints() {
		if !strings.Contains(f, "/tasks/999") { // that it is not there is what was asked for
			t.Errorf("the browser complains: %s", f)
		}
	}
}

// TestBrowserLive: a step appears on an open page without a reload, what its reader has
// opened stays open, the step's end is said aloud, and a lost server is shown.
func TestBrowserLive(t *testing.T) {
	w, a, _, task, step := eventful(t)
	c := w.chromium()
	c.signIn("grace")
	c.open(taskAddress(task.ID))
	evaluate[bool](c, `window.same = true; document.querySelector("#step-`+id(step.ID)+` details").open = true; true`)
	c.until("the stream", `document.querySelector("#wake").getAttribute("data-htmx-powered") === "true"`)

	var next slipway.Step
	w.write(func(tx *store.Tx) (err error) {
		if err = tx.CloseStep(context.Background(), step.ID, task.Epoch, slipway.StepSucceeded, ""); err != nil {
			return err
		}
		if next, err = tx.OpenStep(context.Background(), task.ID, task.Epoch, "hook.upgrade.pre", slipway.StepUpgradePre); err != nil {
			return err
		}
		return w.changed(a, task)(tx)
	})
	began := time.Now()
	c.until("the next step", `!!document.querySelector("#step-`+id(next.ID)+`")`)
	t.Logf("the step was there after %s", time.Since(began).Round(time.Millisecond))
	c.shot("task-live")
	if !evaluate[bool](c, `window.same === true`) {
		t.Error("the page was loaded anew")
	}
	if !evaluate[bool](c, `document.querySelector("#step-`+id(step.ID)+` details").open`) {
		t.Error("the output that was open is shut")
	}
	if got := evaluate[string](c, `document.querySelector("main [role=status]").textContent`); !strings.Contains(got, slipway.StepUpgradePre) {
		t.Errorf("said aloud: %q", got)
	}

	// The task ends: its result and the way on appear by themselves.
	w.write(func(tx *store.Tx) error {
		end := store.TaskEnd{State: slipway.Failed, Error: "the command failed", Hint: "mend it"}
		if err := tx.FinishTask(context.Background(), task.ID, task.Epoch, end); err != nil {
			return err
		}
		return w.changed(a, task)(tx)
	})
	c.until("the end", `document.querySelector(".note.is-bad")?.textContent.includes("The command failed")`)
	if evaluate[bool](c, `!!document.querySelector("form[action$='/cancel']")`) {
		t.Error("Cancel is still offered")
	}
	if faults := c.complaints(); len(faults) > 0 {
		t.Errorf("the browser complains: %v", faults)
	}

	w.server.CloseClientConnections()
	w.server.Listener.Close()
	c.until("the word that the page is not live", `document.querySelector("#offline").hidden === false`)
}

// TestBrowserSteps: a job's page asks for the steps when it stands, keeps them when
// something else on it changes, and says so when the forge does not answer.
func TestBrowserSteps(t *testing.T) {
	w := settled(t)
	a := w.runners("team-ci", 1, 10)
	w.withEndedJobs()
	c := w.chromium()
	c.signIn("kurt")
	c.open("/jobs/github.com/500")
	c.until("the steps", `document.querySelector("#steps-completed").textContent.includes("Set up job")`)
	c.until("the stream", `document.querySelector("#wake").getAttribute("data-htmx-powered") === "true"`)
	for _, scheme := range []string{"light", "dark"} {
		c.colours(scheme)
		c.accessible("a job with steps, " + scheme)
		c.shot("job-steps-" + scheme)
	}
	w.write(func(tx *store.Tx) error {
		j, err := tx.Job(context.Background(), slipway.GitHubHost, 500)
		if err != nil {
			return err
		}
		j.Branch, j.Workflow = "release", "Nightly anew"
		if _, err := tx.PutJob(context.Background(), j, 0); err != nil {
			return err
		}
		return w.changed(a, slipway.Task{ID: 1})(tx)
	})
	time.Sleep(time.Second) // nothing tells when a page has not changed
	if !evaluate[bool](c, `document.querySelector("#steps-completed").textContent.includes("Set up job")`) {
		t.Error("the steps are gone after the page was woken")
	}
	if faults := c.complaints(); len(faults) > 0 {
		t.Errorf("the browser complains: %v", faults)
	}
	c.open("/jobs/github.com/501")
	c.until("why there are no steps", `document.querySelector("#steps-completed").textContent.includes("GitHub did not answer in time")`)
	c.shot("job-steps-away")
}

// TestBrowserSessionEnds: an open page whose reader was deactivated leads to the sign-in.
func TestBrowserSessionEnds(t *testing.T) {
	w, a, _, task, _ := eventful(t)
	c := w.chromium()
	c.signIn("kurt")
	c.open(taskAddress(task.ID))
	c.until("the stream", `document.querySelector("#wake").getAttribute("data-htmx-powered") === "true"`)
	w.write(func(tx *store.Tx) error {
		if err := tx.SetUserActive(context.Background(), w.kurt.ID, false); err != nil {
			return err
		}
		return w.changed(a, task)(tx)
	})
	c.until("the sign-in", `location.pathname === "/sign-in"`)
}

// TestBrowserForms: what is done by hand and by keyboard.
func TestBrowserForms(t *testing.T) {
	w, a, _, running, _ := eventful(t)
	c := w.chromium()
	c.signIn("ada")

	// The first Tab leads past the menu.
	c.do(chromedp.KeyEvent("\t"))
	if got := evaluate[string](c, `document.activeElement.textContent`); got != "Skip to the content" {
		t.Errorf("the first stop of the keyboard is %q", got)
	}
	c.do(chromedp.KeyEvent("\r"))
	c.until("the content", `document.activeElement.id === "content"`)

	// Colours are chosen in the menu, are remembered, and Escape shuts it.
	c.do(chromedp.Click(chromedp.CSS(".me summary")), chromedp.Click(chromedp.CSS(".me button[value=dark]")))
	c.until("dark", `document.documentElement.dataset.theme === "dark"`)
	c.open("/tasks")
	c.until("dark", `document.documentElement.dataset.theme === "dark"`)
	c.do(chromedp.Click(chromedp.CSS(".me summary")))
	c.shot("menu-dark")
	c.do(chromedp.KeyEvent("\x1b"))
	c.until("the shut menu", `!document.querySelector(".me details").open`)

	// Start a component, and cancel a task behind its question.
	c.open("/applications/shop/dev/guestbook")
	c.do(chromedp.Click(chromedp.CSS("form[action$='/start'] button")))
	c.until("the task of the start", `location.pathname.startsWith("/tasks/")`)
	c.open(taskAddress(running.ID))
	c.do(chromedp.Click(chromedp.CSS("main .menu-pop summary")))
	c.shot("cancel-dark")
	c.do(chromedp.Click(chromedp.CSS("form[action$='/cancel'] button")))
	c.until("the cancel", `document.querySelector("main").textContent.includes("ada has asked to cancel it")`)

	// What a line of a table asks opens the line, and can be reached.
	c.open("/users")
	c.do(chromedp.Click(chromedp.CSS("details:has(form[action='/users/ada/password']) summary")))
	c.accessible("a password to set")
	c.do(chromedp.Click(chromedp.CSS("details:has(form[action='/users/kurt/deactivate']) summary")))
	c.shot("users-open-dark")
	c.do(chromedp.Click(chromedp.CSS("form[action='/users/kurt/deactivate'] button")))
	c.until("the deactivated user", `!!document.querySelector("form[action='/users/kurt/activate']")`)

	// A token is made and shown.
	c.open("/tokens")
	c.do(chromedp.SendKeys(chromedp.CSS("#new-name"), "ci"), chromedp.Click(chromedp.CSS("form[action='/tokens'] button")), chromedp.WaitVisible(chromedp.CSS("#new-token")))
	c.accessible("a new token")
	c.shot("token-new-dark")
	if faults := c.complaints(); len(faults) > 0 {
		t.Errorf("the browser complains: %v", faults)
	}
	_ = a
}

// TestBrowserWithoutScripts: everything can be done where no script runs.
func TestBrowserWithoutScripts(t *testing.T) {
	w, a, _, running, step := eventful(t)
	c := w.chromium()
	c.do(chromedp.Navigate("about:blank"))
	_, err := chromedp.Call(c.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	w.must(err)
	c.signIn("grace")
	c.open(applicationAddress(a))
	c.do(chromedp.Click(chromedp.CSS("form[action$='/start'] button")), chromedp.WaitReady(chromedp.CSS("#steps")))
	if !strings.HasPrefix(c.path(), "/tasks/") {
		t.Errorf("the start leads to %s", c.path())
	}
	c.open(taskAddress(running.ID))
	next := w.nextStep(a, running, step)
	// The page of a task that runs loads itself anew now and then.
	c.do(chromedp.WaitReady(chromedp.CSS("#step-" + id(next.ID))))
	c.do(chromedp.Click(chromedp.CSS("main .menu-pop summary")), chromedp.Click(chromedp.CSS("form[action$='/cancel'] button")), chromedp.WaitReady(chromedp.CSS(".note.is-warn")))
	c.do(chromedp.Click(chromedp.CSS(".me summary")), chromedp.Click(chromedp.CSS(".me button[value=dark]")), chromedp.WaitReady(chromedp.CSS("html[data-theme=dark]")))
	c.shot("no-scripts")
	for _, f := range c.complaints() {
		t.Errorf("the browser complains: %s", f)
	}
}

func (w *world) nextStep(a slipway.Application, t slipway.Task, s slipway.Step) (next slipway.Step) {
	w.Helper()
	w.write(func(tx *store.Tx) (err error) {
		if err = tx.CloseStep(context.Background(), s.ID, t.Epoch, slipway.StepSucceeded, ""); err != nil {
			return err
		}
		next, err = tx.OpenStep(context.Background(), t.ID, t.Epoch, "ready", "Wait until it is ready")
		return err
	})
	return next
}
