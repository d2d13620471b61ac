package secret

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
)

// EnvVar holds the keyset itself, as the file has it or in base64. Whoever reads it must
// take it out of the process's environment, which child processes inherit.
const EnvVar = "SLIPWAY_SECRET_KEY"

// maxKeyset bounds what is read as a keyset; one of a dozen keys is about 3 KiB.
const maxKeyset = 64 << 10

// Parse makes a box of a keyset's text. Its errors never show the text.
func Parse(text string) (*Box, error) {
	src := []byte(strings.TrimSpace(text))
	if len(src) > 0 && src[0] != '{' {
		decoded, err := base64.StdEncoding.DecodeString(string(src))
		if err != nil {
			return nil, errors.New("the keyset of secrets is neither JSON nor base64")
		}
		src = decoded
	}
	h, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(src)))
	if err != nil {
		// The cause is dropped: a JSON error may quote what it stumbled over.
		return nil, errors.New("the keyset of secrets cannot be read: it is damaged, or something else")
	}
	return newBox(h)
}

// Load reads the keyset in a file, which no one but its owner and group may read. A file
// that does not exist gives an error that is fs.ErrNotExist.
func Load(path string) (*Box, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the keyset of secrets: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("look at the keyset of secrets: %w", err)
	}
	// The group may read: a cluster mounts secrets for a group.
	if mode := st.Mode().Perm(); mode&0o027 != 0 {
		return nil, fmt.Errorf("the keyset of secrets %s has mode %04o: others could read or replace it; run chmod 600 %s", path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyset))
	if err != nil {
		return nil, fmt.Errorf("read the keyset of secrets: %w", err)
	}
	b, err := Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// LoadOrCreate reads the keyset, and makes one when there is none and first is true.
// first must be false once the database may hold secrets: a new key in place of a lost
// one would make all of them unreadable without a word.
func LoadOrCreate(path string, first bool) (*Box, error) {
	b, err := Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return b, err
	}
	if !first {
		return nil, fmt.Errorf("the keyset of secrets %s is missing, and the secrets in the database cannot be read without it: put it back from a backup, or set secrets.key_file or %s", path, EnvVar)
	}
	h, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("make a key for secrets: %w", err)
	}
	if err := write(path, h, os.Link); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	// Read it back: another process may have been first, and then its key is the one.
	return Load(path)
}

// Rotate adds a new key to the keyset in a file and makes it the one that seals. The old
// keys stay, so that what they sealed still opens. Servers take it up when they start.
func Rotate(path string) error {
	b, err := Load(path)
	if err != nil {
		return err
	}
	m := keyset.NewManagerFromHandle(b.handle)
	id, err := m.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return fmt.Errorf("add a key to %s: %w", path, err)
	}
	if err := m.SetPrimary(id); err != nil {
		return fmt.Errorf("make the new key of %s the primary: %w", path, err)
	}
	h, err := m.Handle()
	if err != nil {
		return fmt.Errorf("add a key to %s: %w", path, err)
	}
	return write(path, h, os.Rename)
}

// write puts the keyset beside path and then in its place: by os.Link when it must be the
// first, by os.Rename when it replaces. It is on the disk before anything is sealed with it.
func write(path string, h *keyset.Handle, place func(from, to string) error) error {
	var text bytes.Buffer
	if err := insecurecleartextkeyset.Write(h, keyset.NewJSONWriter(&text)); err != nil {
		return fmt.Errorf("write the keyset of secrets: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".secret-key-*") // mode 0600
	if err != nil {
		return fmt.Errorf("write the keyset of secrets: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text.Bytes())
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the keyset of secrets: %w", err)
	}
	if err := place(f.Name(), path); err != nil {
		return fmt.Errorf("write the keyset of secrets: %w", err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("write the keyset of secrets: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}
