package author

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// template is the driver that Init writes. It deploys as it is.
//
//go:embed template
var template embed.FS

// placeholder stands for the driver's name in the template.
const placeholder = "__name__"

// Init writes a new driver into a directory, which is made when it is not there. It
// overwrites nothing: when one of its files is there already, none is written. It returns
// the files that it wrote.
func Init(name, dir string) ([]string, error) {
	if err := spec.CheckDriverName(name); err != nil {
		return nil, err
	}
	if err := slipway.CheckName("an application", name); err != nil {
		return nil, err // the one that is written beside the driver has its name
	}
	files, err := templateFiles(name)
	if err != nil {
		return nil, err
	}
	var there []string
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, f.path)); err == nil {
			there = append(there, filepath.Join(dir, f.path))
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, &slipway.Error{Kind: slipway.Invalid, Msg: fmt.Sprintf("cannot look at %s: %v", dir, err), Err: err}
		}
	}
	if len(there) > 0 {
		return nil, slipway.Errorf(slipway.Conflict, "there is %s already", strings.Join(there, ", ")).
			WithHint("nothing is overwritten: name another directory")
	}
	var written []string
	for _, f := range files {
		path := filepath.Join(dir, f.path)
		if err := create(path, f.content); err != nil {
			return written, &slipway.Error{Kind: slipway.Invalid, Msg: fmt.Sprintf("cannot write %s: %v", path, err), Err: err}
		}
		written = append(written, path)
	}
	return written, nil
}

type newFile struct {
	path    string
	content string
}

func templateFiles(name string) ([]newFile, error) {
	var out []newFile
	err := fs.WalkDir(template, "template", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := template.ReadFile(p)
		out = append(out, newFile{filepath.FromSlash(strings.TrimPrefix(p, "template/")), strings.ReplaceAll(string(raw), placeholder, name)})
		return err
	})
	return out, err
}

// create writes a file that must not be there.
func create(path, content string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // an author's own files, as an editor would make them
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) // an author's own files, as an editor would make them
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return errors.Join(err, f.Close())
}
