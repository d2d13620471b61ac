package git

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// file is one file of a commit.
type file struct {
	name, object string
	size         int64
	executable   bool
}

// bundle reads the files below the source's path. They come as the blobs that they are:
// no filter, attribute or line ending of a working copy touches them.
func (r repository) bundle(ctx context.Context, commit string, s Source, opts Options) (spec.Bundle, error) {
	files, err := r.list(ctx, commit, s, opts.Limits)
	if err != nil {
		return spec.Bundle{}, err
	}
	out, err := r.contents(ctx, files)
	if err != nil {
		return spec.Bundle{}, err
	}
	members := make([]spec.Member, 0, len(files))
	for _, f := range files {
		content := out[f.object]
		if bytes.HasPrefix(content, []byte("version https://git-lfs.github.com/spec/")) {
			return spec.Bundle{}, slipway.Errorf(slipway.Invalid, "%s is kept in Git LFS, which is not followed", cut(f.name)).
				WithHint("keep the file itself in the repository, or load the driver from a directory")
		}
		members = append(members, spec.Member{Path: f.name, Content: content, Executable: f.executable})
	}
	return spec.NewBundleOf(members)
}

// list names the files below a path, and refuses what is no file.
func (r repository) list(ctx context.Context, commit string, s Source, limits spec.Limits) ([]file, error) {
	tree := commit + ":" + s.Path
	kind, err := r.run(ctx, "cat-file", "-t", tree)
	if err != nil || strings.TrimSpace(string(kind)) != "tree" {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, slipway.Errorf(slipway.NotFound, "the repository %s has no directory %s at %.12s", s.URL, s.Path, commit).
			WithHint("the path follows a double slash: repository//path")
	}
	raw, err := r.run(ctx, "ls-tree", "-r", "-z", "-l", "--full-tree", tree)
	if err != nil {
		return nil, err
	}
	var files []file
	left := limits.Bytes
	for entry := range strings.SplitSeq(string(raw), "\x00") {
		about, name, ok := strings.Cut(entry, "\t")
		if !ok {
			continue // the end
		}
		f, err := entryOf(about, name)
		if err != nil {
			return nil, err
		}
		if spec.LeftOut(name) {
			continue
		}
		if left -= f.size; left < 0 || len(files) >= limits.Files {
			return nil, slipway.Errorf(slipway.TooLarge, "%s holds more than %d files or %d bytes", s, limits.Files, limits.Bytes).
				WithHint("name the driver's own directory: repository//path")
		}
		files = append(files, f)
	}
	return files, nil
}

// entryOf reads a line of ls-tree: "100644 blob <object>    123".
func entryOf(about, name string) (file, error) {
	fields := strings.Fields(about)
	if len(fields) != 4 {
		return file{}, fmt.Errorf("read the listing of git: %q", cut(about))
	}
	switch fields[0] {
	case "100644", "100755", "100664":
	case "120000":
		return file{}, slipway.Errorf(slipway.Invalid, "%s is a link; a driver is packed without links", cut(name)).
			WithHint("put the file that it points to in its place")
	case "160000":
		return file{}, slipway.Errorf(slipway.Invalid, "%s is a submodule, which is not followed", cut(name)).
			WithHint("copy what the driver needs of it into the driver's directory")
	default:
		return file{}, slipway.Errorf(slipway.Invalid, "%s is no regular file", cut(name))
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		return file{}, fmt.Errorf("read the listing of git: %q", cut(about))
	}
	return file{name: path.Clean(name), object: fields[2], size: size, executable: fields[0] == "100755"}, nil
}

// contents reads blobs, all by one git.
func (r repository) contents(ctx context.Context, files []file) (map[string][]byte, error) {
	var asked bytes.Buffer
	for _, f := range files {
		asked.WriteString(f.object + "\n")
	}
	cmd := r.command(ctx, "cat-file", "--batch")
	cmd.Stdin = &asked
	words := &limitedBuffer{left: 64 << 10}
	cmd.Stderr = words
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start git: %w", err)
	}
	out, err := readBatch(bufio.NewReader(pipe), files)
	if err != nil {
		_ = cmd.Cancel() // it may be waiting for us to read on
	}
	if ended := cmd.Wait(); err == nil && ended != nil {
		err = &failure{"cat-file", words.String(), ended}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return out, err
}

// readBatch reads "<object> blob <size>\n<content>\n" for each file in turn.
func readBatch(in *bufio.Reader, files []file) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, f := range files {
		head, err := in.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", cut(f.name), err)
		}
		if want := fmt.Sprintf("%s blob %d\n", f.object, f.size); head != want {
			return nil, fmt.Errorf("read %s: git says %q", cut(f.name), cut(head))
		}
		content := make([]byte, f.size)
		if _, err := io.ReadFull(in, content); err != nil {
			return nil, fmt.Errorf("read %s: %w", cut(f.name), err)
		}
		if err := discard(in, 1); err != nil {
			return nil, fmt.Errorf("read %s: %w", cut(f.name), err)
		}
		out[f.object] = content
	}
	return out, nil
}
