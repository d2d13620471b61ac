package objects

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// unfinished ends the name of a file that is being written.
const unfinished = ".unfinished-"

// Folder is a folder on this machine: the mounted claim of a volume location.
type Folder struct{ root *os.Root }

// NewFolder returns the store in a folder, which must be there.
func NewFolder(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, slipway.Errorf(slipway.Unavailable, "the volume of the location is not mounted: %v", err)
	}
	return &Folder{root}, nil
}

// Put writes beside the name, flushes, and then gives the name.
func (f *Folder) Put(ctx context.Context, name string, r io.Reader, _ int64) (int64, error) {
	if err := f.root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return 0, f.explain(err, "make the folder of %s", name)
	}
	part := name + unfinished + rand.Text()
	file, err := f.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, f.explain(err, "write %s", name)
	}
	n, err := io.Copy(file, withContext(ctx, r))
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = f.root.Rename(part, name)
	}
	if err == nil {
		err = f.flush(path.Dir(name))
	}
	if err != nil {
		err = errors.Join(err, ignoreMissing(f.root.Remove(part)))
		return 0, f.explain(err, "write %s", name)
	}
	return n, nil
}

// flush makes a new name in a folder survive the machine.
func (f *Folder) flush(dir string) error {
	d, err := f.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (f *Folder) Open(_ context.Context, name string) (io.ReadCloser, error) {
	file, err := f.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, slipway.Errorf(slipway.NotFound, "read %s: it is not there", name)
	}
	if err != nil {
		return nil, f.explain(err, "read %s", name)
	}
	return file, nil
}

func (f *Folder) Remove(_ context.Context, folder string) (Removed, error) {
	var out Removed
	folder = strings.Trim(folder, "/")
	if folder == "" || folder == "." {
		return out, slipway.Errorf(slipway.Internal, "a whole volume is never removed")
	}
	err := fs.WalkDir(f.root.FS(), folder, func(p string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil || d.IsDir():
			return err
		case strings.Contains(path.Base(p), unfinished):
			out.Unfinished++
		default:
			out.Files++
		}
		return nil
	})
	if err == nil {
		err = f.root.RemoveAll(folder)
	}
	if err != nil {
		return out, f.explain(err, "remove %s", folder)
	}
	return out, nil
}

func (f *Folder) explain(err error, format string, args ...any) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// withContext ends a reading when ctx ends.
func withContext(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, context.Cause(ctx)
		}
		return r.Read(p)
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
