package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// PushRequest is what Push is to do.
type PushRequest struct {
	Bundle spec.Bundle
	To     Reference // without a tag it goes to the driver's version
	Force  bool      // move a tag that is no version and holds something else
	Key    *SigningKey
}

// Pushed tells what stands in the registry now.
type Pushed struct {
	Reference Reference // with the digest of its manifest
	Driver    slipway.DriverSpec
	Identity  string // of the bundle
	Size      int64
	Known     bool // the very same content stood there already
	Signed    bool
}

// Push puts a driver into a registry. A tag that is a version must be the driver's own and
// never changes its content, forced or not: whoever pinned it by name would get something
// else. Other tags, such as latest, are pointers, and move when they are forced to.
//
// A registry has no compare-and-set, so of two pushes of different contents to the same
// new tag at the same instant, the later one wins.
func (c *Client) Push(ctx context.Context, in PushRequest) (Pushed, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	a, ds, err := assemble(in.Bundle)
	if err != nil {
		return Pushed{}, err
	}
	to := in.To
	switch {
	case to.Digest != "":
		return Pushed{}, slipway.Errorf(slipway.Invalid, "a push goes to a tag, and %s has a digest", to).WithHint("leave the digest out")
	case to.Tag == "":
		to.Tag = VersionTag(ds.Version)
	case isVersion(to.Tag) && to.Tag != VersionTag(ds.Version):
		return Pushed{}, slipway.Errorf(slipway.Invalid, "the tag %s is a version, and the driver's version is %s", to.Tag, ds.Version).
			WithHint("leave the tag out, or change spec.version")
	}
	repo, err := c.repository(ctx, to)
	if err != nil {
		return Pushed{}, err
	}
	out := Pushed{Reference: to, Driver: ds, Identity: in.Bundle.Digest(), Size: a.size()}
	there, err := c.occupant(ctx, repo, to, a, in)
	if err != nil {
		return Pushed{}, err
	}
	if out.Known = there != nil; out.Known {
		a.desc = *there
	} else if err := c.send(ctx, repo, a, to.Tag); err != nil {
		return Pushed{}, explain(to, "push", err)
	}
	out.Reference.Digest = a.desc.Digest.String()
	if in.Key != nil {
		if err := c.sign(ctx, repo, out.Reference, a.desc, in.Key); err != nil {
			return Pushed{}, err
		}
		out.Signed = true
	}
	return out, nil
}

// occupant looks at what the tag holds now. It returns the manifest that makes a push
// needless, nil when the way is free, and an error when it is not.
func (c *Client) occupant(ctx context.Context, repo *remote.Repository, to Reference, a artifact, in PushRequest) (*ocispec.Descriptor, error) {
	desc, err := repo.Resolve(ctx, to.Tag)
	switch {
	case errors.Is(err, errdef.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, explain(to, "push to", err)
	case desc.Digest == a.desc.Digest:
		return &a.desc, nil
	}
	// Another manifest may still be the same driver: another compressor packed it.
	there, err := c.pull(ctx, repo, to, nil)
	ours := err == nil && there.Bundle.Digest() == in.Bundle.Digest()
	switch {
	case err != nil && !slipway.Is(err, slipway.Invalid) && !slipway.Is(err, slipway.TooLarge):
		return nil, err
	case ours && sameCharts(there.Bundle, in.Bundle):
		desc.ArtifactType = ArtifactType
		return &desc, nil
	case ours && !in.Force:
		return nil, slipway.Errorf(slipway.Conflict, "%s holds this driver with other charts beside it", to).
			WithHint("--force replaces them; the driver itself stays the same")
	case ours:
		return nil, nil
	case isVersion(to.Tag):
		return nil, slipway.Errorf(slipway.Conflict, "%s exists, with other content", to).
			WithHint("a version never changes: raise spec.version, and push it again")
	case !in.Force:
		return nil, slipway.Errorf(slipway.Conflict, "the tag %s of %s%s/%s points to something else", to.Tag, Scheme, to.Registry, to.Repository).
			WithHint("--force moves it")
	}
	return nil, nil
}

func sameCharts(a, b spec.Bundle) bool {
	return slices.EqualFunc(a.Charts(), b.Charts(), func(x, y spec.CarriedChart) bool {
		return x.Location == y.Location && x.Version == y.Version && bytes.Equal(x.Packed, y.Packed)
	})
}

// send uploads what the registry lacks, and the manifest last: a tag never shows half.
func (c *Client) send(ctx context.Context, repo *remote.Repository, a artifact, tag string) error {
	c.meter.expect(a.size())
	for _, b := range a.blobs {
		switch ok, err := repo.Exists(ctx, b.desc); {
		case err != nil:
			return fmt.Errorf("ask for %s: %w", b.desc.Digest, err)
		case ok:
			c.meter.add(b.desc.Size)
			continue
		}
		if err := repo.Push(ctx, b.desc, bytes.NewReader(b.content)); err != nil && !errors.Is(err, errdef.ErrAlreadyExists) {
			return fmt.Errorf("upload %s: %w", b.desc.Digest, err)
		}
	}
	if err := repo.PushReference(ctx, a.desc, bytes.NewReader(a.manifest), tag); err != nil {
		return fmt.Errorf("upload the manifest: %w", err)
	}
	return nil
}

// isVersion reports whether a tag is a whole version, as VersionTag writes it.
func isVersion(tag string) bool {
	_, err := semver.StrictNewVersion(tag)
	if err != nil {
		// An underscore stands for the plus sign of build metadata.
		i := strings.LastIndexByte(tag, '_')
		if i < 0 {
			return false
		}
		_, err = semver.StrictNewVersion(tag[:i] + "+" + tag[i+1:])
	}
	return err == nil
}
