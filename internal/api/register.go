package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"slipway.dev/slipway/internal/auth"
	"slipway.dev/slipway/internal/slipway"
)

// handler answers one operation. Its caller was admitted by the table of operations; for
// an open operation it is nobody.
type handler[I, O any] func(ctx context.Context, caller slipway.Caller, in *I) (*O, error)

// bodyTimeout bounds the reading of a request's body.
const bodyTimeout = time.Minute

// register serves one operation of the table.
func register[I, O any](s *service, id string, handle handler[I, O], with ...func(*huma.Operation)) {
	o := operationByID(id)
	op := huma.Operation{
		OperationID: o.id, Method: o.method, Path: o.path, DefaultStatus: o.status,
		Summary: o.summary, Tags: []string{o.tag},
		MaxBodyBytes: s.RequestBytes + 1, // huma refuses a body of exactly its limit
		// huma leaves the deadline on the connection, whose expiry would cancel a handler
		// that takes longer; so it is set here alone, and lifted before the handler runs.
		BodyReadTimeout: bodyTimeout,
		Middlewares:     huma.Middlewares{s.admit(o)},
	}
	if !o.open {
		op.Security = []map[string][]string{{"token": {}}, {"session": {}}}
		op.Description = "Needs the role " + string(o.role) + "."
	} else {
		op.Security = []map[string][]string{}
		op.Description = "Needs no credentials."
	}
	for _, w := range with {
		w(&op)
	}
	limit := o.timeout
	if limit == 0 {
		limit = ordinaryTimeout
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		liftReadDeadline(ctx)
		if o.id != "watch-events" {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limit)
			defer cancel()
		}
		caller, _ := auth.CallerFrom(ctx)
		out, err := handle(ctx, caller, in)
		if err != nil {
			p := s.problem(ctx, err)
			return nil, huma.ErrorWithHeaders(p, p.headers)
		}
		return out, nil
	})
}

// admit authenticates a request, and checks its role and its scope against the table.
func (s *service) admit(o operation) func(huma.Context, func(huma.Context)) {
	return func(hc huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(hc)
		about := aboutOf(hc.Context())
		ctx := context.WithValue(hc.Context(), exchangeKey{}, exchange{r, w})
		caller := slipway.Caller{Remote: s.Auth.Remote(r), RequestID: about.id}
		if !o.open {
			found, err := s.Auth.Authenticate(ctx, r)
			if err == nil {
				found.RequestID = about.id
				caller, about.user = found, found.UserName
				err = allowed(o, caller, hc.Param("project"), hc.Param("environment"))
			}
			if err != nil {
				writeProblem(w, s.problem(ctx, err))
				return
			}
		}
		next(huma.WithContext(hc, auth.WithCaller(ctx, caller)))
	}
}

// allowed checks what can be told without looking at any noun. What is out of a token's
// scope is not found, so that its name is not told.
func allowed(o operation, c slipway.Caller, project, environment string) error {
	switch {
	case c.Role.Allows(o.role):
	case c.UserName == slipway.ActionsUser && o.role == slipway.ReadWrite:
		// An action's author reads this, who cannot help; an administrator can.
		return slipway.Errorf(slipway.Forbidden, "user %s has the role %s, and this needs %s", c.UserName, c.Role, o.role).
			WithHint("an administrator can change its role under Users")
	default:
		return slipway.Errorf(slipway.Forbidden, "this needs the role %s, and you have %s", o.role, c.Role).
			WithHint("ask an administrator, or use another token")
	}
	if project != "" && (c.Project != "" && c.Project != project || environment != "" && !c.Sees(project, environment)) {
		return slipway.Errorf(slipway.NotFound, "there is no such project or environment, or you may not see it")
	}
	if o.role == slipway.Administrator && project == "" && c.Project != "" {
		return slipway.Errorf(slipway.Forbidden, "this concerns the whole installation, and your token is confined to a project").
			WithHint("use a token that is not confined")
	}
	return nil
}

// exchange is the HTTP request and response below a handler, for the few that write
// cookies or keep the connection.
type exchange struct {
	r *http.Request
	w http.ResponseWriter
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) exchange {
	return ctx.Value(exchangeKey{}).(exchange) //nolint:forcetypeassert // the middleware of every route stores it
}

// liftReadDeadline takes away the deadline under which the body was read. Where there is
// no connection, as in tests with a recorder, there is none.
func liftReadDeadline(ctx context.Context) {
	_ = http.NewResponseController(exchangeOf(ctx).w).SetReadDeadline(time.Time{})
}

// retryAfter writes a wait as the header has it: whole seconds, rounded up.
func retryAfter(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}
