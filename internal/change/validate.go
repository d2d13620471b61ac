package change

import (
	"context"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// Validate checks an application.toml and writes nothing. With an environment it finds
// all that a deploy would refuse; without one it checks the file and, when it is loaded,
// the driver.
func (s *Service) Validate(ctx context.Context, c slipway.Caller, in SpecInput) (slipway.ApplicationSpec, error) {
	if err := need(c, slipway.ReadOnly); err != nil {
		return slipway.ApplicationSpec{}, err
	}
	p, err := parse(in)
	if err != nil {
		return slipway.ApplicationSpec{}, err
	}
	err = s.Store.Read(ctx, func(tx *store.Tx) error {
		if in.Project != "" || in.Environment != "" {
			_, err := prepare(ctx, tx, c, p)
			return err
		}
		if p.spec.Kind() == slipway.RunnerApplication {
			return nil // the file alone has told everything
		}
		alone := prepared{parsed: p}
		d, err := tx.Driver(ctx, p.spec.Driver.Name, p.spec.Driver.Version)
		var f faults
		if slipway.Is(err, slipway.NotFound) {
			missing, err := alone.unknownDriver(ctx, tx)
			if err != nil {
				return err
			}
			f = faults{missing}
		} else if err != nil {
			return err
		} else {
			f = spec.CheckAgainstDriver(p.spec, d.Spec, p.at)
		}
		if len(f) > 0 {
			return refusal(p.in.File, f)
		}
		return nil
	})
	if err != nil {
		return slipway.ApplicationSpec{}, err
	}
	return p.spec, nil
}
