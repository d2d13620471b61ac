package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
)

// Bundle is a driver's directory in memory: driver.slipway.yml and what stands beside it.
// It holds regular files only. The zero Bundle is empty.
type Bundle struct {
	files   map[string]bundleFile
	carried map[string]bundleFile // below slipway.ChartsDir; no part of the identity
}

type bundleFile struct {
	content    []byte
	executable bool
}

// Limits bound what is read of a bundle, so that neither a mistake nor malice fills the
// memory or the disk.
type Limits struct {
	Packed int64 // bytes of the packed form
	Bytes  int64 // bytes of all files together
	Files  int
}

// DefaultLimits are the limits that the reference names.
func DefaultLimits() Limits {
	return Limits{Packed: 10 << 20, Bytes: 10 << 20, Files: 2000}
}

// NewBundle makes a bundle of files by their paths, which are slash-separated and
// relative. It checks them as Unpack does.
func NewBundle(files map[string][]byte) (Bundle, error) {
	b := newBundler(DefaultLimits())
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := b.add(path, bytes.Clone(files[path]), false); err != nil {
			return Bundle{}, err
		}
	}
	return b.bundle()
}

// Member is one file of a bundle.
type Member struct {
	Path       string // slash-separated and relative
	Content    []byte // kept, so it must not be changed afterwards
	Executable bool
}

// NewBundleOf makes a bundle of files, as they come out of an archive or a repository.
func NewBundleOf(members []Member) (Bundle, error) {
	b := newBundler(DefaultLimits())
	for _, m := range members {
		if err := b.add(m.Path, m.Content, m.Executable); err != nil {
			return Bundle{}, err
		}
	}
	return b.bundle()
}

// File returns the content of a file. The caller must not change it.
func (b Bundle) File(path string) ([]byte, bool) {
	f, ok := b.files[strings.TrimPrefix(path, "./")]
	return f.content, ok
}

// entries lists the driver's files and then the charts that it carries.
func (b Bundle) entries() []string {
	return append(b.Paths(), slices.Sorted(maps.Keys(b.carried))...)
}

func (b Bundle) entry(name string) bundleFile {
	if f, ok := b.files[name]; ok {
		return f
	}
	return b.carried[name]
}

// Paths lists the paths of all files, sorted.
func (b Bundle) Paths() []string { return slices.Sorted(maps.Keys(b.files)) }

// Members lists all files, and the charts that the bundle carries, sorted.
func (b Bundle) Members() []Member {
	var out []Member
	for _, name := range b.entries() {
		f := b.entry(name)
		out = append(out, Member{name, f.content, f.executable})
	}
	return out
}

// Size is the number of bytes of all files and carried charts.
func (b Bundle) Size() int64 {
	var n int64
	for _, name := range b.entries() {
		n += int64(len(b.entry(name).content))
	}
	return n
}

// Digest is the bundle's identity: the SHA-256 of the tar form that Pack compresses. It
// does not depend on the compressor, so that a newer one does not make a loaded driver a
// different one.
func (b Bundle) Digest() string {
	h := sha256.New()
	// A hash takes every write, and writeTar fails for no other reason.
	_ = b.WithoutCharts().writeTar(h)
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
