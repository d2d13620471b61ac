package registry

import (
	"context"
	"errors"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"slipway.dev/slipway/internal/slipway"
)

// verify looks for a signature of one of the keys over a manifest, and returns the name of
// the key. The statement's own repository is not compared: a driver that was copied into
// the registry of a closed network keeps its signature.
func (c *Client) verify(ctx context.Context, repo *remote.Repository, of Reference, desc ocispec.Descriptor, keys []VerifyingKey) (string, error) {
	statements, err := c.statements(ctx, repo, of, desc)
	if err != nil {
		return "", err
	}
	if len(statements) == 0 {
		return "", slipway.Errorf(slipway.Forbidden, "%s is not signed, and a signature is asked for", of).
			WithHint("its publisher signs it with  slipway driver push --sign-key  or cosign sign --key")
	}
	names := make([]string, len(keys))
	for i, k := range keys {
		ok, err := verified(ctx, repo, statements, desc, k)
		if err != nil {
			return "", explain(of, "read the signature of", err)
		}
		if ok {
			return k.Name, nil
		}
		names[i] = k.Name
	}
	return "", slipway.Errorf(slipway.Forbidden, "%s is signed, but not by the key of %s", of, strings.Join(names, " or ")).
		WithHint("check that the key is its publisher's; if it is, do not use this driver")
}

// statements finds the signatures of a manifest where cosign puts them: under a tag, or as
// referrers.
func (c *Client) statements(ctx context.Context, repo *remote.Repository, of Reference, desc ocispec.Descriptor) ([]ocispec.Descriptor, error) {
	tag := signatureTag(desc.Digest)
	at := Reference{Registry: of.Registry, Repository: of.Repository, Tag: tag}
	out, err := signaturesAt(ctx, repo, tag, at)
	if err == nil {
		return out, nil
	}
	if !errors.Is(err, errdef.ErrNotFound) {
		return nil, explain(at, "read the signature of", err)
	}
	err = repo.Referrers(ctx, desc, signatureArtifact, func(found []ocispec.Descriptor) error {
		for _, f := range found {
			if len(out) >= maxSignatures {
				return nil
			}
			more, err := signaturesAt(ctx, repo, f.Digest.String(), at)
			if err != nil {
				return err
			}
			out = append(out, more...)
		}
		return nil
	})
	if err != nil && !errors.Is(err, errdef.ErrNotFound) {
		return nil, explain(of, "read the signatures of", err)
	}
	return out, nil
}
