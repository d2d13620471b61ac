package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"slipway.dev/slipway/internal/change"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

func (s *service) registerDrivers() {
	register(s, "list-drivers", s.listDrivers)
	register(s, "load-driver", s.loadDriver, func(op *huma.Operation) { op.MaxBodyBytes = s.BundleBytes + 1 })
	register(s, "get-driver", s.getDriver)
	register(s, "delete-driver", s.deleteDriver)
}

// DriverPath is the part of a request that names a version of a driver.
type DriverPath struct {
	Driver  string `path:"driver" maxLength:"64"`
	Version string `path:"version" maxLength:"64"`
}

func (s *service) listDrivers(ctx context.Context, c slipway.Caller, in *Page) (*answer[wire.List[wire.Driver]], error) {
	l, err := s.View.Drivers(ctx, c, in.view())
	return listing(l, err, wireDriver)
}

func (s *service) loadDriver(ctx context.Context, c slipway.Caller, in *struct {
	Source  string `query:"source" maxLength:"200" doc:"Where the bundle is from, for people: a directory's name."`
	RawBody []byte `contentType:"application/gzip" doc:"The packed bundle."`
},
) (*answer[wire.Driver], error) {
	d, err := s.Change.LoadDriver(ctx, c, change.LoadDriverInput{Archive: in.RawBody, Source: in.Source})
	if err != nil {
		return nil, err
	}
	out := wireDriver(d.Driver)
	out.Known = d.Known
	return reply(out, nil)
}

func (s *service) getDriver(ctx context.Context, c slipway.Caller, in *DriverPath) (*answer[wire.Driver], error) {
	p, err := s.View.Driver(ctx, c, in.Driver, in.Version)
	if err != nil {
		return nil, err
	}
	out := wireDriver(p.Driver)
	if len(p.Driver.Spec.Parameters) > 0 {
		if err := json.Unmarshal(p.Driver.Spec.Parameters, &out.Parameters); err != nil {
			return nil, fmt.Errorf("read the parameters of driver %s %s: %w", in.Driver, in.Version, err)
		}
	}
	return reply(out, nil)
}

func (s *service) deleteDriver(ctx context.Context, c slipway.Caller, in *DriverPath) (*nothing, error) {
	return nil, s.Change.DeleteDriver(ctx, c, in.Driver, in.Version)
}

// wireDriver is a driver without its parameters' schema, which only one driver's page needs.
func wireDriver(d slipway.Driver) wire.Driver {
	ch := d.Spec.Chart
	out := wire.Driver{
		Name: d.Name, Version: d.Version, Digest: d.Digest, Description: d.Spec.Info.Description, SupportedVersions: d.Spec.SupportedVersions,
		Source: d.Source, Size: d.Size, Warnings: d.Warnings, LoadedBy: d.LoadedBy, LoadedAt: d.LoadedAt,
		Chart:      wire.DriverChart{Location: ch.Location, InBundle: ch.Location != "" && !strings.Contains(ch.Location, "://"), Version: ch.Version, Digest: ch.Digest},
		Components: []wire.DriverComponent{}, Actions: []wire.DriverAction{},
	}
	for _, name := range slices.Sorted(maps.Keys(d.Spec.Components)) {
		x := d.Spec.Components[name]
		out.Components = append(out.Components, wire.DriverComponent{Name: name, Selector: x.Selector, Container: x.Container, Scalable: x.Scalable})
	}
	for _, a := range d.Spec.Actions {
		out.Actions = append(out.Actions, wire.DriverAction{
			Name: a.Name, Hook: string(a.Hook), Mode: string(a.Mode), Location: a.File + "::" + a.Function, Description: a.Description,
			Timeout: cmp.Or(a.Timeout, slipway.DefaultActionTimeout).String(), Irreversible: a.Irreversible,
		})
	}
	for name, x := range d.Spec.Services {
		if out.Services == nil {
			out.Services = map[string]wire.Service{}
		}
		out.Services[name] = wire.Service(x)
	}
	return out
}
