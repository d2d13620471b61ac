package registry

// World: a registry of go-containerregistry in this process, over loopback HTTP.

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"slipway.dev/slipway/internal/outside/registry/registrytest"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

const driverFile = `apiVersion: slipway.dev/v1
kind: ApplicationDriver
metadata: {name: guestbook}
spec:
  version: VERSION
  info: {description: A book for guests, homepage: "https://guestbook.example.com"}
  helm: {main: {location: ./chart}}
  parameters:
    type: object
    properties: {title: {type: string}}
`

func driver(t testing.TB, version string, more ...string) spec.Bundle {
	t.Helper()
	files := map[string][]byte{
		"driver.slipway.yml": []byte(strings.Replace(driverFile, "VERSION", version, 1)),
		"chart/Chart.yaml":   []byte("apiVersion: v2\nname: guestbook\nversion: 0.3.1\n"),
	}
	for i := 0; i+1 < len(more); i += 2 {
		files[more[i]] = []byte(more[i+1])
	}
	b, err := spec.NewBundle(files)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func start(t testing.TB, opts ...registrytest.Option) *registrytest.Registry {
	t.Helper()
	r := registrytest.New(opts...)
	t.Cleanup(r.Close)
	return r
}

func client(t testing.TB, opts Options) *Client {
	t.Helper()
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func at(t testing.TB, r *registrytest.Registry, rest string) Reference {
	t.Helper()
	ref, err := ParseReference(Scheme + r.Host + "/" + rest)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}

// refused checks the kind of an error, and what it says to a person.
func refused(t testing.TB, err error, kind slipway.Kind, says string) {
	t.Helper()
	var e *slipway.Error
	if !slipway.Is(err, kind) || !asError(err, &e) || !strings.Contains(e.Msg+" ("+e.Hint+")", says) {
		t.Errorf("got %v (%s), want %s: …%s…", err, slipway.KindOf(err), kind, says)
	}
}

func TestADriverSurvivesTheRegistry(t *testing.T) {
	t.Parallel()
	r := start(t)
	var told int64
	c := client(t, Options{Progress: func(done, total int64) { told = max(told, done*100/total) }})
	b := driver(t, "1.2.0+build.7")
	first, err := c.Push(t.Context(), PushRequest{Bundle: b, To: at(t, r, "org/drivers/guestbook")})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := first.Reference.Tag, "1.2.0_build.7"; got != want {
		t.Errorf("the tag is %s, want %s", got, want)
	}
	if first.Known || first.Identity != b.Digest() {
		t.Errorf("pushed %+v; want it new, with the identity %s", first, b.Digest())
	}
	if told != 100 {
		t.Errorf("the progress of the push ended at %d %%", told)
	}
	for _, from := range []string{"org/drivers/guestbook:1.2.0_build.7", "org/drivers/guestbook@" + first.Reference.Digest, "org/drivers/guestbook:latest@" + first.Reference.Digest} {
		told = 0
		got, err := c.Pull(t.Context(), at(t, r, from), nil)
		if err != nil {
			t.Fatalf("pull %s: %v", from, err)
		}
		if got.Bundle.Digest() != b.Digest() || got.Driver.Name != "guestbook" || got.Reference.Digest != first.Reference.Digest || told != 100 {
			t.Errorf("pulled %s: %s %s %s, told %d %%", from, got.Bundle.Digest(), got.Driver.Name, got.Reference, told)
		}
	}
}

func TestPushingTwiceGivesTheSameDigest(t *testing.T) {
	t.Parallel()
	r, other := start(t), start(t)
	c := client(t, Options{})
	push := func(r *registrytest.Registry, tag string) Pushed {
		t.Helper()
		p, err := c.Push(t.Context(), PushRequest{Bundle: driver(t, "1.0.0"), To: at(t, r, "g/b"+tag)})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := push(r, "")
	uploads := r.Uploads()
	again, elsewhere := push(r, ":1.0.0"), push(other, "")
	if first.Reference.Digest != again.Reference.Digest || first.Reference.Digest != elsewhere.Reference.Digest {
		t.Errorf("three pushes gave %s, %s and %s", first.Reference.Digest, again.Reference.Digest, elsewhere.Reference.Digest)
	}
	if !again.Known || elsewhere.Known {
		t.Errorf("known: %v and %v, want true and false", again.Known, elsewhere.Known)
	}
	if r.Uploads() != uploads {
		t.Error("the second push uploaded something")
	}
	// The digest is what people pin; it may change with the compressor of Go, and with
	// nothing else. The identity never may.
	if got, want := first.Identity, driver(t, "1.0.0").Digest(); got != want {
		t.Errorf("identity %s, want %s", got, want)
	}
}

func TestATagThatIsAVersionNeverMoves(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := client(t, Options{})
	push := func(b spec.Bundle, tag string, force bool) (Pushed, error) {
		return c.Push(t.Context(), PushRequest{Bundle: b, To: at(t, r, "g/b"+tag), Force: force})
	}
	old, changed, next := driver(t, "1.0.0"), driver(t, "1.0.0", "notes.txt", "x"), driver(t, "1.1.0")
	for _, tag := range []string{"", ":latest"} {
		if _, err := push(old, tag, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name  string
		b     spec.Bundle
		tag   string
		force bool
		kind  slipway.Kind
		says  string
	}{
		{"other content of a version", changed, "", false, slipway.Conflict, "raise spec.version"},
		{"other content of a version, forced", changed, "", true, slipway.Conflict, "raise spec.version"},
		{"a tag of another version", next, ":1.0.0", true, slipway.Invalid, "the driver's version is 1.1.0"},
		{"a pointer that points elsewhere", next, ":latest", false, slipway.Conflict, "--force moves it"},
		{"a pointer, forced", next, ":latest", true, "", ""},
		{"a new version", next, "", false, "", ""},
		{"to a digest", next, "@sha256:" + strings.Repeat("0", 64), false, slipway.Invalid, "leave the digest out"},
		{"no driver", spec.Bundle{}, ":x", false, slipway.Invalid, "driver.slipway.yml"},
	} {
		if _, err := push(tc.b, tc.tag, tc.force); tc.kind == "" && err != nil {
			t.Errorf("%s: %v", tc.name, err)
		} else if tc.kind != "" {
			refused(t, err, tc.kind, tc.says)
		}
	}
	got, err := c.Pull(t.Context(), at(t, r, "g/b:latest"), nil)
	if err != nil || got.Driver.Version != "1.1.0" {
		t.Errorf("latest is %s (%v), want 1.1.0", got.Driver.Version, err)
	}
	if got, err := c.Pull(t.Context(), at(t, r, "g/b:1.0.0"), nil); err != nil || got.Bundle.Digest() != old.Digest() {
		t.Errorf("1.0.0 is %s (%v), want %s", got.Bundle.Digest(), err, old.Digest())
	}
}

// The same files packed by another compressor are the same driver.
func TestAnotherCompressorMakesNoOtherDriver(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := client(t, Options{})
	b := driver(t, "1.0.0")
	theirs := repacked(t, b)
	there := put(t, c, at(t, r, "g/b:1.0.0"), theirs)
	got, err := c.Push(t.Context(), PushRequest{Bundle: b, To: at(t, r, "g/b")})
	if err != nil || !got.Known || got.Reference.Digest != there.Digest.String() {
		t.Errorf("Push() = %+v, %v; want the known %s", got, err, there.Digest)
	}
}

func TestTheConfigurationIsTheParsedDriver(t *testing.T) {
	t.Parallel()
	a, _, err := assemble(driver(t, "1.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Digest     string
		Driver     struct{ Name, Version string }
		Parameters struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(a.blobs[0].content, &c); err != nil {
		t.Fatal(err)
	}
	if c.Digest != driver(t, "1.0.0").Digest() || c.Driver.Name != "guestbook" || c.Driver.Version != "1.0.0" || c.Parameters.Properties["title"] == nil {
		t.Errorf("the configuration is %s", a.blobs[0].content)
	}
	var m ocispec.Manifest
	if err := json.Unmarshal(a.manifest, &m); err != nil {
		t.Fatal(err)
	}
	if m.ArtifactType != ArtifactType || m.Config.MediaType != ConfigMediaType || len(m.Layers) != 1 || m.Layers[0].MediaType != ContentMediaType {
		t.Errorf("the manifest is %s", a.manifest)
	}
	if _, ok := m.Annotations[ocispec.AnnotationCreated]; ok {
		t.Error("there is a time in the manifest, so it is another one each time")
	}
}

func TestACarriedChartTravelsBesideTheDriver(t *testing.T) {
	t.Parallel()
	r := start(t)
	c := client(t, Options{})
	plain := driver(t, "1.0.0")
	with, err := plain.WithCharts([]spec.CarriedChart{
		{Location: "oci://charts.example.com/gb", Version: "1.0.0", Packed: []byte("packed"), Manifest: []byte(`{"layers":[]}`)},
		{Location: "https://charts.example.com/gb", Version: "2.0.0", Packed: []byte("packed too")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if with.Digest() != plain.Digest() {
		t.Errorf("with charts it is %s, without %s", with.Digest(), plain.Digest())
	}
	if _, err := c.Push(t.Context(), PushRequest{Bundle: with, To: at(t, r, "g/b")}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Pull(t.Context(), at(t, r, "g/b:1.0.0"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Bundle.Digest() != plain.Digest() || !sameCharts(got.Bundle, with) || len(got.Bundle.Charts()) != 2 {
		t.Errorf("pulled %s with %d charts", got.Bundle.Digest(), len(got.Bundle.Charts()))
	}
	if m := string(got.Bundle.Charts()[0].Manifest) + string(got.Bundle.Charts()[1].Manifest); m != `{"layers":[]}` {
		t.Errorf("the manifest came back as %s", m)
	}
	// The driver alone is another artifact of the same driver.
	_, err = c.Push(t.Context(), PushRequest{Bundle: plain, To: at(t, r, "g/b")})
	refused(t, err, slipway.Conflict, "with other charts beside it")
	if _, err = c.Push(t.Context(), PushRequest{Bundle: plain, To: at(t, r, "g/b"), Force: true}); err != nil {
		t.Error(err)
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	r := start(t, registrytest.WithPassword("ada", "s3cret-value"))
	dir := t.TempDir()
	docker := filepath.Join(dir, "config.json")
	if err := os.WriteFile(docker, []byte(`{"auths":{"`+r.Host+`":{"auth":"YWRhOnMzY3JldC12YWx1ZQ=="}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte(`{"auths":`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		opts Options
		ok   bool
	}{
		{"none", Options{}, false},
		{"no such file", Options{DockerConfig: filepath.Join(dir, "none.json")}, false},
		{"docker's file", Options{DockerConfig: docker}, true},
		{"given", Options{Username: "ada", Password: "s3cret-value"}, true},
		{"given, and stronger than docker's file", Options{Username: "ada", Password: "wrong-value", DockerConfig: docker}, false},
	} {
		_, err := client(t, tc.opts).Push(t.Context(), PushRequest{Bundle: driver(t, "1.0.0"), To: at(t, r, "g/b")})
		if tc.ok && err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		if !tc.ok {
			refused(t, err, slipway.Forbidden, "check the credentials")
			if strings.Contains(err.Error(), "wrong-value") {
				t.Errorf("%s: the error shows the password: %v", tc.name, err)
			}
		}
	}
	_, err := New(Options{DockerConfig: broken})
	refused(t, err, slipway.Invalid, "cannot be read")
	_, err = New(Options{Password: "x"})
	refused(t, err, slipway.Invalid, "--username")
}

func TestParseReference(t *testing.T) {
	t.Parallel()
	sum := "sha256:" + strings.Repeat("ab", 32)
	for in, want := range map[string]Reference{
		"oci://reg.example.com/a/b":                  {"reg.example.com", "a/b", "", ""},
		"oci://reg.example.com:5000/a/b:1.0.0":       {"reg.example.com:5000", "a/b", "1.0.0", ""},
		"oci://reg.example.com/a/b@" + sum:           {"reg.example.com", "a/b", "", sum},
		"oci://reg.example.com/a/b:latest@" + sum:    {"reg.example.com", "a/b", "latest", sum},
		"oci://127.0.0.1:5000/b:1.0.0_x":             {"127.0.0.1:5000", "b", "1.0.0_x", ""},
		"oci://localhost/deep/er/and/deeper:v1-rc.1": {"localhost", "deep/er/and/deeper", "v1-rc.1", ""},
	} {
		got, err := ParseReference(in)
		if err != nil || got != want {
			t.Errorf("ParseReference(%q) = %+v, %v; want %+v", in, got, err, want)
		}
		if got.String() != in {
			t.Errorf("%q comes back as %q", in, got)
		}
	}
	for in, says := range map[string]string{
		"reg.example.com/a":                      "does not begin with oci://",
		"oci://":                                 "names no repository",
		"oci://reg.example.com":                  "names no repository",
		"oci://reg.example.com/A":                "names no repository",
		"oci://reg.example.com/../etc":           "names no repository",
		"oci://reg.example.com/a b":              "names no repository",
		"oci://reg.example.com/a:":               "a tag with characters",
		"oci://reg.example.com/a:-x":             "a tag with characters",
		"oci://reg.example.com/a@sha256:ab":      "a digest that is not",
		"oci://reg.example.com/a@md5:" + sum[7:]: "a digest that is not",
		"oci://ada:s3cret@reg.example.com/a:1.0": "holds credentials",
	} {
		_, err := ParseReference(in)
		refused(t, err, slipway.Invalid, says)
		if err != nil && strings.Contains(err.Error(), "s3cret") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
}

// put uploads an artifact as it is.
func put(t testing.TB, c *Client, to Reference, a artifact) ocispec.Descriptor {
	t.Helper()
	repo, err := c.repository(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.send(t.Context(), repo, a, to.Tag); err != nil {
		t.Fatal(err)
	}
	return a.desc
}

// rewritten changes an artifact's manifest.
func rewritten(t testing.TB, a artifact, change func(*ocispec.Manifest)) artifact {
	t.Helper()
	var m ocispec.Manifest
	if err := json.NewDecoder(bytes.NewReader(a.manifest)).Decode(&m); err != nil {
		t.Fatal(err)
	}
	change(&m)
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	a.manifest, a.desc = raw, describe(ocispec.MediaTypeImageManifest, raw)
	return a
}

// A reference is a person's, and may hold a password where none belongs.
func FuzzParseReference(f *testing.F) {
	for _, s := range []string{"oci://reg.example.com:5000/a/b:1.0.0@sha256:" + strings.Repeat("ab", 32), "oci://u:s3cret@reg/a", "oci://[::1]:5000/a:x", "oci://a//b", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseReference(s)
		if err != nil {
			return
		}
		again, err := ParseReference(r.String())
		if err != nil || again != r {
			t.Errorf("%q is %+v, and read again %+v, %v", s, r, again, err)
		}
	})
}
