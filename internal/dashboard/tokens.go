package dashboard

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strconv"
	"time"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
)

func (s *site) tokens(r *request) error {
	return s.showTokens(r, tokensModel{All: r.ofAll(), Form: freshToken}, http.StatusOK, nil)
}

// freshToken is the form before anyone has filled it in: the weakest role, and an end.
var freshToken = tokenForm{Role: string(slipway.ReadOnly), Days: 90}

// ofAll reports whether an administrator looks at everybody's tokens.
func (r *request) ofAll() bool {
	return r.URL.Query().Get("of") == "all" && r.caller.Role.Allows(slipway.Administrator)
}

func (s *site) showTokens(r *request, m tokensModel, status int, f *fault) error {
	of := ""
	if m.All {
		of = view.Everybody
	}
	var err error
	if m.List, err = s.View.Tokens(r.Context(), r.caller, of, r.pageOf(pageRows)); err != nil {
		return err
	}
	if m.Environments, err = s.environments(r.Context(), r.caller); err != nil {
		return err
	}
	page := r.frame("Tokens", "/tokens")
	page.Key = rand.Text()
	return r.render(status, tokensPage(page, m, f))
}

// doCreateToken answers with the page itself and no redirect: the value is on this answer
// and nowhere else. A repeat of the form is refused by its key.
func (s *site) doCreateToken(r *request) error {
	m := tokensModel{Form: tokenForm{Name: r.form("name"), Role: r.form("role"), In: r.form("in")}}
	var err error
	m.Form.Days, err = strconv.Atoi(r.form("days"))
	if err != nil || !slices.Contains(tokenDays, m.Form.Days) {
		f := r.fault(slipway.Errorf(slipway.Invalid, "choose when the token expires"))
		return s.showTokens(r, m, f.Status, &f)
	}
	project, environment := splitScope(m.Form.In)
	made, err := s.Change.CreateToken(r.Context(), r.caller, change.CreateTokenInput{
		Name: m.Form.Name, Role: slipway.Role(m.Form.Role), Project: project, Environment: environment,
		ExpiresIn: time.Duration(m.Form.Days) * 24 * time.Hour, IdempotencyKey: r.form("key"),
	})
	if err != nil {
		f := r.fault(err)
		return s.showTokens(r, m, f.Status, &f)
	}
	m.New = &newTokenModel{Name: made.Name, Value: made.Value}
	m.Form = freshToken
	return s.showTokens(r, m, http.StatusOK, nil)
}

func (s *site) doRevokeToken(r *request) error {
	n, err := r.number("id")
	if err != nil {
		return err
	}
	if err := s.Change.RevokeToken(r.Context(), r.caller, n); err != nil {
		f := r.fault(err)
		return s.showTokens(r, tokensModel{All: r.ofAll(), Form: freshToken}, f.Status, &f)
	}
	r.redirect(tokensModel{All: r.ofAll()}.query())
	return nil
}
