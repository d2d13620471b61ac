package mover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"slipway.dev/slipway/internal/outside/objects"
	"slipway.dev/slipway/internal/slipway"
)

// counted reads on and keeps the checksum and the number of bytes.
type counted struct {
	r io.Reader
	h hash.Hash
	n int64
}

func count(r io.Reader) *counted { return &counted{r: r, h: sha256.New()} }

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	_, _ = c.h.Write(p[:n]) // of a hash: never an error
	c.n += int64(n)
	return n, err
}

func (c *counted) sum() string { return hex.EncodeToString(c.h.Sum(nil)) }

// is compares what was read with what was written once.
func (c *counted) is(f slipway.MoveFile) error {
	if c.n != f.Size || c.sum() != f.SHA256 {
		return slipway.Errorf(slipway.Conflict, "%s is not what was backed up: %d bytes with SHA-256 %s, in place of %d with %s",
			f.Object, c.n, c.sum(), f.Size, f.SHA256).
			WithHint("somebody changed it or the store lost it; restore another backup")
	}
	return nil
}

func putFile(ctx context.Context, store objects.Store, o slipway.MoveOrder) (out slipway.MoveResult, err error) {
	f, err := os.Open(o.Path)
	if err != nil {
		return out, fmt.Errorf("open what is to be backed up: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return out, fmt.Errorf("open what is to be backed up: %w", err)
	}
	if info.Size() == 0 {
		return out, slipway.Errorf(slipway.Conflict, "there is nothing to back up: the dump is empty")
	}
	from := count(f)
	written, err := store.Put(ctx, o.Object, from, info.Size())
	if err != nil {
		return out, err
	}
	return done(from, written, o.Object)
}

// done holds the store to what was given to it.
func done(from *counted, written int64, name string) (slipway.MoveResult, error) {
	if written != from.n {
		return slipway.MoveResult{}, slipway.Errorf(slipway.Unavailable, "the store has %d bytes of %s, and %d were sent", written, name, from.n)
	}
	return slipway.MoveResult{Size: from.n, SHA256: from.sum(), Objects: 1}, nil
}

// getFile fetches a file to a path that has it only when it is right.
func getFile(ctx context.Context, store objects.Store, o slipway.MoveOrder) (out slipway.MoveResult, err error) {
	want := o.Files[0]
	body, err := store.Open(ctx, want.Object)
	if err != nil {
		return out, err
	}
	defer body.Close()
	part := o.Path + ".part"
	to, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) // the other container of the Job reads it as another user
	if err != nil {
		return out, fmt.Errorf("make room for %s: %w", want.Object, err)
	}
	from := count(body)
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return out, fmt.Errorf("fetch %s: %w", want.Object, err)
	}
	if err := from.is(want); err != nil {
		return out, err
	}
	if err := os.Rename(part, o.Path); err != nil {
		return out, fmt.Errorf("fetch %s: %w", want.Object, err)
	}
	return slipway.MoveResult{Size: from.n, SHA256: from.sum(), Objects: 1}, nil
}

// verify reads everything and compares.
func verify(ctx context.Context, store objects.Store, o slipway.MoveOrder) (out slipway.MoveResult, err error) {
	for _, f := range o.Files {
		n, err := verifyOne(ctx, store, f)
		if err != nil {
			return out, err
		}
		out.Size += n
		out.Objects++
	}
	return out, nil
}

func verifyOne(ctx context.Context, store objects.Store, f slipway.MoveFile) (int64, error) {
	body, err := store.Open(ctx, f.Object)
	if err != nil {
		return 0, err
	}
	defer body.Close()
	from := count(body)
	if _, err := io.Copy(io.Discard, from); err != nil {
		return 0, fmt.Errorf("read %s: %w", f.Object, err)
	}
	return from.n, from.is(f)
}
