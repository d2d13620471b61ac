package spec

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

func mustPack(t testing.TB, b Bundle) ([]byte, string) {
	t.Helper()
	packed, digest, err := Pack(b)
	if err != nil {
		t.Fatal(err)
	}
	return packed, digest
}

// packed writes a tar.gz as somebody else's program would.
func packed(t testing.TB, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, m := range members {
		m.Size = int64(len(m.content))
		if m.Typeflag == 0 {
			m.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&m.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(m.content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// member is one entry of a tar.
type member struct {
	tar.Header
	content string
}

func file(name, content string) member {
	return member{tar.Header{Name: name, Mode: 0o644}, content}
}

func other(h tar.Header) member { return member{h, ""} }

// World: a directory of the test.
func TestABundleSurvivesPackingAndTheDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"driver.slipway.yml": driverHead, "chart/Chart.yaml": "version: 1.0.0\n", "chart/templates/a.yaml": "", "lib/deep/er/x.py": "x",
		"binary": "\x00\xff\x1f\x8b", strings.Repeat("long/", 30) + "name": "y", "ünïcode.txt": "z",
		// what is left out
		".git/config": "x", "__pycache__/a.pyc": "x", "lib/b.pyc": "x", "node_modules/x/y": "x", "actions.py~": "x",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "binary"), 0o755); err != nil {
		t.Fatal(err)
	}
	b, err := ReadBundleDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"binary", "chart/Chart.yaml", "chart/templates/a.yaml", "driver.slipway.yml", "lib/deep/er/x.py", strings.Repeat("long/", 30) + "name", "ünïcode.txt"}
	if d := cmp.Diff(b.Paths(), want); d != "" {
		t.Errorf("paths: got, want (-, +):\n%s", d)
	}
	tgz, digest := mustPack(t, b)
	again, _ := mustPack(t, b)
	if !bytes.Equal(tgz, again) {
		t.Error("packing twice gives two results")
	}
	got, err := Unpack(bytes.NewReader(tgz), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest() != digest || !strings.HasPrefix(digest, "sha256:") || got.Size() != b.Size() {
		t.Errorf("unpacked it is %s, packed it was %s", got.Digest(), digest)
	}
	if !got.files["binary"].executable || got.files["driver.slipway.yml"].executable {
		t.Error("which file can be executed is lost")
	}

	store := t.TempDir()
	path, err := got.WriteTo(store)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(store, strings.Replace(digest, ":", "-", 1)); path != want {
		t.Errorf("WriteTo() = %s, want %s", path, want)
	}
	back, err := ReadBundleDir(path)
	if err != nil || back.Digest() != digest {
		t.Errorf("on the disk it is %s (%v), want %s", back.Digest(), err, digest)
	}
	for _, name := range []string{"driver.slipway.yml", "lib", "."} {
		info, err := os.Stat(filepath.Join(path, name))
		if err != nil || info.Mode().Perm()&0o222 != 0 {
			t.Errorf("%s can be written to: %v (%v)", name, info.Mode(), err)
		}
	}
	if entries, err := os.ReadDir(store); err != nil || len(entries) != 1 {
		t.Errorf("%d entries are left beside it (%v)", len(entries)-1, err)
	}
}

// World: a directory of the test. A machine that lost power may have left a file empty.
func TestADamagedCopyIsReplaced(t *testing.T) {
	t.Parallel()
	b := bundleOf(t, driverHead)
	store := t.TempDir()
	path, err := b.WriteTo(store)
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(filepath.Join(path, "actions.py"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.WriteTo(store); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(filepath.Join(path, "actions.py"))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("a good copy was written anew (%v)", err)
	}
	for damage, do := range map[string]func() error{
		"a file that is empty": func() error { return os.Truncate(filepath.Join(path, "actions.py"), 0) },
		"a file too many":      func() error { return os.WriteFile(filepath.Join(path, "prefect.py"), nil, 0o600) },
		"a file that is a link": func() error {
			return os.Symlink("/etc/passwd", filepath.Join(path, "more.py"))
		},
		"a file that is gone": func() error { return os.Remove(filepath.Join(path, "actions.py")) },
	} {
		for _, writable := range []string{path, filepath.Join(path, "actions.py")} {
			if err := os.Chmod(writable, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := do(); err != nil {
			t.Fatal(err)
		}
		if _, err := b.WriteTo(store); err != nil {
			t.Errorf("%s: %v", damage, err)
		}
		if back, err := ReadBundleDir(path); err != nil || back.Digest() != b.Digest() {
			t.Errorf("%s: it is still damaged (%v)", damage, err)
		}
	}
}

// World: pure.
func TestUnpackRefusesWhatIsNoDriver(t *testing.T) {
	t.Parallel()
	small := Limits{Packed: 1200, Bytes: 2000, Files: 3}
	many := []member{}
	for _, n := range []string{"a", "b", "c", "d"} {
		many = append(many, file(n, "x"))
	}
	good := packed(t, file("a", "x"))
	noise := make([]byte, 8<<10)
	for i := range noise {
		noise[i] = byte(i * i * 2654435761 >> 13) // nothing that packs well
	}
	cases := []struct {
		name, want string
		src        []byte
		kind       slipway.Kind
	}{
		{"no gzip", "no readable tar.gz", []byte("hello"), slipway.Invalid},
		{"nothing", "no readable tar.gz", nil, slipway.Invalid},
		{"cut off", "no readable tar.gz", good[:len(good)/2], slipway.Invalid},
		{"a damaged checksum", "no readable tar.gz", append(slices.Clone(good[:len(good)-6]), 1, 2, 3, 4, 5, 6), slipway.Invalid},
		{"a path that leads out", "leads outside", packed(t, file("a/../../b", "x")), slipway.Invalid},
		{"a path that leads out and back", "leads outside", packed(t, file("a/../b", "x")), slipway.Invalid},
		{"an absolute path", "is absolute", packed(t, file("/etc/passwd", "x")), slipway.Invalid},
		{"a drive", "is absolute", packed(t, file("C:evil", "x")), slipway.Invalid},
		{"a backslash", "backslash", packed(t, file(`a\b`, "x")), slipway.Invalid},
		{"a control character", "control character", packed(t, file("a\nb", "x")), slipway.Invalid},
		{"a path that reads as another", "not seen", packed(t, file("a\u202egpj.py", "x")), slipway.Invalid},
		{"a symbolic link", "holds a link", packed(t, other(tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})), slipway.Invalid},
		{"a hard link", "holds a link", packed(t, other(tar.Header{Name: "l", Typeflag: tar.TypeLink, Linkname: "a"})), slipway.Invalid},
		{"a device", "no regular file", packed(t, other(tar.Header{Name: "d", Typeflag: tar.TypeChar})), slipway.Invalid},
		{"a file twice", "twice", packed(t, file("a", "x"), file("./a", "y")), slipway.Invalid},
		{"two files that are one on some disks", "twice", packed(t, file("Chart", "x"), file("chart", "y")), slipway.Invalid},
		{"a file that is a directory too", "holds the file", packed(t, file("a", "x"), file("a/b", "y")), slipway.Invalid},
		{"too many files", "more than 3 files", packed(t, many...), slipway.TooLarge},
		{"too many bytes", "more than 2000 bytes", packed(t, file("a", strings.Repeat("x", 1500)), file("b", strings.Repeat("x", 501))), slipway.TooLarge},
		{"a bomb", "more than 2000 bytes", packed(t, file("a", strings.Repeat("\x00", 1<<20))), slipway.TooLarge},
		{"too large as it comes", "packed driver is larger than 1200", packed(t, file("a", string(noise[:1900])), file("b", string(noise))), slipway.TooLarge},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := Unpack(bytes.NewReader(tc.src), small)
			if !slipway.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Unpack() = %v (%s), want %q (%s)", err, slipway.KindOf(err), tc.want, tc.kind)
			}
		})
	}
}

// World: pure. What other programs put into a tar of a directory is no reason to refuse it.
func TestUnpackTakesAnOrdinaryTar(t *testing.T) {
	t.Parallel()
	b, err := Unpack(bytes.NewReader(packed(t,
		other(tar.Header{Typeflag: tar.TypeXGlobalHeader, Name: "pax_global_header", PAXRecords: map[string]string{"comment": "abc"}}),
		other(tar.Header{Name: "./", Typeflag: tar.TypeDir, Mode: 0o755}),
		other(tar.Header{Name: "./chart/", Typeflag: tar.TypeDir, Mode: 0o755}),
		file("./driver.slipway.yml", driverHead), file("./chart/Chart.yaml", "version: 1.0.0"), file("./__pycache__/x.pyc", "x"),
	)), DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(b.Paths(), []string{"chart/Chart.yaml", "driver.slipway.yml"}); d != "" {
		t.Errorf("got, want (-, +):\n%s", d)
	}
	if _, _, err := ParseDriver(b); err != nil {
		t.Error(describe(err))
	}
}

// World: a directory of the test.
func TestReadBundleDirRefusesLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "actions.py")); err != nil {
		t.Fatal(err)
	}
	_, err := ReadBundleDir(dir)
	if !slipway.Is(err, slipway.Invalid) || !strings.Contains(err.Error(), "actions.py is a link") {
		t.Errorf("ReadBundleDir() = %v", err)
	}
	if _, err := ReadBundleDir(filepath.Join(dir, "none")); !slipway.Is(err, slipway.NotFound) {
		t.Errorf("ReadBundleDir() of nothing = %v", err)
	}
	if _, err := ReadBundleDir("/etc/passwd"); !slipway.Is(err, slipway.Invalid) {
		t.Errorf("ReadBundleDir() of a file = %v", err)
	}
}

// World: pure.
func TestTheDigestDependsOnContentAlone(t *testing.T) {
	t.Parallel()
	a := bundleOf(t, driverHead)
	b := bundleOf(t, driverHead)
	if a.Digest() != b.Digest() {
		t.Error("the same files have two digests")
	}
	if c := bundleOf(t, driverHead+"#\n"); c.Digest() == a.Digest() {
		t.Error("another file has the same digest")
	}
	// It is written in databases and must not change when Slipway does.
	const want = "sha256:a07d43955dbe7c634d6504d5c401b6f2adb29061c033d68ea73fb97d5b0d2b79"
	pinned, err := NewBundle(map[string][]byte{"driver.slipway.yml": []byte("a: 1\n"), "chart/Chart.yaml": []byte("b: 2\n")})
	if err != nil {
		t.Fatal(err)
	}
	if got := pinned.Digest(); got != want {
		t.Errorf("Digest() = %s, want %s", got, want)
	}
}
