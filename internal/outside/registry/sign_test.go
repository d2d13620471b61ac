package registry

// World: a registry of go-containerregistry in this process.

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"slipway.dev/slipway/internal/slipway"
)

// keys writes a fresh pair of keys as openssl does.
func keys(t testing.TB, name string) (*SigningKey, VerifyingKey) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&k.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name)
	pemFile(t, file+".key", "EC PRIVATE KEY", private)
	pemFile(t, file+".pub", "PUBLIC KEY", public)
	s, err := ReadSigningKey(file + ".key")
	if err != nil {
		t.Fatal(err)
	}
	v, err := ReadVerifyingKey(file + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	return s, v
}

func pemFile(t testing.TB, file, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestASignedDriverIsPulledByItsKeyAlone(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := client(t, Options{})
	key, public := keys(t, "ours")
	second, secondPublic := keys(t, "second")
	_, stranger := keys(t, "stranger")
	push := func(version string, k *SigningKey) Pushed {
		t.Helper()
		p, err := c.Push(t.Context(), PushRequest{Bundle: driver(t, version), To: at(t, r, "g/b"), Key: k})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	push("1.0.0", nil)
	_, err := c.Pull(t.Context(), at(t, r, "g/b:1.0.0"), []VerifyingKey{public})
	refused(t, err, slipway.Forbidden, "is not signed")

	// A driver that stands there already can be signed afterwards, and by two.
	if p := push("1.0.0", key); !p.Known || !p.Signed {
		t.Errorf("pushed %+v, want it known and signed", p)
	}
	uploads := r.Uploads()
	push("1.0.0", key)
	if r.Uploads() != uploads {
		t.Error("it was signed by the same key once more")
	}
	push("1.0.0", second)
	for _, tc := range []struct {
		keys []VerifyingKey
		by   string
	}{
		{[]VerifyingKey{public}, public.Name},
		{[]VerifyingKey{secondPublic}, secondPublic.Name},
		{[]VerifyingKey{stranger, public}, public.Name},
	} {
		got, err := c.Pull(t.Context(), at(t, r, "g/b:1.0.0"), tc.keys)
		if err != nil || got.SignedBy != tc.by {
			t.Errorf("signed by %q (%v), want %q", got.SignedBy, err, tc.by)
		}
	}
	_, err = c.Pull(t.Context(), at(t, r, "g/b:1.0.0"), []VerifyingKey{stranger})
	refused(t, err, slipway.Forbidden, "signed, but not by the key of "+stranger.Name)
}

// A signature is of one content: it must not be moved to another.
func TestASignatureOfSomethingElseDoesNotCount(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := client(t, Options{})
	key, public := keys(t, "ours")
	signed, err := c.Push(t.Context(), PushRequest{Bundle: driver(t, "1.0.0"), To: at(t, r, "g/b"), Key: key})
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.Push(t.Context(), PushRequest{Bundle: driver(t, "1.0.1"), To: at(t, r, "g/b")})
	if err != nil {
		t.Fatal(err)
	}
	repo, err := c.repository(t.Context(), other.Reference)
	if err != nil {
		t.Fatal(err)
	}
	tag := func(p Pushed) string { return "sha256-" + p.Reference.Digest[len("sha256:"):] + ".sig" }
	statements, err := signaturesAt(t.Context(), repo, tag(signed), signed.Reference)
	if err != nil || len(statements) != 1 {
		t.Fatalf("signatures: %v, %v", statements, err)
	}
	moved, err := signatureArtifactOf(statements)
	if err != nil {
		t.Fatal(err)
	}
	put(t, c, at(t, r, "g/b:"+tag(other)), moved)
	_, err = c.Pull(t.Context(), at(t, r, "g/b:1.0.1"), []VerifyingKey{public})
	refused(t, err, slipway.Forbidden, "signed, but not by the key")

	// Nor does one whose statement was changed afterwards.
	forged := newBlob(payloadMediaType, []byte(strings.Replace(statementOf(t, c, signed, statements[0]), signed.Reference.Digest, other.Reference.Digest, 1)), statements[0].Annotations)
	a, err := signatureArtifactOf([]ocispec.Descriptor{forged.desc})
	if err != nil {
		t.Fatal(err)
	}
	a.blobs = append(a.blobs, forged)
	put(t, c, at(t, r, "g/b:"+tag(other)), a)
	_, err = c.Pull(t.Context(), at(t, r, "g/b:1.0.1"), []VerifyingKey{public})
	refused(t, err, slipway.Forbidden, "signed, but not by the key")
}

func statementOf(t testing.TB, c *Client, p Pushed, d ocispec.Descriptor) string {
	t.Helper()
	repo, err := c.repository(t.Context(), p.Reference)
	if err != nil {
		t.Fatal(err)
	}
	rc, err := repo.Blobs().Fetch(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(rc); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Cosign can attach signatures as referrers in place of a tag.
func TestASignatureMayBeAReferrer(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := client(t, Options{})
	key, public := keys(t, "ours")
	p, err := c.Push(t.Context(), PushRequest{Bundle: driver(t, "1.0.0"), To: at(t, r, "g/b")})
	if err != nil {
		t.Fatal(err)
	}
	var s payload
	s.Critical.Image.Digest, s.Critical.Type = p.Reference.Digest, signatureType
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := key.sign(raw)
	if err != nil {
		t.Fatal(err)
	}
	statement := newBlob(payloadMediaType, raw, map[string]string{signatureAnnotation: base64Of(signature)})
	a, err := signatureArtifactOf([]ocispec.Descriptor{statement.desc})
	if err != nil {
		t.Fatal(err)
	}
	a.blobs = append(a.blobs, statement)
	subject := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.Digest(p.Reference.Digest), Size: manifestSize(t, c, p)}
	put(t, c, at(t, r, "g/b:some-signature"), rewritten(t, a, func(m *ocispec.Manifest) {
		m.Subject, m.Config.MediaType = &subject, signatureArtifact // as cosign writes it
	}))
	if got, err := c.Pull(t.Context(), at(t, r, "g/b:1.0.0"), []VerifyingKey{public}); err != nil || got.SignedBy != public.Name {
		t.Errorf("signed by %q, %v", got.SignedBy, err)
	}
}

func TestKeysThatAreNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, kind string, der []byte) string {
		file := filepath.Join(dir, name)
		pemFile(t, file, kind, der)
		return file
	}
	k384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&k384.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(k384)
	if err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	p384 := write("p384.pub", "PUBLIC KEY", der)
	for _, tc := range []struct {
		file, says string
		kind       slipway.Kind
	}{
		{filepath.Join(dir, "none"), "there is no file", slipway.NotFound},
		{text, "no key in PEM form", slipway.Invalid},
		{p384, "none of ECDSA P-256", slipway.Invalid},
		{write("private", "PRIVATE KEY", private), "give the .pub file", slipway.Invalid},
	} {
		_, err := ReadVerifyingKey(tc.file)
		refused(t, err, tc.kind, tc.says)
	}
	for _, tc := range []struct{ file, says string }{
		{text, "no key in PEM form"},
		{p384, "holds no private key"},
		{write("private", "PRIVATE KEY", private), "none of ECDSA P-256"},
		{write("cosign", "ENCRYPTED SIGSTORE PRIVATE KEY", []byte("{}")), "has a password"},
	} {
		_, err := ReadSigningKey(tc.file)
		refused(t, err, slipway.Invalid, tc.says)
	}
}

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

func manifestSize(t testing.TB, c *Client, p Pushed) int64 {
	t.Helper()
	repo, err := c.repository(t.Context(), p.Reference)
	if err != nil {
		t.Fatal(err)
	}
	d, err := repo.Resolve(t.Context(), p.Reference.Digest)
	if err != nil {
		t.Fatal(err)
	}
	return d.Size
}
