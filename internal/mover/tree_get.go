package mover

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"slipway.dev/slipway/internal/outside/objects"
	"slipway.dev/slipway/internal/slipway"
)

// getTree makes a volume's content what it was. It unpacks beside the present content,
// checks the whole file, and only then exchanges the two. Done again after any end, it
// reaches the same.
func getTree(ctx context.Context, store objects.Store, o slipway.MoveOrder) (out slipway.MoveResult, err error) {
	want := o.Files[0]
	root, err := os.OpenRoot(o.Path)
	if err != nil {
		return out, slipway.Errorf(slipway.Unavailable, "the volume is not mounted: %v", err)
	}
	defer root.Close()
	if err := root.RemoveAll(staging); err != nil {
		return out, fmt.Errorf("remove what an earlier restore left: %w", err)
	}
	if err := root.Mkdir(staging, 0o700); err != nil {
		return out, fmt.Errorf("make room in the volume: %w", err)
	}
	stage, err := root.OpenRoot(staging)
	if err != nil {
		return out, fmt.Errorf("make room in the volume: %w", err)
	}
	defer stage.Close()
	body, err := store.Open(ctx, want.Object)
	if err != nil {
		return out, err
	}
	defer body.Close()
	from := count(body)
	u := &unpacker{root: stage}
	if err := u.unpack(ctx, from); err != nil {
		// The checksum explains most of what cannot be unpacked.
		if _, rest := io.Copy(io.Discard, from); rest == nil {
			if wrong := from.is(want); wrong != nil {
				return out, wrong
			}
		}
		return out, errors.Join(err, root.RemoveAll(staging))
	}
	if err := from.is(want); err != nil {
		return out, errors.Join(err, root.RemoveAll(staging))
	}
	if err := exchange(root, stage); err != nil {
		return out, err
	}
	if err := u.settle(root); err != nil {
		return out, err
	}
	return slipway.MoveResult{Size: from.n, SHA256: from.sum(), Objects: 1}, nil
}

// exchange puts what was unpacked in the place of what was there.
func exchange(root, stage *os.Root) error {
	old, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return fmt.Errorf("read the volume: %w", err)
	}
	for _, e := range old {
		if e.Name() == staging || e.Name() == "lost+found" {
			continue
		}
		if err := root.RemoveAll(e.Name()); err != nil {
			return fmt.Errorf("remove %s from the volume: %w", e.Name(), err)
		}
	}
	fresh, err := fs.ReadDir(stage.FS(), ".")
	if err != nil {
		return fmt.Errorf("read what was unpacked: %w", err)
	}
	for _, e := range fresh {
		if err := root.Rename(path.Join(staging, e.Name()), e.Name()); err != nil {
			return fmt.Errorf("put %s into the volume: %w", e.Name(), err)
		}
	}
	if err := root.Remove(staging); err != nil {
		return fmt.Errorf("tidy the volume: %w", err)
	}
	return nil
}

// unpacker writes a tar into a folder that it cannot leave.
type unpacker struct {
	root *os.Root
	dirs []*tar.Header // their times and modes come last, since what is put in changes them
}

func (u *unpacker) unpack(ctx context.Context, r io.Reader) error {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return fmt.Errorf("begin to unpack: %w", err)
	}
	defer z.Close()
	for t := tar.NewReader(z); ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		if err := u.entry(h, t); err != nil {
			return fmt.Errorf("unpack %s: %w", h.Name, err)
		}
	}
	// Read to the very end: the checksum is over all of it.
	if _, err := io.Copy(io.Discard, z); err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	_, err = io.Copy(io.Discard, r)
	return err
}

func (u *unpacker) entry(h *tar.Header, r io.Reader) error {
	name := path.Clean(strings.TrimSuffix(h.Name, "/"))
	switch h.Typeflag {
	case tar.TypeDir:
		if name != "." {
			if err := u.root.MkdirAll(name, 0o700); err != nil {
				return err
			}
		}
		u.dirs = append(u.dirs, h)
		return nil
	case tar.TypeSymlink:
		if err := u.root.Symlink(h.Linkname, name); err != nil {
			return err
		}
		return u.root.Lchown(name, h.Uid, h.Gid)
	case tar.TypeLink:
		return u.root.Link(path.Clean(h.Linkname), name)
	case tar.TypeReg:
		return u.file(name, h, r)
	}
	return slipway.Errorf(slipway.Invalid, "a backup holds no entry of type %q", h.Typeflag)
}

func (u *unpacker) file(name string, h *tar.Header, r io.Reader) error {
	f, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return dress(u.root, name, h)
}

// dress gives an entry its owner, mode and time. The owner comes first: it takes some of
// the mode away.
func dress(root *os.Root, name string, h *tar.Header) error {
	if err := root.Chown(name, h.Uid, h.Gid); err != nil {
		return err
	}
	if err := root.Chmod(name, h.FileInfo().Mode()); err != nil {
		return err
	}
	return root.Chtimes(name, time.Time{}, h.ModTime)
}

// settle dresses the folders, the deepest first, once they stand where they belong.
func (u *unpacker) settle(root *os.Root) error {
	for i := len(u.dirs) - 1; i >= 0; i-- {
		h := u.dirs[i]
		name := path.Clean(strings.TrimSuffix(h.Name, "/"))
		if err := dress(root, name, h); err != nil {
			return fmt.Errorf("settle %s: %w", name, err)
		}
	}
	return nil
}
