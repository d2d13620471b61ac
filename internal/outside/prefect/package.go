package prefect

import "context"

// WithPackage returns p with the Python package slipway taken from a folder, which is put
// on the import path of actions.
func (p Python) WithPackage(ctx context.Context, folder string) (Python, error) {
	p.Package = folder
	return p, p.findFilter(ctx)
}
