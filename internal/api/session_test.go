package api

import (
	"os"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/wire"
)

// These tests stand on a real SQLite database.

func TestALoginIsATokenUntilTheLogout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var s wire.Session
	r := w.must(201, "POST", "/login", "", wire.Login{Username: "REX", Password: password, TokenName: "login from a host"}, &s)
	if s.Info.User != "rex" || s.Info.Name != "login from a host" || s.Info.Role != "read-only" || !strings.HasPrefix(s.Token, "slw_") {
		t.Errorf("session = %+v", s)
	}
	if r.header.Get("Set-Cookie") != "" {
		t.Errorf("a login of the API set a cookie: %s", r.header.Get("Set-Cookie"))
	}
	var me wire.Whoami
	w.must(200, "GET", "/whoami", s.Token, nil, &me)
	if me.User != "rex" || me.Role != "read-only" || me.TokenID != s.Info.ID {
		t.Errorf("whoami = %+v", me)
	}
	w.must(204, "POST", "/logout", s.Token, nil, nil)
	if p := w.must(401, "GET", "/whoami", s.Token, nil, nil).problem(t); p.Detail != "the token was revoked" {
		t.Errorf("after the logout: %s", p.Detail)
	}
}

func TestALoginTellsNobodyWhatWasWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(200, "PATCH", "/users/rex", w.admin, `{"active":false}`, nil)
	var bodies []string
	for name, pw := range map[string]string{"ada": "wrong", "nobody": password, "rex": password, "slipway-actions": password} {
		p := w.must(401, "POST", "/login", "", wire.Login{Username: name, Password: pw}, nil).problem(t)
		p.RequestID = ""
		bodies = append(bodies, p.Detail+p.Hint)
	}
	for _, b := range bodies {
		if b != bodies[0] {
			t.Errorf("answers differ: %q and %q", b, bodies[0])
		}
	}
}

func TestSetupWorksOnceAndWithTheSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path, err := w.auth.EnsureSetupSecret(t.Context())
	check(t, err)
	secret, err := os.ReadFile(path)
	check(t, err)
	in := wire.Setup{Secret: "wrong", Username: "grace", Password: password}
	w.must(403, "POST", "/setup", "", in, nil)
	in.Secret = string(secret)
	var u wire.User
	w.must(201, "POST", "/setup", "", in, &u)
	if u.Name != "grace" || u.Role != "administrator" {
		t.Errorf("user = %+v", u)
	}
	if p := w.must(409, "POST", "/setup", "", in, nil).problem(t); p.Hint == "" {
		t.Errorf("a second set-up = %+v, want a hint", p)
	}
}

func TestAConfinedTokenSeesItsPartOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.furnish()
	w.must(201, "POST", "/projects", w.admin, wire.NewProject{Name: "bank"}, nil)
	w.must(201, "POST", "/environments", w.admin, wire.NewEnvironment{Project: "bank", Name: "prod"}, nil)
	var tok wire.TokenValue
	w.must(201, "POST", "/tokens", w.admin, wire.NewToken{Name: "ci", Role: "administrator", Project: "bank", Environment: "prod"}, &tok)
	if tok.Info.Environment != "prod" || tok.Value == "" {
		t.Fatalf("token = %+v", tok)
	}
	for _, path := range []string{"/environments/shop/dev", "/environments/shop/dev/secrets", "/projects/shop", "/applications/1", "/tasks/1"} {
		if r := w.do("GET", path, tok.Value, nil); r.status != 404 {
			t.Errorf("GET %s = %d %s, want 404", path, r.status, r.body)
		}
	}
	if r := w.do("GET", "/environments/bank/prod", tok.Value, nil); r.status != 200 {
		t.Errorf("its own environment = %d %s", r.status, r.body)
	}
	if r := w.do("POST", "/environments/shop/dev/applications", tok.Value, wire.Deploy{Spec: application("1.1.0"), ExpectedRevision: 1}); r.status != 404 {
		t.Errorf("a deploy elsewhere = %d %s, want 404", r.status, r.body)
	}
	for _, o := range operations {
		if o.role == admin && !strings.Contains(o.path, "{project}") {
			if r := w.do(o.method, strings.NewReplacer("{driver}", "guestbook", "{version}", "1.0.0").Replace(o.path), tok.Value, nil); r.status != 403 {
				t.Errorf("%s, which concerns the installation = %d %s, want 403", o.id, r.status, r.body)
			}
		}
	}
	var l wire.List[wire.Application]
	w.must(200, "GET", "/applications", tok.Value, nil, &l)
	if len(l.Items) != 0 {
		t.Errorf("applications = %v, want none; %s is elsewhere", l.Items, app.Application)
	}
	var i wire.Installation
	w.must(200, "GET", "/installation", tok.Value, nil, &i)
	if i.Version != "1.2.3" || i.Replicas != nil {
		t.Errorf("installation = %+v, want it without the processes", i)
	}
}

func TestADeactivatedUserIsOutAtTheNextRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(200, "GET", "/whoami", w.reader, nil, nil)
	w.must(200, "PATCH", "/users/rex", w.admin, `{"active":false}`, nil)
	if p := w.must(401, "GET", "/whoami", w.reader, nil, nil).problem(t); p.Detail != "user rex is deactivated" || !strings.Contains(p.Hint, "administrator") {
		t.Errorf("problem = %+v", p)
	}
}

func TestAReaderMayChangeTheirOwnPasswordOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	fresh := "another correct horse"
	if r := w.do("PATCH", "/users/rex", w.reader, map[string]string{"password": fresh, "current_password": "wrong"}); r.status != 422 {
		t.Errorf("with a wrong current password = %d %s, want 422", r.status, r.body)
	}
	w.must(200, "PATCH", "/users/rex", w.reader, map[string]string{"password": fresh, "current_password": password}, nil)
	if r := w.do("PATCH", "/users/ada", w.reader, map[string]string{"password": fresh}); r.status != 403 {
		t.Errorf("another's = %d %s, want 403", r.status, r.body)
	}
	if r := w.do("PATCH", "/users/rex", w.reader, `{"role":"administrator"}`); r.status != 403 {
		t.Errorf("their own role = %d %s, want 403", r.status, r.body)
	}
}

// C3.3: nobody becomes the user of actions, however its name is written.
func TestTheUserOfActionsBelongsToNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.furnish()
	for _, name := range []string{"slipway-actions", "SLIPWAY-ACTIONS", "Slipway-Actions"} {
		for _, tc := range []struct {
			what, method, path string
			body               any
			status             int
		}{
			{"a login", "POST", "/login", wire.Login{Username: name, Password: password}, 401},
			{"a password", "PATCH", "/users/" + name, `{"password":"correct horse battery staple"}`, 403},
			{"the role of an administrator", "PATCH", "/users/" + name, `{"role":"administrator"}`, 403},
			{"another name", "PATCH", "/users/" + name, `{"name":"mine"}`, 422},
			{"its deletion", "DELETE", "/users/" + name, nil, 404}, // there is no such operation
			{"a second one", "POST", "/users", wire.NewUser{Name: name, Role: "read-only", Password: password}, 422},
			{"a token", "POST", "/tokens", `{"name":"mine","user":"` + name + `"}`, 403},
		} {
			if r := w.do(tc.method, tc.path, w.admin, tc.body); r.status != tc.status {
				t.Errorf("%s of %s = %d %s, want %d", tc.what, name, r.status, r.body, tc.status)
			}
		}
	}
	var u wire.User
	w.must(200, "GET", "/users/slipway-actions", w.admin, nil, &u)
	if !u.BuiltIn || !u.Active || u.Role != "read-write" {
		t.Errorf("the user is %+v, want it as it was", u)
	}
}
