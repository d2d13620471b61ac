package secret

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"slipway.dev/slipway/internal/slipway"
)

// Place is where a value belongs, and the only place where it opens.
type Place struct {
	Installation string // its ID
	Environment  int64  // its ID: a name may be given again to another environment
	Name         string
}

// bytes writes the place so that no two places read the same: none of the parts can hold
// a NUL.
func (p Place) bytes() []byte {
	return []byte("slipway/secret/1\x00" + p.Installation + "\x00" + strconv.FormatInt(p.Environment, 10) + "\x00" + p.Name)
}

// Box seals and opens values. It is safe for concurrent use.
type Box struct {
	aead    tink.AEAD
	handle  *keyset.Handle
	primary uint32
}

func newBox(h *keyset.Handle) (*Box, error) {
	a, err := aead.New(h)
	if err != nil {
		return nil, fmt.Errorf("use the keyset of secrets: %w", err)
	}
	return &Box{aead: a, handle: h, primary: h.KeysetInfo().GetPrimaryKeyId()}, nil
}

// String keeps the keys out of anything that prints the box.
func (b *Box) String() string { return fmt.Sprintf("secret.Box(primary key %d)", b.primary) }

// GoString is what %#v prints.
func (b *Box) GoString() string { return b.String() }

// Seal returns value sealed for its place. Two seals of one value differ.
func (b *Box) Seal(p Place, value []byte) ([]byte, error) {
	sealed, err := b.aead.Encrypt(value, p.bytes())
	if err != nil {
		return nil, fmt.Errorf("seal the secret %q: %w", p.Name, err)
	}
	return sealed, nil
}

// Open returns what was sealed for this place. It fails when the value was altered, was
// sealed for another place, or with a key that the keyset does not have.
func (b *Box) Open(p Place, sealed []byte) ([]byte, error) {
	value, err := b.aead.Decrypt(sealed, p.bytes())
	if err == nil {
		return value, nil
	}
	if id, ok := keyOf(sealed); ok && !b.has(id) {
		return nil, &slipway.Error{Kind: slipway.Internal, Err: err,
			Msg:  fmt.Sprintf("the secret %q was sealed with key %d, which this server's keyset does not have", p.Name, id),
			Hint: "give every server the same keyset (secrets.key_file or SLIPWAY_SECRET_KEY), or set the secret anew"}
	}
	return nil, &slipway.Error{Kind: slipway.Internal, Err: err,
		Msg:  fmt.Sprintf("the secret %q does not open: it was altered, or belongs to another place", p.Name),
		Hint: "set the secret anew"}
}

// Stale reports whether a sealed value was sealed with a key that is no longer primary.
func (b *Box) Stale(sealed []byte) bool {
	id, ok := keyOf(sealed)
	return ok && id != b.primary
}

// keyOf reads the ID of the key that sealed, from the prefix that Tink writes: one byte of
// version and four of ID.
func keyOf(sealed []byte) (uint32, bool) {
	if len(sealed) < 5 || sealed[0] != 1 {
		return 0, false
	}
	return binary.BigEndian.Uint32(sealed[1:5]), true
}

func (b *Box) has(id uint32) bool {
	for _, k := range b.handle.KeysetInfo().GetKeyInfo() {
		if k.GetKeyId() == id {
			return true
		}
	}
	return false
}
