package change

import (
	"context"
	"time"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

const (
	maxTokenName  = 100
	minTokenLife  = time.Minute
	maxTokenLife  = 10 * 365 * 24 * time.Hour
	tokenShownNow = "its value was shown to the first request, and stands nowhere"
)

// CreateToken makes an API token. It never allows more than whoever makes it may do, nor
// sees more.
func (s *Service) CreateToken(ctx context.Context, c slipway.Caller, in CreateTokenInput) (NewToken, error) {
	if err := need(c, slipway.ReadOnly); err != nil {
		return NewToken{}, err
	}
	if in.User == "" {
		in.User = c.UserName
	}
	if c.TaskID != 0 || slipway.ReservedUser(in.User) {
		return NewToken{}, slipway.Errorf(slipway.Forbidden, "user %s is built in and has no tokens of its own", slipway.ActionsUser).
			WithHint("its actions get one for each task")
	}
	if err := checkToken(in); err != nil {
		return NewToken{}, err
	}
	var out NewToken
	r := request{c, in.IdempotencyKey, "token.create", []any{in.User, in.Name, in.Role, in.Project, in.Environment, in.ExpiresIn}}
	t, replayed, err := once(ctx, s.Store, r, func(tx *store.Tx) (slipway.Token, error) {
		t, err := plannedToken(ctx, tx, c, in)
		if err != nil {
			return t, err
		}
		var hash []byte
		out.Value, t.Hint, hash = s.Credentials.NewToken()
		if t, err = tx.CreateToken(ctx, t, hash); err != nil {
			return t, err
		}
		return t, record(ctx, tx, c, deed{"token.create", "token", t.ID, t.UserName + "/" + t.Name, nil, tokenFacts(t)})
	})
	if err == nil && replayed {
		err = slipway.Errorf(slipway.Conflict, "the token %s was made already with this idempotency key; %s", t.Name, tokenShownNow).
			WithHint("revoke it, and make another with a new key: slipway tokens revoke %d", t.ID)
	}
	if err != nil {
		return NewToken{}, err
	}
	out.Token = t
	return out, nil
}

func checkToken(in CreateTokenInput) error {
	var f faults
	if in.Name == "" {
		f.add("name", "it is missing", "say what the token is for: ci")
	} else if msg, hint := checkLine(in.Name, maxTokenName); msg != "" {
		f.add("name", msg, hint)
	}
	if in.Role != "" {
		checkRole(&f, in.Role)
	}
	if in.Environment != "" && in.Project == "" {
		f.add("project", "it is missing", "name the environment's project as well")
	}
	switch {
	case in.ExpiresIn < 0 || in.ExpiresIn > 0 && in.ExpiresIn < minTokenLife:
		f.add("expires_in", "it is shorter than a minute", "leave it out for a token that does not expire")
	case in.ExpiresIn > maxTokenLife:
		f.add("expires_in", "it is longer than ten years", "leave it out for a token that does not expire")
	}
	return f.err("the token")
}

// plannedToken checks the rest of a token against what stands, and fills it in.
func plannedToken(ctx context.Context, tx *store.Tx, c slipway.Caller, in CreateTokenInput) (slipway.Token, error) {
	u, err := tx.UserByName(ctx, in.User)
	if err != nil {
		return slipway.Token{}, err
	}
	if u.ID != c.UserID {
		if err := needWhole(c, slipway.Administrator); err != nil {
			return slipway.Token{}, err
		}
	}
	if !u.Active {
		return slipway.Token{}, slipway.Errorf(slipway.Conflict, "user %s is deactivated", u.Name).WithHint("activate it first")
	}
	most := u.Role
	if u.ID == c.UserID {
		most = c.Role
	}
	t := slipway.Token{UserID: u.ID, Name: in.Name, Role: in.Role, Project: in.Project, Environment: in.Environment}
	if t.Role == "" {
		t.Role = most
	}
	if !most.Allows(t.Role) {
		return t, invalid("role", "it is more than "+string(most)+", which is all that the token's user may do here", "ask for "+string(most)+" or less")
	}
	if err := scoped(ctx, tx, c, &t); err != nil {
		return t, err
	}
	if in.ExpiresIn > 0 {
		t.ExpiresAt = tx.Now.Add(in.ExpiresIn)
	}
	return t, nil
}

// scoped confines a token to what exists and what its maker sees.
func scoped(ctx context.Context, tx *store.Tx, c slipway.Caller, t *slipway.Token) error {
	if c.Project != "" && t.Project == "" {
		t.Project, t.Environment = c.Project, c.Environment
	}
	if !(c.Project == "" || c.Project == t.Project) || !(c.Environment == "" || c.Environment == t.Environment) {
		return slipway.Errorf(slipway.Forbidden, "your token sees only %s, and so must one that it makes", scope(c)).
			WithHint("sign in with a password to make a wider token")
	}
	var f faults
	if t.Environment != "" {
		_, err := environment(ctx, tx, c, t.Project, t.Environment)
		f.is("environment", onlyMissing(err))
		if err != nil && len(f) == 0 {
			return err
		}
	} else if t.Project != "" {
		_, err := tx.ProjectByName(ctx, t.Project)
		f.is("project", onlyMissing(err))
		if err != nil && len(f) == 0 {
			return err
		}
	}
	return f.err("the token")
}

// onlyMissing passes on an error that says that something does not exist, and no other.
func onlyMissing(err error) error {
	if slipway.Is(err, slipway.NotFound) {
		return err
	}
	return nil
}

func tokenFacts(t slipway.Token) facts {
	f := facts{"user": t.UserName, "role": t.Role, "hint": t.Hint}
	if t.Project != "" {
		f["project"], f["environment"] = t.Project, t.Environment
	}
	if !t.ExpiresAt.IsZero() {
		f["expires_at"] = t.ExpiresAt
	}
	return f
}

// RevokeToken ends a token at once. People may end their own, administrators all; a token
// ends itself, and those that see and may do no more than it does. Else whoever finds a
// narrow one could shut its owner's other programs out, and an action another's actions.
func (s *Service) RevokeToken(ctx context.Context, c slipway.Caller, id int64) error {
	if err := need(c, slipway.ReadOnly); err != nil {
		return err
	}
	return s.Store.InTx(ctx, func(tx *store.Tx) error {
		t, err := tx.Token(ctx, id)
		if err != nil {
			return err
		}
		if t.ID != c.TokenID {
			if err := revocable(ctx, tx, c, t); err != nil {
				return err
			}
		}
		if !t.RevokedAt.IsZero() {
			return nil
		}
		if err := tx.RevokeToken(ctx, id); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"token.revoke", "token", id, t.UserName + "/" + t.Name, tokenFacts(t), nil})
	})
}

// revocable says whether a caller may end a token that is not the one they came with.
func revocable(ctx context.Context, tx *store.Tx, c slipway.Caller, t slipway.Token) error {
	if t.UserID != c.UserID && needWhole(c, slipway.Administrator) != nil || c.TaskID != 0 || !c.Sees(t.Project, t.Environment) {
		return slipway.Errorf(slipway.NotFound, "there is no token %d", t.ID) // of yours
	}
	u, err := tx.UserByName(ctx, t.UserName)
	if err != nil {
		return err
	}
	// Its user's role counts as well: who was made read-only still ends what they made before.
	if does := t.Role.Min(u.Role); !c.Role.Allows(does) {
		return slipway.Errorf(slipway.Forbidden, "token %d may do more than yours, which has the role %s", t.ID, c.Role).
			WithHint("revoke it with a token that has the role %s, or signed in with a password", does)
	}
	return nil
}
