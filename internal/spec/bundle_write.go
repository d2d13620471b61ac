package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// WriteTo puts the bundle's files into a directory of their own below dir, named by the
// digest, and returns its path. The files are read-only. A directory that is there
// already is used when its content is right, and made anew when it is not: a machine that
// lost power may have left empty files.
func (b Bundle) WriteTo(dir string) (string, error) {
	target := filepath.Join(dir, strings.Replace(b.Digest(), ":", "-", 1))
	switch ok, err := b.standsAt(target); {
	case err != nil:
		return "", fmt.Errorf("read the driver at %s: %w", target, err)
	case ok:
		return target, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("unpack the driver: %w", err)
	}
	work, err := os.MkdirTemp(dir, ".unpacking-")
	if err != nil {
		return "", fmt.Errorf("unpack the driver: %w", err)
	}
	defer removeTree(work) // nothing is left there when all went well
	fresh := filepath.Join(work, "new")
	if err := b.writeFiles(fresh); err != nil {
		return "", fmt.Errorf("unpack the driver: %w", err)
	}
	// Set a damaged copy aside rather than write into it: an action may run from it. A
	// directory must be writable by its owner to move, so this is not fatal by itself.
	_ = os.Chmod(target, 0o700)
	if err := os.Rename(target, filepath.Join(work, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("unpack the driver: %w", err)
	}
	if err := os.Rename(fresh, target); err != nil {
		if ok, _ := b.standsAt(target); ok {
			return target, nil // another process was faster
		}
		return "", fmt.Errorf("unpack the driver: %w", err)
	}
	if err := os.Chmod(target, 0o555); err != nil {
		return "", fmt.Errorf("unpack the driver: %w", err)
	}
	return target, syncPath(dir)
}

// writeFiles makes the tree and flushes it, so that the later rename never shows half.
func (b Bundle) writeFiles(root string) error {
	dirs := map[string]bool{root: true}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return err
	}
	for _, name := range b.entries() {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		for d := filepath.Dir(path); d != root && !dirs[d]; d = filepath.Dir(d) {
			dirs[d] = true
		}
		mode := fs.FileMode(0o444)
		if b.entry(name).executable {
			mode = 0o555
		}
		if err := os.WriteFile(path, b.entry(name).content, mode); err != nil {
			return err
		}
		if err := syncPath(path); err != nil {
			return err
		}
	}
	for d := range dirs {
		if err := syncPath(d); err != nil {
			return err
		}
		if d == root {
			continue // a directory must be writable by its owner to be renamed
		}
		if err := os.Chmod(d, 0o555); err != nil {
			return err
		}
	}
	return nil
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// standsAt reports whether a directory holds exactly this bundle, with the charts that it
// carries. More charts do no harm.
func (b Bundle) standsAt(dir string) (bool, error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	there, err := readStored(dir)
	if err != nil {
		return false, err
	}
	for name, f := range b.carried {
		if !bytes.Equal(there.carried[name].content, f.content) {
			return false, nil
		}
	}
	return there.Digest() == b.Digest(), nil
}

// readStored reads an unpacked bundle. What cannot be a bundle counts as damaged.
func readStored(dir string) (Bundle, error) {
	b, err := ReadBundleDir(dir)
	if errors.Is(err, fs.ErrPermission) {
		return Bundle{}, err
	}
	if err != nil {
		return Bundle{}, nil //nolint:nilerr // a damaged copy is replaced, whatever is wrong with it
	}
	return b, nil
}

// removeTree removes a tree that holds read-only directories.
func removeTree(dir string) {
	// Whatever fails here leaves clutter below our own directory, and nothing worse.
	if root, err := os.OpenRoot(dir); err == nil {
		_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = root.Chmod(path, 0o700)
			}
			return nil
		})
		root.Close()
	}
	os.RemoveAll(dir)
}
