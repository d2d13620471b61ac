package change

import (
	"context"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

func TestProjectsAndEnvironments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	in := CreateProjectInput{Name: "blog", IdempotencyKey: "k"}
	p, err := w.s.CreateProject(ctx, w.admin, in)
	w.ok(err)
	if again, err := w.s.CreateProject(ctx, w.admin, in); err != nil || again != p {
		t.Errorf("again = %+v, %v", again, err)
	}
	w.audited("project.create", "anna", "blog", "", `{"name":"blog"}`)
	_, err = w.s.CreateProject(ctx, w.admin, CreateProjectInput{Name: "blog"})
	w.refused(err, slipway.Conflict, "there is a project blog already")
	_, err = w.s.CreateProject(ctx, w.admin, CreateProjectInput{Name: "My Blog"})
	w.refused(err, slipway.Invalid, `name: "My Blog" cannot name a project`)

	e, err := w.s.CreateEnvironment(ctx, w.admin, CreateEnvironmentInput{Project: "blog", Name: "dev", Settings: map[string]string{"fqdn_suffix": "example.com"}})
	w.ok(err)
	if e.Ref() != "blog/dev" || e.Namespace != "blog-dev" || e.Settings["fqdn_suffix"] != "example.com" {
		t.Errorf("environment = %+v", e)
	}
	w.audited("environment.create", "anna", "blog/dev", "", `{"namespace":"blog-dev","settings":{"fqdn_suffix":"example.com"}}`)
	_, err = w.s.CreateEnvironment(ctx, w.admin, CreateEnvironmentInput{Project: "nope", Name: "dev"})
	w.refused(err, slipway.NotFound, "there is no project nope")
	if e, _ := errorOf(err); e.Hint != "slipway projects create nope" {
		t.Errorf("hint = %q", e.Hint)
	}
	for _, ns := range []string{"kube-system", "default", "Prod", "a_b", strings.Repeat("a", 64)} {
		_, err = w.s.CreateEnvironment(ctx, w.admin, CreateEnvironmentInput{Project: "blog", Name: "prod", Namespace: ns})
		w.refused(err, slipway.Invalid, "namespace: ")
	}
	_, err = w.s.CreateEnvironment(ctx, w.admin, CreateEnvironmentInput{Project: "blog", Name: "prod", Namespace: "blog-dev"})
	w.refused(err, slipway.Conflict, "another one has the namespace blog-dev")
	_, err = w.s.CreateEnvironment(ctx, w.admin, CreateEnvironmentInput{Project: "b!", Name: "P", Settings: map[string]string{"a b": "", "long": strings.Repeat("x", 5000)}})
	w.refused(err, slipway.Invalid, "the environment has 5 faults")

	e, err = w.s.SetEnvironmentSettings(ctx, w.admin, "blog", "dev", map[string]string{"a": "b"})
	if err != nil || len(e.Settings) != 1 {
		t.Errorf("environment = %+v, %v", e, err)
	}
	w.audited("environment.settings", "anna", "blog/dev", `{"settings":{"fqdn_suffix":"example.com"}}`, `{"settings":{"a":"b"}}`)

	w.refused(w.s.DeleteProject(ctx, w.admin, "blog"), slipway.Conflict, "the project has environments")
	w.ok(w.s.DeleteEnvironment(ctx, w.admin, "blog", "dev"))
	w.audited("environment.delete", "anna", "blog/dev", `{"namespace":"blog-dev","settings":{"a":"b"}}`, "")
	w.ok(w.s.DeleteProject(ctx, w.admin, "blog"))
	w.audited("project.delete", "anna", "blog", `{"name":"blog"}`, "")

	w.installed()
	w.refused(w.s.DeleteEnvironment(ctx, w.admin, "shop", "production"), slipway.Conflict, "the environment has 1 applications")
}

// Pure.
func TestDefaultNamespaceFits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 40)
	one, two := defaultNamespace(long, long+"1"), defaultNamespace(long, long+"2")
	for _, ns := range []string{one, two} {
		var f faults
		if checkNamespace(&f, ns); len(f) > 0 {
			t.Errorf("%q: %v", ns, f)
		}
	}
	if one == two || defaultNamespace("shop", "production") != "shop-production" {
		t.Errorf("%q and %q", one, two)
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	in := SetSecretInput{Project: "shop", Environment: "production", Name: "license", Value: []byte("first")}
	s, err := w.s.SetSecret(ctx, w.writer, in)
	if err != nil || s.Version != 1 || s.UpdatedBy != "ben" {
		t.Errorf("secret = %+v, %v", s, err)
	}
	w.audited("secret.set", "ben", "shop/production/license", "", `{"version":1}`)
	in.Value = []byte("second")
	if s, err = w.s.SetSecret(ctx, w.writer, in); err != nil || s.Version != 2 {
		t.Errorf("secret = %+v, %v", s, err)
	}
	w.audited("secret.set", "ben", "shop/production/license", `{"version":1}`, `{"version":2}`)
	w.read(func(ctx context.Context, tx *store.Tx) error {
		sealed, err := tx.SecretSealed(ctx, w.env.ID, "license")
		if err != nil {
			return err
		}
		place, err := SecretPlace(ctx, tx, w.env.ID, "license")
		if err != nil {
			return err
		}
		got, err := w.s.Box.Open(place, sealed)
		if string(got) != "second" {
			t.Errorf("the value is %q, %v", got, err)
		}
		return err
	})
	for _, bad := range []SetSecretInput{
		{Name: "Bad Name", Value: []byte("v")}, {Name: "ok"}, {Name: "ok", Value: []byte("a\x00b")}, {Name: "ok", Value: make([]byte, maxSecret+1)},
	} {
		bad.Project, bad.Environment = "shop", "production"
		_, err := w.s.SetSecret(ctx, w.writer, bad)
		w.refused(err, slipway.Invalid, "")
	}

	a := w.mustDeploy(0, toml("1.0.0", "1.0.0", "[components.web]", `secrets = { A = "guestbook-db" }`, "[parameters]", `license = { secret = "license" }`))
	w.end(a, slipway.Succeeded, "1.0.0", "1.0.0")
	for _, name := range []string{"guestbook-db", "license"} {
		w.refused(w.s.DeleteSecret(ctx, w.writer, "shop", "production", name), slipway.Conflict, "the secret "+name+" is used by shop/production/guestbook")
	}
	w.mustDeploy(1, toml("1.0.0", "1.0.0"))
	w.ok(w.s.DeleteSecret(ctx, w.writer, "shop", "production", "license"))
	w.audited("secret.delete", "ben", "shop/production/license", `{"version":2}`, "")
	w.refused(w.s.DeleteSecret(ctx, w.writer, "shop", "production", "license"), slipway.NotFound, "there is no secret license")
}
