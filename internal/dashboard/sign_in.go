package dashboard

import (
	"net/http"
	"net/url"

	"slipway.dev/slipway/internal/auth"
	"slipway.dev/slipway/internal/slipway"
)

func (s *site) signIn(r *request) error {
	next := localPath(r.URL.Query().Get("next"))
	if _, err := s.Auth.Authenticate(r.Context(), r.Request); err == nil {
		r.redirect(next)
		return nil
	}
	if needed, err := s.Auth.SetupNeeded(r.Context()); err != nil {
		return err
	} else if needed {
		r.redirect("/setup")
		return nil
	}
	return r.render(http.StatusOK, signInPage(r.frame("Sign in", "/sign-in"), signInForm{Next: next}, nil))
}

func (s *site) doSignIn(r *request) error {
	form := signInForm{Name: r.form("name"), Next: localPath(r.form("next"))}
	_, err := s.Auth.Login(r.Context(), r.w, r.Request, form.Name, r.PostFormValue("password"))
	if err != nil {
		f := r.fault(err)
		page := r.frame("Sign in", "/sign-in")
		page.Path = withQuery("/sign-in", url.Values{"next": {form.Next}})
		return r.render(f.Status, signInPage(page, form, &f))
	}
	r.redirect(form.Next)
	return nil
}

func (s *site) doSignOut(r *request) error {
	if err := s.Auth.Logout(r.Context(), r.w, r.Request); err != nil {
		return err
	}
	r.redirect("/sign-in")
	return nil
}

func (s *site) setup(r *request) error {
	needed, err := s.Auth.SetupNeeded(r.Context())
	switch {
	case err != nil:
		return err
	case !needed:
		r.redirect("/sign-in")
		return nil
	}
	return r.render(http.StatusOK, setupPage(r.frame("First start", "/setup"), setupForm{}, nil))
}

func (s *site) doSetup(r *request) error {
	form := setupForm{Name: r.form("name")}
	password := r.PostFormValue("password")
	err := error(slipway.Errorf(slipway.Invalid, "the two passwords differ").WithHint("type the same one twice"))
	if password == r.PostFormValue("again") {
		_, err = s.Auth.Setup(r.Context(), r.w, r.Request, auth.SetupInput{
			Secret: r.form("secret"), Username: form.Name, Password: password,
		})
	}
	if err != nil {
		f := r.fault(err)
		return r.render(f.Status, setupPage(r.frame("First start", "/setup"), form, &f))
	}
	r.redirect("/applications")
	return nil
}
