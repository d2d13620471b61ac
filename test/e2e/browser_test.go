//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"slipway.dev/slipway/internal/wire"
	"slipway.dev/slipway/test/world"
)

// look signs in with a real Chromium, opens the application and the failed task, and reads
// what stands there. With SLIPWAY_SCREENSHOTS naming a folder it keeps pictures.
func (w *installation) look(failed wire.Task) {
	w.T.Helper()
	page := openChromium(w.T)
	page.visit(w.URL + "/sign-in")
	page.do(
		chromedp.SendKeys(chromedp.CSS("#name"), "admin"),
		chromedp.SendKeys(chromedp.CSS("#password"), "correct horse battery staple"),
		chromedp.Click(chromedp.CSS("form[action='/sign-in'] button")),
		chromedp.WaitReady(chromedp.CSS("nav[aria-label=Main]")),
	)
	page.visit(w.URL + "/applications/" + w.Env + "/guestbook")
	page.contains("1.1.0", "web", "worker", "stopped")
	page.keep("application.png")

	page.visit(fmt.Sprintf("%s/tasks/%d", w.URL, failed.ID))
	page.contains("Run the upgrade pre-hook", "Run the upgrade hook", "failed with exit code 1", "Show output", "Stop worker of guestbook")
	if _, err := chromedp.Run(page.ctx, chromedp.Evaluate[bool](
		"(() => { const s = [...document.querySelectorAll('main details summary')].find(s => s.innerText.includes('Show output')); s.click(); return true })()")); err != nil {
		w.T.Fatal(err)
	}
	page.contains(`column "author" already exists`)
	page.keep("task.png")
}

// chromium is a browser that a test drives.
type chromium struct {
	testing.TB
	ctx context.Context
}

func openChromium(t testing.TB) *chromium {
	t.Helper()
	const path = "/usr/bin/chromium"
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("this test needs Chromium: %v; install the package chromium", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(alloc)
	ctx, end := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(func() { end(); cancel(); stop() })
	page := &chromium{t, ctx}
	page.do(chromedp.EmulateViewport(1200, 860))
	return page
}

func (c *chromium) do(steps ...chromedp.Action[chromedp.Void]) {
	c.Helper()
	if err := chromedp.Do(c.ctx, steps...); err != nil {
		c.Fatal(err)
	}
}

func (c *chromium) visit(url string) {
	c.Helper()
	c.do(chromedp.Navigate(url), chromedp.WaitReady(chromedp.CSS("main#content")))
}

// contains waits until the page's visible text has all of the texts.
func (c *chromium) contains(texts ...string) {
	c.Helper()
	world.Eventually(c.TB, 15*time.Second, fmt.Sprintf("the page shows %q", texts), func() (bool, string) {
		seen, err := chromedp.Run(c.ctx, chromedp.Evaluate[string]("document.querySelector('main').innerText"))
		if err != nil {
			return false, err.Error()
		}
		for _, text := range texts {
			if !strings.Contains(seen, text) {
				return false, seen
			}
		}
		return true, ""
	})
}

func (c *chromium) keep(name string) {
	c.Helper()
	dir := os.Getenv("SLIPWAY_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(c.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), png, 0o644); err != nil {
		c.Fatal(err)
	}
}
