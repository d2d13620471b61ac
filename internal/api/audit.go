package api

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerAudit() { register(s, "list-audit", s.listAudit) }

func wireAudit(a slipway.Audit) wire.Audit {
	return wire.Audit{
		ID: a.ID, At: a.At, User: a.User, TokenID: a.TokenID, Remote: a.Remote, RequestID: a.RequestID,
		Action: a.Action, Noun: a.Noun, Name: a.NounName, Before: a.Before, After: a.After,
	}
}

func (s *service) listAudit(ctx context.Context, c slipway.Caller, in *struct {
	Page
	User   string `query:"user" maxLength:"64" doc:"Only what a user did."`
	Action string `query:"action" maxLength:"64" doc:"Only one action: application.deploy."`
	Noun   string `query:"noun" maxLength:"64" doc:"Only what concerns one noun: application."`
},
) (*answer[wire.List[wire.Audit]], error) {
	l, err := s.View.Audit(ctx, c, view.AuditFilter{User: in.User, Action: in.Action, Noun: in.Noun}, in.view())
	return listing(l, err, wireAudit)
}
