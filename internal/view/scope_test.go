package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

// TestScope stands in the world of both databases. A token confined to shop/dev asks
// everything there is to ask: it gets what is shop/dev's, and of everything else an answer
// as if it did not exist.
func TestScope(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx, r := t.Context(), w.reader
		for _, tc := range []struct {
			who  string
			c    slipway.Caller
			refs []string // what it sees
		}{
			{"an administrator sees everything", w.admin(), []string{"demo/dev", "shop/dev", "shop/production"}},
			{"a token of a project sees the project", w.confined("shop", ""), []string{"shop/dev", "shop/production"}},
			{"a token of an environment sees that one", w.confined("shop", "dev"), []string{"shop/dev"}},
			{"a token of a project that is gone sees nothing", w.confined("gone", ""), nil},
			{"a token of an environment that is gone sees nothing", w.confined("shop", "gone"), nil},
		} {
			t.Run(tc.who, func(t *testing.T) {
				see := func(ref string) bool { return strings.Contains(strings.Join(tc.refs, " ")+" ", ref+" ") }

				var refs []string
				for _, e := range must[view.List[slipway.Environment]](t)(r.Environments(ctx, tc.c, "", view.Page{})).Items {
					refs = append(refs, e.Ref())
				}
				if diff := cmp.Diff(refs, tc.refs); diff != "" {
					t.Errorf("environments (-got +want):\n%s", diff)
				}

				refs = nil
				for _, a := range must[view.List[view.ApplicationRow]](t)(r.Applications(ctx, tc.c, view.ApplicationFilter{}, view.Page{})).Items {
					refs = append(refs, slipway.EnvironmentRef(a.Project, a.Environment))
				}
				if diff := cmp.Diff(refs, tc.refs); diff != "" {
					t.Errorf("applications (-got +want):\n%s", diff)
				}
				refs = nil
				named := view.ApplicationFilter{Name: "guestbook"}
				for _, a := range must[view.List[view.ApplicationRow]](t)(r.Applications(ctx, tc.c, named, view.Page{})).Items {
					refs = append(refs, slipway.EnvironmentRef(a.Project, a.Environment))
				}
				if diff := cmp.Diff(refs, tc.refs); diff != "" {
					t.Errorf("applications by name (-got +want):\n%s", diff)
				}

				for _, a := range []slipway.Application{w.demo, w.dev, w.production} {
					ref := slipway.EnvironmentRef(a.Project, a.Environment)
					var none int64 = 999
					ask := map[string][2]error{}
					errOf := func(name string, ask1, ask2 func() error) { ask[name] = [2]error{ask1(), ask2()} }
					errOf("Environment",
						func() error { _, err := r.Environment(ctx, tc.c, a.Project, a.Environment); return err },
						func() error { _, err := r.Environment(ctx, w.admin(), "none", "none"); return err })
					errOf("Secrets",
						func() error { _, err := r.Secrets(ctx, tc.c, a.Project, a.Environment, view.Page{}); return err },
						func() error { _, err := r.Secrets(ctx, w.admin(), "none", "none", view.Page{}); return err })
					errOf("Application",
						func() error { _, err := r.Application(ctx, tc.c, a.ID); return err },
						func() error { _, err := r.Application(ctx, w.admin(), none); return err })
					errOf("ApplicationByName",
						func() error { _, err := r.ApplicationByName(ctx, tc.c, a.Project, a.Environment, a.Name); return err },
						func() error { _, err := r.ApplicationByName(ctx, w.admin(), "none", "none", a.Name); return err })
					errOf("Revisions",
						func() error { _, err := r.Revisions(ctx, tc.c, a.ID, view.Page{}); return err },
						func() error { _, err := r.Revisions(ctx, w.admin(), none, view.Page{}); return err })
					errOf("Revision",
						func() error { _, err := r.Revision(ctx, tc.c, a.ID, 1); return err },
						func() error { _, err := r.Revision(ctx, w.admin(), none, 1); return err })
					tasks := must[view.List[view.TaskRow]](t)(r.Tasks(ctx, w.admin(), view.TaskFilter{ApplicationID: a.ID, Children: true}, view.Page{})).Items
					for _, task := range tasks {
						errOf(fmt.Sprintf("Task %d", task.ID),
							func() error { _, err := r.Task(ctx, tc.c, task.ID); return err },
							func() error { _, err := r.Task(ctx, w.admin(), none); return err })
					}
					if a.ID == w.production.ID {
						errOf("Step",
							func() error { _, err := r.Step(ctx, tc.c, w.upgrade.ID, w.step.ID); return err },
							func() error { _, err := r.Step(ctx, w.admin(), none, w.step.ID); return err })
					}
					for name, errs := range ask {
						if see(ref) {
							if errs[0] != nil {
								t.Errorf("%s of %s: %v, want an answer", name, ref, errs[0])
							}
							continue
						}
						if !slipway.Is(errs[0], slipway.NotFound) || !slipway.Is(errs[1], slipway.NotFound) {
							t.Errorf("%s of %s: %v and of none: %v; want NotFound of both", name, ref, errs[0], errs[1])
							continue
						}
						if got, want := shape(errs[0], a, w), shape(errs[1], a, w); got != want {
							t.Errorf("%s of %s says %q, and %q of what does not exist", name, ref, got, want)
						}
					}

					// The lists, asked for a part that may be outside.
					if got := must[view.List[view.TaskRow]](t)(r.Tasks(ctx, tc.c, view.TaskFilter{ApplicationID: a.ID, Children: true}, view.Page{})); !see(ref) && len(got.Items) > 0 {
						t.Errorf("Tasks of %s: %v, want none", ref, got.Items)
					}
					if got := must[view.List[view.TaskRow]](t)(r.Tasks(ctx, tc.c, view.TaskFilter{Project: a.Project, Environment: a.Environment}, view.Page{})); see(ref) != (len(got.Items) > 0) {
						t.Errorf("Tasks in %s: %d, want some: %v", ref, len(got.Items), see(ref))
					}
					if got := must[view.List[view.ApplicationRow]](t)(r.Applications(ctx, tc.c, view.ApplicationFilter{Project: a.Project, Environment: a.Environment}, view.Page{})); see(ref) != (len(got.Items) > 0) {
						t.Errorf("Applications in %s: %d, want some: %v", ref, len(got.Items), see(ref))
					}
				}

				users := must[view.DriverPage](t)(r.Driver(ctx, tc.c, driver.Name, driver.Version))
				if got, want := len(users.Users), len(tc.refs); got != want || users.UsersAll != want {
					t.Errorf("the driver's users are %d of %d, want %d", got, users.UsersAll, want)
				}
			})
		}
	})
}

// shape is an error's text without what names the noun, so that two can be compared.
func shape(err error, a slipway.Application, w *world) string {
	s := err.Error()
	for _, id := range []int64{999, a.ID, w.upgrade.ID, w.stop.ID, w.step.ID} {
		s = strings.ReplaceAll(s, fmt.Sprintf(" %d", id), " #")
	}
	for i := range int64(10) {
		s = strings.ReplaceAll(s, fmt.Sprintf("task %d", i), "task #")
	}
	for _, ref := range []string{"none/none", slipway.EnvironmentRef(a.Project, a.Environment)} {
		s = strings.ReplaceAll(s, ref, "P/E")
	}
	return strings.ReplaceAll(s, "revision 1 of", "")
}

// TestInstallationWide stands in the world of both databases: what concerns all of the
// installation is not for tokens that see a part, and some of it for administrators only.
func TestInstallationWide(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		ctx, r := t.Context(), w.reader
		reader := slipway.Caller{UserID: 77, UserName: "kurt", Role: slipway.ReadOnly}
		nobody := slipway.Caller{}
		for _, tc := range []struct {
			what string
			ask  func(c slipway.Caller) error
			want map[string]slipway.Kind // by caller; absent: an answer
		}{
			{"users", func(c slipway.Caller) error { _, err := r.Users(ctx, c, view.Page{}); return err }, map[string]slipway.Kind{"confined": slipway.Forbidden}},
			{"a user", func(c slipway.Caller) error { _, err := r.User(ctx, c, "ADA"); return err }, map[string]slipway.Kind{"confined": slipway.Forbidden}},
			{"replicas", func(c slipway.Caller) error { _, err := r.Replicas(ctx, c); return err }, map[string]slipway.Kind{"confined": slipway.Forbidden}},
			{"the audit", func(c slipway.Caller) error { _, err := r.Audit(ctx, c, view.AuditFilter{}, view.Page{}); return err }, map[string]slipway.Kind{"confined": slipway.Forbidden, "reader": slipway.Forbidden}},
			{"everybody's tokens", func(c slipway.Caller) error { _, err := r.Tokens(ctx, c, view.Everybody, view.Page{}); return err }, map[string]slipway.Kind{"reader": slipway.Forbidden}},
			{"another's tokens", func(c slipway.Caller) error {
				_, err := r.Tokens(ctx, c, slipway.ActionsUser, view.Page{})
				return err
			}, map[string]slipway.Kind{"reader": slipway.Forbidden}},
			{"one's own tokens", func(c slipway.Caller) error { _, err := r.Tokens(ctx, c, "", view.Page{}); return err }, nil},
			{"drivers", func(c slipway.Caller) error { _, err := r.Drivers(ctx, c, view.Page{}); return err }, nil},
			{"projects", func(c slipway.Caller) error { _, err := r.Projects(ctx, c, view.Page{}); return err }, nil},
		} {
			for name, c := range map[string]slipway.Caller{"admin": w.admin(), "reader": reader, "confined": w.confined("shop", "dev")} {
				if got, want := slipway.KindOf(tc.ask(c)), tc.want[name]; got != want {
					t.Errorf("%s for %s: %q, want %q", tc.what, name, got, want)
				}
			}
			if got := slipway.KindOf(tc.ask(nobody)); got != slipway.Unauthenticated {
				t.Errorf("%s for nobody: %q, want a refusal", tc.what, got)
			}
		}
	})
}

// TestTokensOfAConfinedCaller stands in the world of both databases: a token sees of its
// user's tokens those of its own scope, and never those of actions.
func TestTokensOfAConfinedCaller(t *testing.T) {
	onBoth(t, func(t *testing.T, w *world) {
		w.write(func(tx *storeTx) error {
			for i, tok := range []slipway.Token{
				{Name: "all", UserID: w.ada.ID}, {Name: "shop", UserID: w.ada.ID, Project: "shop"},
				{Name: "dev", UserID: w.ada.ID, Project: "shop", Environment: "dev"},
				{Name: "action", UserID: w.actions.ID, TaskID: w.upgrade.ID},
			} {
				tok.Role = slipway.ReadOnly
				if _, err := tx.CreateToken(t.Context(), tok, []byte{byte(i)}); err != nil {
					return err
				}
			}
			return nil
		})
		for _, tc := range []struct {
			c    slipway.Caller
			user string
			want []string
		}{
			{w.admin(), "", []string{"dev", "shop", "all"}},
			{w.admin(), view.Everybody, []string{"dev", "shop", "all"}},
			{w.confined("shop", ""), "", []string{"dev", "shop"}},
			{w.confined("shop", "dev"), "", []string{"dev"}},
			{w.confined("demo", ""), "", nil},
		} {
			var got []string
			for _, tok := range must[view.List[slipway.Token]](t)(w.reader.Tokens(t.Context(), tc.c, tc.user, view.Page{})).Items {
				got = append(got, tok.Name)
			}
			if diff := cmp.Diff(got, tc.want); diff != "" {
				t.Errorf("tokens for %s/%s (-got +want):\n%s", tc.c.Project, tc.c.Environment, diff)
			}
		}
	})
}
