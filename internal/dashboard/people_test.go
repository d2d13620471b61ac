package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
)

// The tests here stand in the world of a real SQLite database with the real auth, change,
// view and events, over HTTP and without a browser.

func TestUsers(t *testing.T) {
	t.Parallel()
	w := settled(t)
	b := w.as("ada")
	if r := b.send(b.page("/users"), "form[action=/users]", "name", "eve", "role", "read-write", "password", password); r.to != "/users" {
		t.Fatalf("create: %d %s", r.status, r.doc.text())
	}
	weak := b.send(b.page("/users"), "form[action=/users]", "name", "mallory", "role", "read-write", "password", "short")
	if weak.status != http.StatusUnprocessableEntity || weak.doc.one(t, "#new-name").get("value") != "mallory" || strings.Contains(weak.body, `"short"`) {
		t.Errorf("a weak password: %d\n%s", weak.status, weak.doc.text())
	}
	if r := b.send(b.page("/users"), "form[action=/users/eve/role]", "role", "read-only"); r.to != "/users" {
		t.Fatalf("role: %d", r.status)
	}
	eve := w.as("eve")
	if got := eve.page("/users").one(t, ".me .pop").text(); !strings.HasPrefix(got, "Read-only") {
		t.Errorf("eve is %q, want read-only", got)
	}
	if r := b.send(b.page("/users"), "form[action=/users/eve/deactivate]"); r.to != "/users" {
		t.Fatalf("deactivate: %d", r.status)
	}
	if got := eve.get("/users").to; !strings.HasPrefix(got, "/sign-in") {
		t.Errorf("a deactivated user's next look leads to %q", got)
	}
	for _, step := range []string{"deactivate", "activate"} {
		if r := b.send(b.page("/users"), "form[action=/users/"+slipway.ActionsUser+"/"+step+"]"); r.to != "/users" {
			t.Errorf("%s the built-in user: %d %s", step, r.status, r.doc.text())
		}
	}
	// A password: another's by an administrator, one's own with the old one.
	const other = "another horse battery"
	if r := b.send(b.page("/users"), "form[action=/users/kurt/password]", "password", other); r.to != "/users" {
		t.Fatalf("set a password: %d %s", r.status, r.doc.text())
	}
	if b.page("/users").has("form[action=/users/" + slipway.ActionsUser + "/password]") {
		t.Error("a password is offered to the built-in user")
	}
	kurt := w.browser()
	if r := kurt.post("/sign-in", url.Values{"name": {"kurt"}, "password": {other}}); r.status != http.StatusSeeOther {
		t.Fatalf("the new password: %d", r.status)
	}
	page := kurt.page("/users")
	if page.has("form[action=/users/grace/password]") {
		t.Error("another's password is offered to a reader")
	}
	wrong := kurt.send(page, "form[action=/users/kurt/password]", "current", "not this one", "password", password)
	if wrong.status != http.StatusUnprocessableEntity || strings.Contains(wrong.body, "not this one") {
		t.Errorf("a wrong password of one's own: %d", wrong.status)
	}
	if r := kurt.send(page, "form[action=/users/kurt/password]", "current", other, "password", password); r.status != http.StatusSeeOther {
		t.Errorf("one's own password: %d %s", r.status, r.doc.text())
	}
	w.as("kurt")

	last := b.send(b.page("/users"), "form[action=/users/ada/deactivate]")
	if last.status != http.StatusConflict || !last.doc.has("#problem") {
		t.Errorf("deactivate the last administrator: %d, want a refusal", last.status)
	}
}

// TestTokenIsShownOnce: the value is in the answer that made it and nowhere after.
func TestTokenIsShownOnce(t *testing.T) {
	t.Parallel()
	w := settled(t)
	b := w.as("grace")
	page := b.page("/tokens")
	if !strings.Contains(page.text(), "slipway tokens create") {
		t.Error("the empty list does not teach the command")
	}
	for _, o := range page.all("#new-role option") {
		if o.get("value") == string(slipway.Administrator) {
			t.Error("a role is offered that the user has not")
		}
	}
	made := b.send(page, "form[action=/tokens]", "name", "ci", "role", "read-write", "in", "shop/dev", "days", "30")
	value := made.doc.one(t, "#new-token").text()
	if made.status != http.StatusOK || !strings.HasPrefix(value, "slw_") || made.header.Get("Cache-Control") != "no-store" {
		t.Fatalf("create: %d %q", made.status, value)
	}
	if again := b.send(page, "form[action=/tokens]", "name", "ci", "role", "read-write", "in", "shop/dev", "days", "30"); again.status != http.StatusConflict || strings.Contains(again.body, "slw_"+value[4:]) {
		t.Errorf("the form sent again: %d, want a refusal", again.status)
	}
	list := b.page("/tokens")
	if strings.Contains(list.text(), value) {
		t.Error("the list shows the value")
	}
	if row := list.one(t, "tbody tr").text(); !strings.Contains(row, "ci") || !strings.Contains(row, "shop/dev") || !strings.Contains(row, "Read/write") {
		t.Errorf("row %q", row)
	}
	program := w.browser()
	program.token = value
	program.page("/applications/shop/dev/guestbook")
	if got := program.get("/applications/shop/production/guestbook").status; got != http.StatusNotFound {
		t.Errorf("the token sees shop/production: %d", got)
	}
	revoke := list.all("tbody form")[0].get("action")
	if r := b.send(list, "form[action="+revoke+"]"); r.to != "/tokens" {
		t.Fatalf("revoke: %d", r.status)
	}
	if got := program.get("/applications").status; got == http.StatusOK {
		t.Error("the revoked token still works")
	}
	if !strings.Contains(b.page("/tokens").text(), "revoked") {
		t.Error("the list does not say revoked")
	}
	if r := b.post("/tokens", url.Values{"name": {"x"}, "role": {"read-only"}, "days": {"12345"}}); r.status != http.StatusUnprocessableEntity {
		t.Errorf("a span that is not offered: %d, want 422", r.status)
	}
}
