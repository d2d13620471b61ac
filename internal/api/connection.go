package api

import (
	"context"
	"strings"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/view"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerConnections() {
	register(s, "list-connections", s.listConnections)
	register(s, "create-connection", s.createConnection)
	register(s, "get-connection", s.getConnection)
	register(s, "delete-connection", s.deleteConnection)
	register(s, "rotate-connection-secret", s.rotateConnectionSecret)
	register(s, "list-deliveries", s.listDeliveries)
	register(s, "get-app-manifest", s.getAppManifest)
	register(s, "take-app", s.takeApp)
}

// ConnectionPath is the part of a request that names a connection.
type ConnectionPath struct {
	Connection string `path:"connection" maxLength:"40"`
}

func (s *service) wireConnection(c slipway.Connection) wire.Connection {
	return wire.Connection{
		Name: c.Name, Project: c.Project, Environment: c.Environment, Forge: c.Forge, BaseURL: c.BaseURL, WebhookURL: s.webhookURL(c),
		AppID: c.AppID, AppURL: c.AppURL, InstallURL: c.InstallURL(), AppCredential: c.AppCredential, CreatedBy: c.CreatedBy, CreatedAt: c.CreatedAt, LastDelivery: when(c.LastDelivery), RecoveredAt: when(c.RecoveredAt),
		RecoverError: c.RecoverError,
	}
}

// webhookURL is what people enter at the forge.
func (s *service) webhookURL(c slipway.Connection) string {
	return s.ownURL() + c.WebhookPath()
}

func (s *service) ownURL() string {
	if s.WebhookURL == nil {
		return ""
	}
	return strings.TrimSuffix(s.WebhookURL(), "/")
}

func (s *service) listConnections(ctx context.Context, c slipway.Caller, in *struct {
	Project     string `query:"project" maxLength:"40" doc:"Only those of a project."`
	Environment string `query:"environment" maxLength:"40" doc:"Only those of an environment of that name."`
},
) (*answer[wire.List[wire.Connection]], error) {
	rows, err := s.View.Connections(ctx, c, view.ConnectionFilter{Project: in.Project, Environment: in.Environment})
	return listing(view.List[slipway.Connection]{Items: rows}, err, s.wireConnection)
}

func (s *service) createConnection(ctx context.Context, c slipway.Caller, in *struct {
	Keyed
	Body wire.NewConnection
},
) (*answer[wire.ConnectionSecret], error) {
	n, err := s.Change.CreateConnection(ctx, c, change.CreateConnectionInput{
		Name: in.Body.Name, Project: in.Body.Project, Environment: in.Body.Environment, BaseURL: in.Body.BaseURL, Secret: []byte(in.Body.Secret),
		AppID: in.Body.AppID, AppKey: []byte(in.Body.AppKey), IdempotencyKey: in.Key,
	})
	return reply(wire.ConnectionSecret{Secret: n.Secret, Connection: s.wireConnection(n.Connection)}, err)
}

func (s *service) getConnection(ctx context.Context, c slipway.Caller, in *ConnectionPath) (*answer[wire.Connection], error) {
	n, err := s.View.Connection(ctx, c, in.Connection)
	if err != nil {
		return nil, err
	}
	out := s.wireConnection(n)
	begun, err := s.View.AppCreation(ctx, c, in.Connection)
	switch {
	case err == nil:
		out.AppBegun = &wire.AppBegun{
			Organization: begun.Organization, Secret: begun.Project + "/" + begun.Environment + "/" + begun.Secret, BegunAt: begun.BegunAt, ExpiresAt: begun.ExpiresAt, Error: begun.Why,
		}
	case !slipway.Is(err, slipway.NotFound):
		return nil, err
	}
	return reply(out, nil)
}

func (s *service) deleteConnection(ctx context.Context, c slipway.Caller, in *ConnectionPath) (*nothing, error) {
	return nil, s.Change.DeleteConnection(ctx, c, in.Connection)
}

func (s *service) rotateConnectionSecret(ctx context.Context, c slipway.Caller, in *struct {
	ConnectionPath
	Body wire.NewConnectionSecret
},
) (*answer[wire.ConnectionSecret], error) {
	n, err := s.Change.RotateConnectionSecret(ctx, c, change.RotateSecretInput{Name: in.Connection, Secret: []byte(in.Body.Secret), AtOnce: in.Body.AtOnce})
	return reply(wire.ConnectionSecret{Secret: n.Secret, Connection: s.wireConnection(n.Connection)}, err)
}

func (s *service) listDeliveries(ctx context.Context, c slipway.Caller, in *ConnectionPath) (*answer[wire.List[wire.Delivery]], error) {
	rows, err := s.View.Deliveries(ctx, c, in.Connection)
	return listing(view.List[slipway.Delivery]{Items: rows}, err, func(d slipway.Delivery) wire.Delivery {
		return wire.Delivery{
			GUID: d.GUID, Event: d.Event, Action: d.Action, Outcome: string(d.Outcome), Why: d.Why, JobID: d.JobID, Size: d.Size, ReceivedAt: d.ReceivedAt,
		}
	})
}

func (s *service) getAppManifest(ctx context.Context, c slipway.Caller, in *ConnectionPath) (*answer[wire.AppManifest], error) {
	n, err := s.View.Connection(ctx, c, in.Connection)
	if err != nil {
		return nil, err
	}
	m, err := change.ManifestOf(n, s.ownURL(), "ORGANIZATION")
	return reply(wire.AppManifest{RegisterURL: m.RegisterURL, ConvertURL: m.ConvertURL, Manifest: m.Manifest}, err)
}

func (s *service) takeApp(ctx context.Context, c slipway.Caller, in *struct {
	ConnectionPath
	Body wire.TakeApp
},
) (*answer[wire.AppTaken], error) {
	t, err := s.Change.TakeApp(ctx, c, change.TakeAppInput{
		Connection: in.Connection, Code: in.Body.Code, AppID: in.Body.AppID, AppKey: []byte(in.Body.AppKey),
		AppPlace: change.AppPlace{Project: in.Body.Project, Environment: in.Body.Environment, Secret: in.Body.Secret},
	})
	if err != nil {
		return nil, err
	}
	return reply(wire.AppTaken{Connection: s.wireConnection(t.Connection), Secret: t.Secret.Name, In: t.In, InsteadOf: t.InsteadOf, KeptSecret: t.KeptHook}, nil)
}
