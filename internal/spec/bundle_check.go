package spec

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"slipway.dev/slipway/internal/slipway"
)

// bundler collects files into a bundle and refuses what a bundle may not hold. All ways
// into a Bundle go through it.
type bundler struct {
	limits  Limits
	left    int64
	files   map[string]bundleFile
	carried map[string]bundleFile
	folded  map[string]string // lower-case path → path
}

func newBundler(limits Limits) *bundler {
	return &bundler{limits: limits, left: limits.Bytes, files: map[string]bundleFile{}, carried: map[string]bundleFile{}, folded: map[string]string{}}
}

// add takes one file. It keeps content.
func (b *bundler) add(name string, content []byte, executable bool) error {
	clean, err := cleanPath(name)
	if err != nil {
		return err
	}
	if len(b.files)+len(b.carried) >= b.limits.Files {
		return slipway.Errorf(slipway.TooLarge, "the driver has more than %d files", b.limits.Files).
			WithHint("leave out what its actions and chart do not need")
	}
	if b.left -= int64(len(content)); b.left < 0 {
		return b.tooLarge()
	}
	// Two paths that differ in case only are one file on some disks.
	if other, twice := b.folded[strings.ToLower(clean)]; twice {
		return slipway.Errorf(slipway.Invalid, "the driver holds %s twice: as %s and as %s", strings.ToLower(clean), other, clean)
	}
	b.folded[strings.ToLower(clean)] = clean
	if strings.HasPrefix(clean, slipway.ChartsDir+"/") {
		b.carried[clean] = bundleFile{content, false}
		return nil
	}
	b.files[clean] = bundleFile{content, executable}
	return nil
}

func (b *bundler) tooLarge() error {
	return slipway.Errorf(slipway.TooLarge, "the driver's files have more than %d bytes", b.limits.Bytes).
		WithHint("leave out what its actions and chart do not need; a large chart can be named by its OCI reference")
}

// bundle ends the collection. A path cannot be a file and a directory.
func (b *bundler) bundle() (Bundle, error) {
	for folded, name := range b.folded {
		for dir := path.Dir(folded); dir != "."; dir = path.Dir(dir) {
			if other, isFile := b.folded[dir]; isFile {
				return Bundle{}, slipway.Errorf(slipway.Invalid, "the driver holds the file %s and also %s", other, name)
			}
		}
	}
	if err := checkCarried(b.carried); err != nil {
		return Bundle{}, err
	}
	return Bundle{files: b.files, carried: b.carried}, nil
}

// maxPath keeps unpacked paths below what every file system takes, with room for the
// directory above them.
const maxPath = 512

// cleanPath checks a path of a bundle: relative, inside, and with plain characters.
func cleanPath(name string) (string, error) {
	bad := func(why string) (string, error) {
		return "", slipway.Errorf(slipway.Invalid, "the driver holds a file with a path that %s: %q", why, cut(name, 80))
	}
	switch {
	case !utf8.ValidString(name):
		return bad("is not UTF-8")
	case len(name) > maxPath:
		return bad("is too long")
	case strings.HasPrefix(name, "/") || len(name) > 1 && name[1] == ':':
		return bad("is absolute")
	case strings.Contains(name, `\`):
		return bad("holds a backslash")
	case strings.IndexFunc(name, unicode.IsControl) >= 0:
		return bad("holds a control character")
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.Is(unicode.Cf, r) }): // they make it read as another
		return bad("holds a character that is not seen")
	}
	clean := path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") || strings.Contains("/"+name+"/", "/../") {
		return bad("leads outside")
	}
	if clean == "." || strings.HasSuffix(name, "/") {
		return bad("names no file")
	}
	for _, part := range strings.Split(clean, "/") {
		if len(part) > 255 {
			return bad("is too long")
		}
	}
	return clean, nil
}

// cut shortens s for a message.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
