package registry

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"slipway.dev/slipway/internal/slipway"
)

// The form of cosign's signatures: an image manifest under the tag sha256-<hex>.sig, each
// of whose layers is a statement in the form of "simple signing", with the signature over
// its bytes in an annotation.
const (
	payloadMediaType    = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	signatureType       = "cosign container image signature"
	// signatureArtifact is the type under which cosign attaches them as referrers instead.
	signatureArtifact = "application/vnd.dev.cosign.artifact.sig.v1+json"

	maxSignatures   = 64
	maxPayloadBytes = 64 << 10
)

// payload is the statement that is signed.
type payload struct {
	Critical struct {
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
	Optional map[string]any `json:"optional"`
}

func signatureTag(d digest.Digest) string {
	return strings.Replace(d.String(), ":", "-", 1) + ".sig"
}

// sign adds our signature to those of an artifact, unless it is there.
func (c *Client) sign(ctx context.Context, repo *remote.Repository, of Reference, desc ocispec.Descriptor, key *SigningKey) error {
	tag := signatureTag(desc.Digest)
	at := Reference{Registry: of.Registry, Repository: of.Repository, Tag: tag}
	var layers []ocispec.Descriptor
	switch there, err := signaturesAt(ctx, repo, tag, at); {
	case errors.Is(err, errdef.ErrNotFound):
	case err != nil:
		return explain(at, "read", err)
	default:
		if ok, err := verified(ctx, repo, there, desc, key.Public("")); ok || err != nil {
			return explain(at, "read", err)
		}
		layers = there
	}
	var p payload
	p.Critical.Identity.Reference = of.Registry + "/" + of.Repository
	p.Critical.Image.Digest = desc.Digest.String()
	p.Critical.Type = signatureType
	raw, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("write the statement to sign: %w", err)
	}
	signature, err := key.sign(raw)
	if err != nil {
		return fmt.Errorf("sign %s: %w", of, err)
	}
	statement := newBlob(payloadMediaType, raw, map[string]string{signatureAnnotation: base64.StdEncoding.EncodeToString(signature)})
	layers = append(layers, statement.desc)
	a, err := signatureArtifactOf(layers)
	if err != nil {
		return err
	}
	a.blobs = append(a.blobs, statement)
	return explain(at, "push", c.send(ctx, repo, a, tag))
}

// signatureArtifactOf makes the manifest of signatures, in the shape of an image, as
// cosign does.
func signatureArtifactOf(layers []ocispec.Descriptor) (artifact, error) {
	img := ocispec.Image{RootFS: ocispec.RootFS{Type: "layers"}}
	for _, l := range layers {
		img.RootFS.DiffIDs = append(img.RootFS.DiffIDs, l.Digest)
	}
	rawConfig, err := json.Marshal(img)
	if err != nil {
		return artifact{}, fmt.Errorf("write the signature's configuration: %w", err)
	}
	a := artifact{blobs: []blob{newBlob(ocispec.MediaTypeImageConfig, rawConfig, nil)}}
	a.manifest, err = json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: a.blobs[0].desc, Layers: layers,
	})
	if err != nil {
		return artifact{}, fmt.Errorf("write the signature's manifest: %w", err)
	}
	a.desc = describe(ocispec.MediaTypeImageManifest, a.manifest)
	return a, nil
}

// signaturesAt reads the statements that a manifest of signatures names.
func signaturesAt(ctx context.Context, repo *remote.Repository, wanted string, at Reference) ([]ocispec.Descriptor, error) {
	desc, err := repo.Resolve(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if desc.MediaType != ocispec.MediaTypeImageManifest || desc.Size < 0 || desc.Size > maxManifestBytes {
		return nil, slipway.Errorf(slipway.Invalid, "%s is no manifest of signatures", at)
	}
	raw, err := content.FetchAll(ctx, repo, desc)
	if err != nil {
		return nil, err
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(raw, &m); err != nil || len(m.Layers) > maxSignatures {
		return nil, &slipway.Error{Kind: slipway.Invalid, Msg: at.String() + " is no manifest of signatures", Err: err}
	}
	return m.Layers, nil
}

// verified reports whether one of the statements says that key signed this very manifest.
func verified(ctx context.Context, repo *remote.Repository, statements []ocispec.Descriptor, of ocispec.Descriptor, key VerifyingKey) (bool, error) {
	for _, s := range statements {
		signature, err := base64.StdEncoding.DecodeString(s.Annotations[signatureAnnotation])
		if s.MediaType != payloadMediaType || err != nil || s.Size < 0 || s.Size > maxPayloadBytes {
			continue
		}
		if err := s.Digest.Validate(); err != nil {
			continue
		}
		raw, err := content.FetchAll(ctx, repo, s)
		if errors.Is(err, errdef.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, err
		}
		var p payload
		if !key.verifies(raw, signature) || json.NewDecoder(bytes.NewReader(raw)).Decode(&p) != nil {
			continue
		}
		// What was signed must be this, and not another image of the same signer.
		if p.Critical.Type == signatureType && p.Critical.Image.Digest == of.Digest.String() {
			return true, nil
		}
	}
	return false, nil
}
