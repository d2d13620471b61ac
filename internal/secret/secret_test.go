// These tests stand in the pure world, with files in a temporary directory.
package secret

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

var here = Place{Installation: "i-1", Environment: 7, Name: "guestbook-db"}

func create(t *testing.T) (*Box, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret.key")
	b, err := LoadOrCreate(path, true)
	if err != nil {
		t.Fatal(err)
	}
	return b, path
}

func TestSealedValuesOpenInTheirPlaceOnly(t *testing.T) {
	t.Parallel()
	b, _ := create(t)
	sealed, err := b.Seal(here, []byte("hunter2"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := b.Open(here, sealed); err != nil || string(got) != "hunter2" {
		t.Errorf("Open = %q, %v", got, err)
	}
	if strings.Contains(string(sealed), "hunter2") {
		t.Error("the sealed value shows the value")
	}
	other, _ := create(t)
	altered := append([]byte(nil), sealed...)
	altered[len(altered)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"another installation": func() ([]byte, error) { return b.Open(Place{"i-2", 7, "guestbook-db"}, sealed) },
		"another environment":  func() ([]byte, error) { return b.Open(Place{"i-1", 8, "guestbook-db"}, sealed) },
		"another name":         func() ([]byte, error) { return b.Open(Place{"i-1", 7, "guestbook-db2"}, sealed) },
		"an altered value":     func() ([]byte, error) { return b.Open(here, altered) },
		"no value":             func() ([]byte, error) { return b.Open(here, nil) },
		"another keyset":       func() ([]byte, error) { return other.Open(here, sealed) },
	} {
		got, err := open()
		if err == nil {
			t.Errorf("%s: Open = %q, want an error", name, got)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error shows the value: %v", name, err)
		}
	}
	if _, err := other.Open(here, sealed); !strings.Contains(err.Error(), "which this server's keyset does not have") {
		t.Errorf("with another keyset: %v", err)
	}
}

func TestNoTwoPlacesReadTheSame(t *testing.T) {
	t.Parallel()
	gen := rapid.Custom(func(t *rapid.T) Place {
		return Place{rapid.StringMatching(`[a-f0-9-]{0,4}`).Draw(t, "installation"), rapid.Int64Range(0, 30).Draw(t, "environment"), rapid.StringMatching(`[a-z0-9-]{0,4}`).Draw(t, "name")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		if (a == b) != (string(a.bytes()) == string(b.bytes())) {
			t.Fatalf("%+v and %+v", a, b)
		}
	})
}

func TestTheKeyIsMadeOnceAndPrivately(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	var wg sync.WaitGroup
	boxes := make([]*Box, 8)
	for i := range boxes {
		wg.Go(func() {
			b, err := LoadOrCreate(path, true)
			if err != nil {
				t.Error(err)
			}
			boxes[i] = b
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	sealed, err := boxes[0].Seal(here, []byte("v"))
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range boxes {
		if _, err := b.Open(here, sealed); err != nil {
			t.Errorf("starter %d has another key: %v", i, err)
		}
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := st.Mode().Perm(); got != 0o600 {
		t.Errorf("mode = %04o, want 0600", got)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".secret-key-*")); len(left) > 0 {
		t.Errorf("files left behind: %q", left)
	}
}

func TestALostKeyIsNotReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "secret.key")
	_, err := LoadOrCreate(path, false)
	if err == nil || !strings.Contains(err.Error(), "put it back from a backup") {
		t.Errorf("LoadOrCreate = %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a key was made")
	}
}

func TestAKeyThatOthersMayReadIsRefused(t *testing.T) {
	t.Parallel()
	_, path := create(t)
	for mode, fine := range map[fs.FileMode]bool{0o600: true, 0o400: true, 0o440: true, 0o640: true, 0o644: false, 0o660: false, 0o604: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if fine != (err == nil) {
			t.Errorf("mode %04o: Load = %v", mode, err)
		}
		if err != nil && !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("mode %04o: no remedy in %v", mode, err)
		}
	}
}

func TestRotationKeepsOldValuesOpen(t *testing.T) {
	t.Parallel()
	before, path := create(t)
	old, err := before.Seal(here, []byte("v"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Rotate(path); err != nil {
		t.Fatal(err)
	}
	after, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := after.Open(here, old); err != nil || string(got) != "v" {
		t.Errorf("Open of an old value = %q, %v", got, err)
	}
	fresh, err := after.Seal(here, []byte("v"))
	if err != nil {
		t.Fatal(err)
	}
	if !after.Stale(old) || after.Stale(fresh) || before.Stale(old) {
		t.Errorf("Stale: old %v, fresh %v, old before %v", after.Stale(old), after.Stale(fresh), before.Stale(old))
	}
	if _, err := before.Open(here, fresh); err == nil {
		t.Error("the old keyset opens what the new key sealed")
	}
}

func TestParseTakesJSONAndBase64AndShowsNothing(t *testing.T) {
	t.Parallel()
	b, path := create(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := b.Seal(here, []byte("v"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{string(text), "\n" + string(text) + "\n", base64.StdEncoding.EncodeToString(text)} {
		p, err := Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Open(here, sealed); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"", "hunter2!", "{\"hunter2\": 1}", "{hunter2", base64.StdEncoding.EncodeToString([]byte("hunter2"))} {
		if _, err := Parse(s); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Parse(%q) = %v", s, err)
		}
	}
	material := strings.Split(strings.Split(string(text), `"value":"`)[1], `"`)[0]
	if shown := fmt.Sprintf("%v %+v %#v", b, b, b); strings.Contains(shown, material) || !strings.Contains(shown, "secret.Box") {
		t.Errorf("printing the box shows %s", shown)
	}
}
