package mover

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"slipway.dev/slipway/internal/outside/objects"
	"slipway.dev/slipway/internal/slipway"
)

// putTree packs a folder as tar.zst while it is uploaded, so that no room is needed for it.
func putTree(ctx context.Context, store objects.Store, o slipway.MoveOrder) (slipway.MoveResult, error) {
	r, w := io.Pipe()
	p := &packer{root: o.Path}
	packed := make(chan error, 1)
	go func() {
		err := p.pack(ctx, w)
		packed <- err
		_ = w.CloseWithError(err) // a reader that fails never gives a file its name
	}()
	from := count(r)
	written, err := store.Put(ctx, o.Object, from, -1)
	_ = r.Close() // ends the packer when the store gave up
	if perr := <-packed; perr != nil && !errors.Is(perr, io.ErrClosedPipe) {
		return slipway.MoveResult{}, perr
	}
	if err != nil {
		return slipway.MoveResult{}, err
	}
	out, err := done(from, written, o.Object)
	out.Notes = p.notes
	return out, err
}

// packer writes one folder as a tar.
type packer struct {
	root  string
	tar   *tar.Writer
	links map[inode]string // files with several names, by where the first stands
	notes []string
}

// staging is where a restore unpacks, inside the volume. A restore that failed may have
// left it.
const staging = ".slipway-restore"

func (p *packer) pack(ctx context.Context, w io.Writer) error {
	z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("begin to pack: %w", err)
	}
	p.tar, p.links = tar.NewWriter(z), map[inode]string{}
	err = filepath.WalkDir(p.root, func(path string, d fs.DirEntry, err error) error {
		if cerr := ctx.Err(); cerr != nil {
			return context.Cause(ctx)
		}
		rel, relErr := filepath.Rel(p.root, path)
		if relErr != nil {
			return relErr
		}
		if rel == "lost+found" || rel == staging {
			return filepath.SkipDir
		}
		if errors.Is(err, fs.ErrNotExist) && rel != "." {
			p.note("%s went away while it was copied", rel)
			return nil
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", rel, err)
		}
		return p.add(path, rel, d)
	})
	if err != nil {
		return err
	}
	return errors.Join(p.tar.Close(), z.Close())
}

func (p *packer) note(format string, args ...any) {
	if len(p.notes) < 20 {
		p.notes = append(p.notes, fmt.Sprintf(format, args...))
	}
}

func (p *packer) add(path, rel string, d fs.DirEntry) error {
	info, err := d.Info()
	if errors.Is(err, fs.ErrNotExist) {
		p.note("%s went away while it was copied", rel)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", rel, err)
	}
	link := ""
	switch kind := info.Mode().Type(); {
	case kind&fs.ModeSymlink != 0:
		if link, err = os.Readlink(path); err != nil {
			return fmt.Errorf("read the link %s: %w", rel, err)
		}
	case kind != 0 && kind != fs.ModeDir:
		if kind&fs.ModeSocket == 0 { // a program makes its socket anew
			p.note("%s is no file and was left out", rel)
		}
		return nil
	}
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return fmt.Errorf("describe %s: %w", rel, err)
	}
	h.Name = filepath.ToSlash(rel)
	if info.IsDir() {
		h.Name += "/"
	}
	h.Uname, h.Gname, h.Format = "", "", tar.FormatPAX // numbers count: names mean nothing in another container
	if !info.Mode().IsRegular() {
		return p.header(h)
	}
	if id, several := inodeOf(info); several {
		if first, seen := p.links[id]; seen {
			h.Typeflag, h.Linkname, h.Size = tar.TypeLink, first, 0
			return p.header(h)
		}
		p.links[id] = h.Name
	}
	return p.file(path, h)
}

func (p *packer) header(h *tar.Header) error {
	if err := p.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("pack %s: %w", h.Name, err)
	}
	return nil
}

// file packs as many bytes as the file had when it was looked at. One that shrinks
// meanwhile is filled up: a component that must not be copied while it writes says
// stop: true.
func (p *packer) file(path string, h *tar.Header) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		p.note("%s went away while it was copied", h.Name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", h.Name, err)
	}
	defer f.Close()
	if err := p.header(h); err != nil {
		return err
	}
	n, err := io.CopyN(p.tar, f, h.Size)
	if errors.Is(err, io.EOF) {
		p.note("%s shrank while it was copied", h.Name)
		_, err = io.CopyN(p.tar, zeros{}, h.Size-n)
	}
	if err != nil {
		return fmt.Errorf("pack %s: %w", strings.TrimSuffix(h.Name, "/"), err)
	}
	return nil
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
