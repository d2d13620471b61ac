package spec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// ReadBundleDir reads a driver's directory. What programs leave beside an author's files
// (.git, __pycache__ and the like) is skipped; links and devices are refused.
func ReadBundleDir(dir string) (Bundle, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return Bundle{}, slipway.Errorf(slipway.NotFound, "there is no directory %s", dir)
		}
		return Bundle{}, &slipway.Error{Kind: slipway.Invalid, Msg: "cannot read the directory " + dir, Err: err}
	}
	defer root.Close() // opened for reading
	b := newBundler(DefaultLimits())
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if leftOut(name) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		switch {
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			return slipway.Errorf(slipway.Invalid, "%s is a link; a driver is packed without links", name).
				WithHint("copy the file that it points to")
		case !d.Type().IsRegular():
			return slipway.Errorf(slipway.Invalid, "%s is no regular file", name)
		}
		return b.readFile(root, name)
	})
	if err != nil {
		return Bundle{}, err
	}
	return b.bundle()
}

// readFile adds one file of a directory. It opens below root, so that a link put there
// meanwhile leads nowhere else.
func (b *bundler) readFile(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	defer f.Close() // opened for reading
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	content, err := io.ReadAll(io.LimitReader(f, b.left+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return b.add(name, content, info.Mode()&0o111 != 0)
}

// LeftOut says whether a path of a directory is never part of a driver, by its last part
// or one before it.
func LeftOut(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if leftOut(part) {
			return true
		}
	}
	return false
}

// leftOut says what is never part of a driver.
func leftOut(name string) bool {
	switch base := path.Base(name); base {
	case ".git", ".hg", ".svn", ".DS_Store", "__pycache__", ".venv", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".idea", ".vscode", "node_modules":
		return true
	default:
		return strings.HasSuffix(base, ".pyc") || strings.HasSuffix(base, "~") || strings.HasSuffix(base, ".swp")
	}
}
