package dashboard

import (
	"crypto/rand"
	"net/http"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
)

func (s *site) users(r *request) error { return s.showUsers(r, userForm{}, nil) }

func (s *site) showUsers(r *request, form userForm, f *fault) error {
	l, err := s.View.Users(r.Context(), r.caller, r.pageOf(pageRows))
	if err != nil {
		return err
	}
	page := r.frame("Users", "/users")
	page.Key = rand.Text()
	status := http.StatusOK
	if f != nil {
		status = f.Status
	}
	return r.render(status, usersPage(page, l, form, f))
}

func (s *site) doCreateUser(r *request) error {
	form := userForm{Name: r.form("name"), Role: r.form("role")}
	_, err := s.Change.CreateUser(r.Context(), r.caller, change.CreateUserInput{
		Name: form.Name, Role: slipway.Role(form.Role), Password: r.PostFormValue("password"), IdempotencyKey: r.form("key"),
	})
	if err != nil {
		f := r.fault(err)
		return s.showUsers(r, form, &f)
	}
	r.redirect("/users")
	return nil
}

func (s *site) doSetRole(r *request) error {
	role := slipway.Role(r.form("role"))
	return s.updateUser(r, change.UpdateUserInput{Name: r.PathValue("name"), Role: &role})
}

func (s *site) doActivate(active bool) handler {
	return func(r *request) error {
		return s.updateUser(r, change.UpdateUserInput{Name: r.PathValue("name"), Active: &active})
	}
}

func (s *site) doSetPassword(r *request) error {
	password := r.PostFormValue("password")
	return s.updateUser(r, change.UpdateUserInput{Name: r.PathValue("name"), Password: &password, CurrentPassword: r.PostFormValue("current")})
}

func (s *site) updateUser(r *request, in change.UpdateUserInput) error {
	if _, err := s.Change.UpdateUser(r.Context(), r.caller, in); err != nil {
		f := r.fault(err)
		return s.showUsers(r, userForm{}, &f)
	}
	r.redirect("/users")
	return nil
}
