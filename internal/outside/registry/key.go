package registry

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"slipway.dev/slipway/internal/slipway"
)

// VerifyingKey is a public key whose signatures are trusted.
type VerifyingKey struct {
	Name string // the file it came from, for people
	key  *ecdsa.PublicKey
}

// SigningKey is a private key.
type SigningKey struct{ key *ecdsa.PrivateKey }

// maxKeyBytes is more than any key's file has.
const maxKeyBytes = 64 << 10

// ReadVerifyingKey reads a public key as cosign generate-key-pair and openssl write it.
func ReadVerifyingKey(file string) (VerifyingKey, error) {
	block, err := readPEM(file)
	if err != nil {
		return VerifyingKey{}, err
	}
	if block.Type != "PUBLIC KEY" {
		return VerifyingKey{}, slipway.Errorf(slipway.Invalid, "%s holds no public key but %q", file, cut(block.Type)).WithHint("give the .pub file")
	}
	k, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, ok := k.(*ecdsa.PublicKey)
	if err != nil || !ok || key.Curve != elliptic.P256() {
		return VerifyingKey{}, notP256(file, err)
	}
	return VerifyingKey{file, key}, nil
}

// ReadSigningKey reads a private key without a password, as openssl writes it.
func ReadSigningKey(file string) (*SigningKey, error) {
	block, err := readPEM(file)
	if err != nil {
		return nil, err
	}
	var k any
	switch block.Type {
	case "PRIVATE KEY":
		k, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		k, err = x509.ParseECPrivateKey(block.Bytes)
	case "ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY", "ENCRYPTED PRIVATE KEY":
		return nil, slipway.Errorf(slipway.Invalid, "the key in %s has a password", file).
			WithHint("push without --sign-key and sign with cosign, or make a key without a password: openssl ecparam -name prime256v1 -genkey -noout -out key.pem")
	default:
		return nil, slipway.Errorf(slipway.Invalid, "%s holds no private key but %q", file, cut(block.Type))
	}
	key, ok := k.(*ecdsa.PrivateKey)
	if err != nil || !ok || key.Curve != elliptic.P256() {
		return nil, notP256(file, err)
	}
	return &SigningKey{key}, nil
}

// Public is the key that verifies what k signs.
func (k *SigningKey) Public(name string) VerifyingKey { return VerifyingKey{name, &k.key.PublicKey} }

func (k *SigningKey) sign(payload []byte) ([]byte, error) {
	sum := sha256.Sum256(payload)
	return ecdsa.SignASN1(rand.Reader, k.key, sum[:])
}

func (k VerifyingKey) verifies(payload, signature []byte) bool {
	sum := sha256.Sum256(payload)
	return ecdsa.VerifyASN1(k.key, sum[:], signature)
}

func readPEM(file string) (*pem.Block, error) {
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, slipway.Errorf(slipway.NotFound, "there is no file %s", file)
	}
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	defer f.Close() // opened for reading
	raw, err := io.ReadAll(io.LimitReader(f, maxKeyBytes))
	if err != nil {
		return nil, fmt.Errorf("read the key %s: %w", file, err)
	}
	for {
		block, rest := pem.Decode(raw)
		if block == nil {
			return nil, slipway.Errorf(slipway.Invalid, "%s holds no key in PEM form", file)
		}
		if block.Type != "EC PARAMETERS" { // openssl writes them before the key
			return block, nil
		}
		raw = rest
	}
}

func notP256(file string, err error) error {
	return &slipway.Error{Kind: slipway.Invalid, Err: err, Msg: "the key in " + file + " is none of ECDSA P-256",
		Hint: "cosign generate-key-pair makes such keys"}
}
