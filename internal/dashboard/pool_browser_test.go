//go:build browser

package dashboard

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// look holds what is true of a page in both colours and on a narrow screen.
func (c *chromium) look(name string) {
	c.Helper()
	for _, scheme := range []string{"light", "dark"} {
		c.colours(scheme)
		c.shot(name + "-" + scheme)
		c.accessible(name + ", " + scheme)
	}
	c.colours("light")
	c.do(chromedp.EmulateViewport(390, 800))
	if wide := evaluate[float64](c, `document.documentElement.scrollWidth`); wide > 390 {
		c.Errorf("%s is %v wide on a screen of 390", name, wide)
	}
	c.shot(name + "-narrow")
	c.do(chromedp.EmulateViewport(1280, 900))
}

func (c *chromium) says(what, text string) {
	c.Helper()
	c.until(what, `document.querySelector("main")?.textContent.replace(/\s+/g, " ").includes(`+quoted(text)+`)`)
}

func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// TestBrowserPools: a pool is made, changed and paused by hand: from the list to the form,
// by a fault that stands at its field, to the plan, the task, and the application's page.
func TestBrowserPools(t *testing.T) {
	for name, scripts := range map[string]bool{"with scripts": true, "without scripts": false} {
		t.Run(name, func(t *testing.T) {
			w := settled(t).withNodes()
			c := w.chromium()
			if !scripts {
				c.do(chromedp.Navigate("about:blank"))
				_, err := chromedp.Call(c.ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
				w.must(err)
			}
			look := func(name string) {
				if scripts { // axe is one
					c.look(name)
				}
			}
			c.signIn("grace")
			c.open("/runners")
			look("pools-none")
			c.do(chromedp.Click(chromedp.CSS("a[href='/runners/new']")), chromedp.WaitVisible(chromedp.CSS("#in")))
			look("pool-where")
			c.do(
				chromedp.SetValue(chromedp.CSS("#in"), "shop/dev"), chromedp.Click(chromedp.CSS("form[action='/runners/new'] button")),
				chromedp.WaitVisible(chromedp.CSS("#pool-name")),
			)
			look("pool-new")
			c.do(
				chromedp.SendKeys(chromedp.CSS("#pool-name"), "team-ci"), chromedp.SendKeys(chromedp.CSS("#pool-owner"), "acme"),
				chromedp.SetValue(chromedp.CSS("#pool-credential"), "github-runner-token"), chromedp.SendKeys(chromedp.CSS("#pool-labels"), "slipway, large"),
				chromedp.Click(chromedp.CSS("details.more summary")), chromedp.WaitVisible(chromedp.CSS("#pool-priority")),
				chromedp.SendKeys(chromedp.CSS("#pool-priority"), "high"),
				chromedp.Click(chromedp.CSS("button[value=plan]")), chromedp.WaitVisible(chromedp.CSS("#problem")),
			)
			c.says("the fault", "must be a whole number")
			look("pool-wrong")
			if scripts {
				if got := evaluate[string](c, `document.activeElement.id`); got != "problem" {
					t.Errorf("the focus is on %q, not on what is wrong", got)
				}
			}
			c.do(
				chromedp.Click(chromedp.CSS("#problem a[href='#pool-priority']")), chromedp.SetValue(chromedp.CSS("#pool-priority"), "-5"),
				chromedp.Click(chromedp.CSS("button[value=plan]")), chromedp.WaitVisible(chromedp.CSS("#toml")),
			)
			c.says("the plan", "4000m CPU, 8Gi memory and 14Gi disk")
			look("pool-plan")
			c.do(chromedp.Click(chromedp.CSS("form[action='/runners/new/deploy'] .btn-primary")), chromedp.WaitVisible(chromedp.CSS("#steps")))
			if !strings.HasPrefix(c.path(), "/tasks/") {
				t.Fatalf("the deploy leads to %s", c.path())
			}
			_, p := w.poolNamed("team-ci")
			if p.Spec.Priority != -5 || p.Spec.Replicas != 4 || strings.Join(p.Spec.Labels, " ") != "slipway large" {
				t.Errorf("the pool is %+v", p.Spec)
			}

			c.open(ciPath)
			look("pool-made")
			c.do(
				chromedp.Click(chromedp.CSS("a[href$='/change']")), chromedp.WaitVisible(chromedp.CSS("#pool-when-never")),
				chromedp.Click(chromedp.CSS("#pool-when-never")), chromedp.SetValue(chromedp.CSS("#pool-replicas"), "2"),
				chromedp.Click(chromedp.CSS("button[value=plan]")), chromedp.WaitVisible(chromedp.CSS("#toml")),
			)
			c.says("the plan", "no runner is replaced")
			c.do(chromedp.Click(chromedp.CSS("button[value=edit]")), chromedp.WaitVisible(chromedp.CSS("#pool-replicas")))
			look("pool-change")
			c.do(
				chromedp.Click(chromedp.CSS("button[value=plan]")), chromedp.WaitVisible(chromedp.CSS("#toml")),
				chromedp.Click(chromedp.CSS("form[action$='/change/deploy'] .btn-primary")), chromedp.WaitVisible(chromedp.CSS("#steps")),
			)
			if _, p = w.poolNamed("team-ci"); !p.Spec.Fixed() || p.Spec.Replicas != 2 || p.Spec.Priority != -5 {
				t.Errorf("the changed pool is %+v", p.Spec)
			}

			c.open(ciPath + "/change?as=file")
			look("pool-file")
			c.open(ciPath)
			c.do(chromedp.Click(chromedp.CSS(".box details.menu-pop summary")), chromedp.WaitVisible(chromedp.CSS("form[action$='/pause'] button")))
			look("pool-pause")
			c.do(chromedp.Click(chromedp.CSS("form[action$='/pause'] button")), chromedp.WaitVisible(chromedp.CSS("form[action$='/resume'] button")))
			if _, p = w.poolNamed("team-ci"); !p.Paused {
				t.Error("the pool is not paused")
			}
			look("pool-paused")
			c.do(chromedp.Click(chromedp.CSS("form[action$='/resume'] button")), chromedp.WaitVisible(chromedp.CSS(".box details.menu-pop summary")))
			if _, p = w.poolNamed("team-ci"); p.Paused {
				t.Error("the pool is still paused")
			}
			for _, f := range c.complaints() {
				if !strings.Contains(f, "422") { // that a form is wrong was asked for
					t.Errorf("the browser complains: %s", f)
				}
			}
		})
	}
}
