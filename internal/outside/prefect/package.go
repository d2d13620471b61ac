package prefect

import "context"

// WithPackage returns p with the Python package slipway taken from a folder, which is put
// on the import path of actions.
func (p Python) WithPackage(ctx context.Context, folder string) (_ Python, err error) {
	p.Package = folder
	if p.Redacts, err = p.hasFilter(ctx); err != nil {
		return Python{}, err
	}
	return p, nil
}
