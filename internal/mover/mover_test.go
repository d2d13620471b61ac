package mover

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/outside/objects"
	"slipway.dev/slipway/internal/slipway"
)

// write makes files below dir; a name that ends in / is a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o750); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

// tree reads everything below dir: path → mode, time and content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String() + " " + info.ModTime().UTC().Format(time.RFC3339)
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text = info.Mode().String() + " → " + to
		case info.Mode().IsRegular():
			raw, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += " " + string(raw)
		}
		rel, err := filepath.Rel(dir, path)
		out[rel] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func folder(t *testing.T) (*objects.Folder, string) {
	t.Helper()
	dir := t.TempDir()
	f, err := objects.NewFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	return f, dir
}

// World: files on this machine.
func TestATreeComesBackAsItWas(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, _ := folder(t)
	from, to := t.TempDir(), t.TempDir()
	write(t, from, map[string]string{"a/b/c": "deep", "empty/": "", "big": strings.Repeat("0123456789", 100_000), "a/first": "twice"})
	for _, do := range []error{
		os.Link(filepath.Join(from, "a/first"), filepath.Join(from, "a/second")),
		os.Symlink("b/c", filepath.Join(from, "a/link")),
		os.Symlink("/nowhere", filepath.Join(from, "dangling")),
		os.Chmod(filepath.Join(from, "a/b/c"), 0o600|fs.ModeSetgid),
		os.Chtimes(filepath.Join(from, "a/b"), time.Time{}, time.Unix(1_600_000_000, 0)),
	} {
		if do != nil {
			t.Fatal(do)
		}
	}
	want := tree(t, from)
	put, err := Do(ctx, store, slipway.MoveOrder{Do: slipway.MovePut, Object: "x/files.tar.zst", Path: from, Tree: true})
	if err != nil {
		t.Fatal(err)
	}
	file := slipway.MoveFile{Object: "x/files.tar.zst", Size: put.Size, SHA256: put.SHA256}
	if got, err := Do(ctx, store, slipway.MoveOrder{Do: slipway.MoveVerify, Files: []slipway.MoveFile{file}}); err != nil || got.Objects != 1 || got.Size != put.Size {
		t.Errorf("verify = %+v, %v", got, err)
	}
	// What is there goes, also what an earlier restore left half done.
	write(t, to, map[string]string{"stray": "x", "a/other": "y", staging + "/half": "z"})
	get := slipway.MoveOrder{Do: slipway.MoveGet, Path: to, Tree: true, Files: []slipway.MoveFile{file}}
	for range 2 { // and once more, as after a crash
		if _, err := Do(ctx, store, get); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(tree(t, to), want); d != "" {
			t.Errorf("got, want (-, +):\n%s", d)
		}
	}
	first, err1 := os.Stat(filepath.Join(to, "a/first"))
	second, err2 := os.Stat(filepath.Join(to, "a/second"))
	if err1 != nil || err2 != nil || !os.SameFile(first, second) {
		t.Error("a file with two names came back as two files")
	}
}

// World: files on this machine.
func TestNothingChangesForAFileThatIsNotWhatItWas(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	store, dir := folder(t)
	from, to := t.TempDir(), t.TempDir()
	write(t, from, map[string]string{"a": strings.Repeat("abc", 1000), "b": "b"})
	write(t, to, map[string]string{"present": "data"})
	put, err := Do(ctx, store, slipway.MoveOrder{Do: slipway.MovePut, Object: "files", Path: from, Tree: true})
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(filepath.Join(dir, "files"))
	if err != nil {
		t.Fatal(err)
	}
	before := tree(t, to)
	file := slipway.MoveFile{Object: "files", Size: put.Size, SHA256: put.SHA256}
	for name, content := range map[string][]byte{
		"cut short":        good[:len(good)/2],
		"one bit changed":  append(append(bytes.Clone(good[:10]), good[10]^1), good[11:]...),
		"nothing":          {},
		"longer":           append(bytes.Clone(good), "more"...),
		"another backup's": []byte("another backup's"),
	} {
		if err := os.WriteFile(filepath.Join(dir, "files"), content, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, o := range []slipway.MoveOrder{
			{Do: slipway.MoveVerify, Files: []slipway.MoveFile{file}},
			{Do: slipway.MoveGet, Path: to, Tree: true, Files: []slipway.MoveFile{file}},
			{Do: slipway.MoveGet, Path: filepath.Join(to, "dump"), Files: []slipway.MoveFile{file}},
		} {
			_, err := Do(ctx, store, o)
			if err == nil || !strings.Contains(err.Error(), "is not what was backed up") {
				t.Errorf("%s: %s (tree %v) = %v", name, o.Do, o.Tree, err)
			}
		}
		now := tree(t, to)
		delete(now, "dump.part")
		delete(now, staging)
		for path := range now {
			if strings.HasPrefix(path, staging) {
				delete(now, path)
			}
		}
		if d := cmp.Diff(now, before); d != "" {
			t.Errorf("%s: the volume changed (-, +):\n%s", name, d)
		}
		if err := errors.Join(os.RemoveAll(filepath.Join(to, "dump.part")), os.RemoveAll(filepath.Join(to, staging))); err != nil {
			t.Fatal(err)
		}
	}
}

// World: files on this machine.
func TestADumpThatIsEmptyIsNoBackup(t *testing.T) {
	t.Parallel()
	store, _ := folder(t)
	path := filepath.Join(t.TempDir(), "dump")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Do(t.Context(), store, slipway.MoveOrder{Do: slipway.MovePut, Object: "d", Path: path}); err == nil {
		t.Error("an empty dump was backed up")
	}
}

// broken is a store that fails after some bytes.
type broken struct{ objects.Store }

func (broken) Put(_ context.Context, _ string, r io.Reader, _ int64) (int64, error) {
	_, _ = io.CopyN(io.Discard, r, 10)
	return 0, errors.New("the store is gone")
}

// World: a store that fails. The packer must not wait for ever for a reader that has left.
func TestAStoreThatFailsEndsThePacking(t *testing.T) {
	t.Parallel()
	from := t.TempDir()
	write(t, from, map[string]string{"big": strings.Repeat("x", 10<<20)})
	_, err := Do(t.Context(), broken{}, slipway.MoveOrder{Do: slipway.MovePut, Object: "o", Path: from, Tree: true})
	if err == nil || !strings.Contains(err.Error(), "the store is gone") {
		t.Errorf("Do() = %v", err)
	}
}

// World: pure.
func TestTheResultFitsAContainersLastMessage(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "result")
	r := slipway.MoveResult{Size: 1, SHA256: strings.Repeat("a", 64)}
	for range 40 {
		r.Notes = append(r.Notes, strings.Repeat("n", 400))
	}
	if err := leave(file, r); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil || len(raw) > maxResult || !bytes.Contains(raw, []byte(r.SHA256)) {
		t.Errorf("the result has %d bytes: %v", len(raw), err)
	}
}
