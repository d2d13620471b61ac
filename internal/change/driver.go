package change

import (
	"bytes"
	"context"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

const maxSource = 200

// LoadDriver checks a packed driver and keeps it. Loading the same bundle again changes
// nothing; the same name and version with other content is refused. Administrators may: a
// driver brings code that Slipway runs.
func (s *Service) LoadDriver(ctx context.Context, c slipway.Caller, in LoadDriverInput) (LoadedDriver, error) {
	if err := needWhole(c, slipway.Administrator); err != nil {
		return LoadedDriver{}, err
	}
	if msg, hint := checkLine(in.Source, maxSource); msg != "" {
		return LoadedDriver{}, invalid("source", msg, hint)
	}
	b, err := spec.Unpack(bytes.NewReader(in.Archive), s.limits())
	if err != nil {
		return LoadedDriver{}, err
	}
	if known, err := s.known(ctx, b.Digest()); err != nil || known.Known {
		return known, err
	}
	d, err := s.inspect(ctx, b)
	if err != nil {
		return LoadedDriver{}, err
	}
	packed, digest, err := spec.Pack(b)
	if err != nil {
		return LoadedDriver{}, fmt.Errorf("pack driver %s %s: %w", d.Name, d.Version, err)
	}
	d.Digest, d.Source, d.LoadedBy = digest, in.Source, c.UserName
	err = s.Store.InTx(ctx, func(tx *store.Tx) error {
		if d, err = tx.CreateDriver(ctx, d, packed); err != nil {
			return err
		}
		if err := tx.AddEvent(ctx, slipway.Event{Kind: "driver.loaded", Noun: "driver", NounID: d.ID}); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"driver.load", "driver", d.ID, d.Name + " " + d.Version, nil,
			facts{"digest": d.Digest, "source": d.Source}})
	})
	if slipway.Is(err, slipway.Conflict) {
		return s.taken(ctx, d, err)
	}
	return LoadedDriver{Driver: d}, err
}

func (s *Service) limits() spec.Limits {
	if s.BundleLimits == (spec.Limits{}) {
		return spec.DefaultLimits()
	}
	return s.BundleLimits
}

// known finds a bundle that is loaded already, before the work of checking it.
func (s *Service) known(ctx context.Context, digest string) (out LoadedDriver, err error) {
	err = s.Store.Read(ctx, func(tx *store.Tx) error {
		d, err := tx.DriverByDigest(ctx, digest)
		if slipway.Is(err, slipway.NotFound) {
			return nil
		}
		out = LoadedDriver{Driver: d, Known: err == nil}
		return err
	})
	return out, err
}

// inspect finds everything that is wrong with a driver before it is kept. Without a checker
// that is what the specification alone tells.
func (s *Service) inspect(ctx context.Context, b spec.Bundle) (slipway.Driver, error) {
	if s.Drivers == nil {
		ds, warnings, err := spec.ParseDriver(b)
		return slipway.Driver{Name: ds.Name, Version: ds.Version, Spec: ds, Warnings: warnings}, err
	}
	found, err := s.Drivers.CheckDriver(ctx, b)
	if err != nil {
		return slipway.Driver{}, err
	}
	f := faults(found.Faults)
	if err := f.err("the driver"); err != nil {
		return slipway.Driver{}, err
	}
	ds := found.Spec
	return slipway.Driver{Name: ds.Name, Version: ds.Version, Spec: ds, Warnings: found.Warnings}, nil
}

// forPeople is an error's message without causes that are for the log.
func forPeople(err error) string {
	if e, ok := errorOf(err); ok {
		return e.Msg
	}
	return err.Error()
}

// taken decides a conflict over a driver's name and version: another request may have
// loaded the very same bundle meanwhile.
func (s *Service) taken(ctx context.Context, d slipway.Driver, conflict error) (LoadedDriver, error) {
	var there slipway.Driver
	err := s.Store.Read(ctx, func(tx *store.Tx) (err error) {
		there, err = tx.Driver(ctx, d.Name, d.Version)
		return err
	})
	switch {
	case slipway.Is(err, slipway.NotFound):
		return LoadedDriver{}, conflict
	case err != nil:
		return LoadedDriver{}, err
	case there.Digest == d.Digest:
		return LoadedDriver{Driver: there, Known: true}, nil
	}
	return LoadedDriver{}, &slipway.Error{Kind: slipway.Conflict, Err: conflict,
		Msg:  fmt.Sprintf("driver %s %s is loaded already, with other content (%.19s…, loaded by %s)", d.Name, d.Version, there.Digest, there.LoadedBy),
		Hint: "a version never changes: raise spec.version, and load it again"}
}

// DeleteDriver removes a version of a driver that nothing uses. Administrators may.
func (s *Service) DeleteDriver(ctx context.Context, c slipway.Caller, name, version string) error {
	if err := needWhole(c, slipway.Administrator); err != nil {
		return err
	}
	return s.Store.InTx(ctx, func(tx *store.Tx) error {
		d, err := tx.Driver(ctx, name, version)
		if err != nil {
			return err
		}
		if err := tx.DeleteDriver(ctx, name, version); err != nil {
			return err
		}
		if err := tx.AddEvent(ctx, slipway.Event{Kind: "driver.deleted", Noun: "driver", NounID: d.ID}); err != nil {
			return err
		}
		return record(ctx, tx, c, deed{"driver.delete", "driver", d.ID, name + " " + version, facts{"digest": d.Digest, "source": d.Source}, nil})
	})
}
