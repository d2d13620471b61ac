//go:build browser

package dashboard

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"slipway.dev/slipway/internal/outside/forge"
)

// TestBrowserMakesAnApp goes the whole way in a real Chromium: from the connection's page to
// the fake GitHub's two pages and back, by forms that the pages' policy lets through. The
// App's signed deliveries then come in.
func TestBrowserMakesAnApp(t *testing.T) {
	w := settled(t)
	g, server := w.github()
	c := w.chromium()
	c.signIn("grace")
	c.open("/connections/acme")
	c.do(chromedp.Click(chromedp.CSS(`main a[href="/connections/acme/app"]`)), chromedp.WaitReady(chromedp.CSS("#organization")))
	for _, scheme := range []string{"light", "dark"} {
		c.colours(scheme)
		c.accessible("the form of an App, " + scheme)
		c.shot("app-form-" + scheme)
	}
	c.do(chromedp.SendKeys(chromedp.CSS("#organization"), "team"), chromedp.Click(chromedp.CSS("main form[action$='/app'] button")), chromedp.WaitReady(chromedp.CSS("#to-github")))
	for _, scheme := range []string{"light", "dark"} {
		c.colours(scheme)
		c.accessible("on the way to GitHub, " + scheme)
		c.shot("app-continue-" + scheme)
	}
	c.do(chromedp.Click(chromedp.CSS("#to-github button")), chromedp.WaitReady(chromedp.CSS("#create")))
	if at := evaluate[string](c, "location.origin"); at != server.URL {
		t.Fatalf("the form leads to %s", at)
	}
	c.do(chromedp.Click(chromedp.CSS("#create")), chromedp.WaitReady(chromedp.CSS("#install")))
	if at := evaluate[string](c, "location.href"); at != w.server.URL+"/connections/acme" {
		t.Errorf("the way back ends at %s", at)
	}
	for _, scheme := range []string{"light", "dark"} {
		c.colours(scheme)
		c.accessible("an App that was made, " + scheme)
		c.shot("app-made-" + scheme)
	}
	if to := evaluate[string](c, `document.querySelector("#install a").href`); to != server.URL+"/github-apps/slipway-acme/installations/new" {
		t.Errorf("it is installed at %s", to)
	}
	c.do(chromedp.EmulateViewport(390, 800))
	c.open("/connections/whole/app")
	if wide := evaluate[float64](c, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the form is %v wide on a screen of 390", wide)
	}
	c.shot("app-form-narrow")

	g.Queue(forge.Repository{Owner: "team", Name: "app"}, []string{"self-hosted"})
	g.Delivered()
	c.open("/connections/acme")
	c.until("the App's delivery", `document.querySelector("main").textContent.includes("workflow_job queued")`)
	for _, f := range c.complaints() {
		if !strings.HasPrefix(f, "error: "+server.URL) { // that GitHub's pages have no icon
			t.Errorf("the browser complains: %s", f)
		}
	}
}
