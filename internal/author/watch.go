package author

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"slipway.dev/slipway/internal/spec"
)

// Watch tells of changes below a directory and of files beside it, until ctx ends; then the
// channel is closed. An editor's save is several events: one word is sent when it has been
// quiet for a while. What is not part of a driver (.git, __pycache__) is not looked at.
func Watch(ctx context.Context, dir string, quiet time.Duration, files ...string) (<-chan struct{}, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", dir, err)
	}
	if err := watchTree(w, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("watch %s: %w", dir, err), w.Close())
	}
	wanted := map[string]bool{}
	for _, f := range files {
		// The folder is watched and not the file, since an editor may put a new one in its place.
		wanted[filepath.Clean(f)] = true
		if err := w.Add(filepath.Dir(f)); err != nil {
			return nil, errors.Join(fmt.Errorf("watch %s: %w", f, err), w.Close())
		}
	}
	out := make(chan struct{}, 1)
	go func() {
		defer close(out)
		defer func() { _ = w.Close() }() // nobody listens any more
		timer := time.NewTimer(quiet)
		timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case e, ok := <-w.Events:
				if !ok {
					return
				}
				if !wanted[filepath.Clean(e.Name)] && !concerns(dir, e) {
					continue
				}
				if e.Has(fsnotify.Create) {
					_ = watchTree(w, e.Name) // a new folder, or a file, or gone again
				}
				timer.Reset(quiet)
			case _, ok := <-w.Errors: // events were lost: look at everything
				if !ok {
					return
				}
				timer.Reset(quiet)
			case <-timer.C:
				select {
				case out <- struct{}{}:
				default: // one that nobody has taken yet says the same
				}
			}
		}
	}()
	return out, nil
}

// concerns reports whether an event is about a file of the driver.
func concerns(dir string, e fsnotify.Event) bool {
	if e.Op == fsnotify.Chmod {
		return false
	}
	rel, err := filepath.Rel(dir, e.Name)
	return err == nil && filepath.IsLocal(rel) && !spec.LeftOut(filepath.ToSlash(rel))
}

func watchTree(w *fsnotify.Watcher, root string) error {
	info, err := os.Stat(root)
	if err != nil || !info.IsDir() {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if rel, err := filepath.Rel(root, path); err == nil && rel != "." && spec.LeftOut(filepath.ToSlash(rel)) {
			return fs.SkipDir
		}
		return w.Add(path)
	})
}
