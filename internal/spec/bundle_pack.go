package spec

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"

	"slipway.dev/slipway/internal/slipway"
)

// Pack writes a bundle as a tar.gz, always the same for the same files: sorted, without
// times or owners. The digest is Bundle.Digest.
func Pack(b Bundle) (packed []byte, digest string, err error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.DefaultCompression)
	if err != nil {
		return nil, "", fmt.Errorf("pack the driver: %w", err)
	}
	if err := errors.Join(b.writeTar(z), z.Close()); err != nil {
		return nil, "", fmt.Errorf("pack the driver: %w", err)
	}
	return out.Bytes(), b.Digest(), nil
}

func (b Bundle) writeTar(w io.Writer) error {
	t := tar.NewWriter(w)
	for _, name := range b.entries() {
		f := b.entry(name)
		h := &tar.Header{
			Typeflag: tar.TypeReg, Name: name, Size: int64(len(f.content)), Mode: 0o644, ModTime: time.Unix(0, 0),
		}
		if f.executable {
			h.Mode = 0o755
		}
		if err := t.WriteHeader(h); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		if _, err := t.Write(f.content); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return t.Close()
}

// Unpack reads what Pack wrote, or any tar.gz of a driver's directory. It stops at the
// first limit, so that a few kilobytes cannot become gigabytes.
func Unpack(r io.Reader, limits Limits) (Bundle, error) {
	packed := &boundedReader{r: r, left: limits.Packed}
	z, err := gzip.NewReader(packed)
	if err != nil {
		return Bundle{}, unreadable(err)
	}
	// Headers and padding count too: 1 KiB for each file allowed is ample.
	plain := &boundedReader{r: z, left: limits.Bytes + int64(limits.Files)*1024 + 1<<20}
	t := tar.NewReader(plain)
	b := newBundler(limits)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Bundle{}, unreadable(err)
		}
		if err := b.entry(h, t); err != nil {
			return Bundle{}, err
		}
	}
	// Read to the end, so that a damaged checksum is seen.
	if _, err := io.Copy(io.Discard, plain); err != nil {
		return Bundle{}, unreadable(err)
	}
	return b.bundle()
}

func (b *bundler) entry(h *tar.Header, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeReg:
	case tar.TypeDir, tar.TypeXGlobalHeader:
		return nil // directories follow from the files in them
	case tar.TypeSymlink, tar.TypeLink:
		return slipway.Errorf(slipway.Invalid, "the driver holds a link: %q", cut(h.Name, 80)).WithHint("pack the file that it points to")
	default:
		return slipway.Errorf(slipway.Invalid, "the driver holds something that is no regular file: %q", cut(h.Name, 80))
	}
	if leftOut(h.Name) {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(content, b.left+1))
	if err != nil {
		return unreadable(err)
	}
	return b.add(h.Name, data, h.Mode&0o111 != 0)
}

func unreadable(err error) error {
	var e *slipway.Error
	if errors.As(err, &e) {
		return e
	}
	return &slipway.Error{Kind: slipway.Invalid, Msg: "the driver is no readable tar.gz", Hint: "pack it with: slipway driver load DIR", Err: err}
}

// boundedReader ends with a TooLarge error instead of quietly.
type boundedReader struct {
	r    io.Reader
	left int64
	all  int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var one [1]byte
		if n, err := b.r.Read(one[:]); n == 0 && err != nil {
			return 0, err
		}
		return 0, slipway.Errorf(slipway.TooLarge, "the packed driver is larger than %d bytes", b.all)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= int64(n)
	b.all += int64(n)
	return n, err
}
