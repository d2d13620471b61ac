package registry

import (
	"strings"

	"github.com/opencontainers/go-digest"
	orasregistry "oras.land/oras-go/v2/registry"

	"slipway.dev/slipway/internal/slipway"
)

// Scheme begins every reference to an artifact.
const Scheme = "oci://"

// Reference names a driver in a registry: oci://registry/path/name:tag, with @sha256:… to
// pin it. With both, the digest decides and the tag is for people.
type Reference struct {
	Registry   string // host, perhaps with a port
	Repository string
	Tag        string
	Digest     string
}

// ParseReference reads a reference. A tag or digest may be missing.
func ParseReference(s string) (Reference, error) {
	bad := func(why string) (Reference, error) {
		return Reference{}, slipway.Errorf(slipway.Invalid, "%q %s", cut(s), why).
			WithHint("write oci://registry/path/name:version, or name@sha256:… for exactly one content")
	}
	rest, ok := strings.CutPrefix(s, Scheme)
	if !ok {
		return bad("does not begin with oci://")
	}
	if host, _, _ := strings.Cut(rest, "/"); strings.Contains(host, "@") {
		// Never repeated: it is a password.
		return Reference{}, slipway.Errorf(slipway.Invalid, "the reference holds credentials").
			WithHint("leave them out of it, and give them with --username and --password-stdin or docker login")
	}
	name, sum, pinned := strings.Cut(rest, "@")
	var r Reference
	if pinned {
		d, err := digest.Parse(sum)
		if err != nil || d.Algorithm() != digest.SHA256 {
			return bad("has a digest that is not of the form sha256:<64 hexadecimal digits>")
		}
		r.Digest = sum
	}
	if slash, colon := strings.LastIndex(name, "/"), strings.LastIndex(name, ":"); colon > slash {
		name, r.Tag = name[:colon], name[colon+1:]
		if err := (orasregistry.Reference{Reference: r.Tag}).ValidateReferenceAsTag(); err != nil {
			return bad("has a tag with characters that a tag may not have")
		}
	}
	parsed, err := orasregistry.ParseReference(name)
	if err != nil {
		return bad("names no repository of a registry")
	}
	r.Registry, r.Repository = parsed.Registry, parsed.Repository
	return r, nil
}

func (r Reference) String() string {
	s := Scheme + r.Registry + "/" + r.Repository
	if r.Tag != "" {
		s += ":" + r.Tag
	}
	if r.Digest != "" {
		s += "@" + r.Digest
	}
	return s
}

// wanted is what the registry is asked for.
func (r Reference) wanted() string {
	if r.Digest != "" {
		return r.Digest
	}
	return r.Tag
}

// VersionTag is the tag of a driver's version. A tag may not hold a plus sign, and Helm's
// underscore for it is what people know.
func VersionTag(version string) string { return strings.ReplaceAll(version, "+", "_") }

// cut shortens what a person or a registry wrote, for a message.
func cut(s string) string {
	const limit = 120
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}
