// Package objects keeps whole files in a backup location: a bucket of an S3-compatible
// store, or a folder on a mounted claim.
//
// A file is there whole or not at all, and nobody sees a part of one: what is written is
// read to its end before it has its name. Nothing here decides what is kept or removed,
// and no credential is ever in an error or a log.
package objects

import (
	"context"
	"io"
)

// Store is one location.
type Store interface {
	// Put writes what r gives under a name, and replaces what had it. size is that of r, or
	// -1 when it is not known. The answer is how much was written.
	Put(ctx context.Context, name string, r io.Reader, size int64) (int64, error)
	// Open reads a file from its start. NotFound when there is none of that name.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Remove removes every file below a folder, also what was begun there and never
	// finished. A folder that is not there is no error.
	Remove(ctx context.Context, folder string) (Removed, error)
}

// Removed is what a Remove found.
type Removed struct {
	Files      int
	Unfinished int
}
