package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// drifted records what a look at an application has found.
func (w *world) drifted(a slipway.Application, d slipway.Drift) {
	d.ApplicationID, d.Revision = a.ID, a.Applied
	ctx := context.Background()
	w.must(w.store.InTx(ctx, func(tx *store.Tx) error { return tx.SetDrift(ctx, d) }))
}

func (w *world) guestbook() (a slipway.Application) {
	ctx := context.Background()
	w.must(w.store.Read(ctx, func(tx *store.Tx) error {
		e, err := tx.EnvironmentByName(ctx, "shop", "dev")
		if err == nil {
			a, err = tx.ApplicationByName(ctx, e.ID, "guestbook")
		}
		return err
	}))
	return a
}

// TestDriftIsShownAndRepaired stands on a real SQLite database.
func TestDriftIsShownAndRepaired(t *testing.T) {
	t.Parallel()
	w := settled(t)
	const path, form = "/applications/shop/dev/guestbook", "form[action=/applications/shop/dev/guestbook/repair]"
	grace, a := w.as("grace"), w.guestbook()
	if text := grace.page(path).text(); !strings.Contains(text, "Nobody has looked yet") {
		t.Errorf("before any look the page says\n%s", text)
	}
	now := time.Now()
	w.drifted(a, slipway.Drift{LookedAt: now, CheckedAt: now})
	page := grace.page(path)
	if text := page.text(); !strings.Contains(text, "The cluster is as revision 1 was applied") || page.has(form) {
		t.Errorf("without drift the page says\n%s", text)
	}
	w.drifted(a, slipway.Drift{LookedAt: now, CheckedAt: now.Add(-time.Hour), Missed: "the cluster did not answer within 1m0s", Since: now, Found: sampleDrift.Found})
	page = grace.page(path)
	text := page.text()
	for _, want := range []string{
		"Not checked since", "The cluster did not answer within 1m0s", "Deployment guestbook-web", "replicas", "by kubectl-edit", "not set",
		"the values are not shown", "it is missing", "a repair makes it again", "no change made it",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q:\n%s", want, text)
		}
	}
	if got := grace.page("/applications").text(); !strings.Contains(got, "Drifted: 5 differences") {
		t.Errorf("the list says\n%s", got)
	}
	if w.as("kurt").page(path).has(form) {
		t.Error("a Read-only user is offered a repair")
	}

	stale := grace.post(path+"/repair", url.Values{"revision": {"99"}})
	if stale.status != http.StatusConflict || !stale.doc.has("#problem") {
		t.Errorf("a repair of another revision: %d, want the page with why", stale.status)
	}
	first, again := grace.send(page, form), grace.send(page, form)
	if first.status != http.StatusSeeOther || again.to != first.to {
		t.Fatalf("repair: %d to %q, and once more to %q; want one task", first.status, first.to, again.to)
	}
	if text := grace.page(first.to).text(); !strings.Contains(text, "Repair guestbook") || !strings.Contains(text, "Put back what drifted") {
		t.Errorf("the task's page says\n%s", text)
	}
}

func TestOnlyItsOwnPagesWakeForALookWithoutNews(t *testing.T) {
	t.Parallel() // World: pure
	e := slipway.Event{Kind: slipway.EventChecked, Project: "shop", Environment: "dev"}
	if concerns(e, slipway.Caller{}, "", "") || concerns(e, slipway.Caller{}, "shop", "") || !concerns(e, slipway.Caller{}, "shop", "dev") {
		t.Error("a look without news wakes lists, or not the application's page")
	}
	e.Kind = slipway.EventDrift
	if !concerns(e, slipway.Caller{}, "", "") {
		t.Error("news of drift do not wake the list")
	}
}
