package application

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
	"slipway.dev/slipway/internal/store"
)

// Bundles keeps the content of drivers on this machine, one read-only folder per digest,
// so that two versions can run side by side.
type Bundles struct {
	store *store.Store
	dir   string

	mu     sync.Mutex
	loaded map[string]Bundle
}

// Bundle is a driver's content and the folder that it stands in.
type Bundle struct {
	spec.Bundle
	Dir string // absolute; read-only
}

// NewBundles keeps what it unpacks below dir.
func NewBundles(s *store.Store, dir string) *Bundles {
	return &Bundles{store: s, dir: dir, loaded: map[string]Bundle{}}
}

// Get returns the bundle of a digest, from memory, from the folder, or from the database.
func (b *Bundles) Get(ctx context.Context, digest string) (Bundle, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if have, ok := b.loaded[digest]; ok {
		return have, nil
	}
	var packed []byte
	err := b.store.Read(ctx, func(tx *store.Tx) (err error) {
		packed, err = tx.DriverContent(ctx, digest)
		return err
	})
	if err != nil {
		return Bundle{}, fmt.Errorf("read driver %s: %w", digest, err)
	}
	content, err := spec.Unpack(bytes.NewReader(packed), spec.DefaultLimits())
	if err != nil {
		return Bundle{}, fmt.Errorf("unpack driver %s: %w", digest, err)
	}
	if content.Digest() != digest {
		return Bundle{}, slipway.Errorf(slipway.Internal, "the stored driver has digest %s, not %s", content.Digest(), digest).
			WithHint("load the driver again")
	}
	dir, err := content.WriteTo(b.dir)
	if err != nil {
		return Bundle{}, err
	}
	have := Bundle{Bundle: content, Dir: dir}
	b.loaded[digest] = have
	return have, nil
}
