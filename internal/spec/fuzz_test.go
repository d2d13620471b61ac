package spec

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"slipway.dev/slipway/internal/slipway"
)

// FuzzParseDriver holds: no specification panics, every fault has its place, and what is
// accepted can be written and keeps its rules.
func FuzzParseDriver(f *testing.F) {
	for _, dir := range []string{"drivers/everything", "refused-drivers"} {
		for name, src := range examples(f, dir) {
			if strings.HasSuffix(name, ".yml") {
				f.Add(string(src))
			}
		}
	}
	f.Add(string(readFile(f, "../../examples/drivers/reference/driver.styrmin.yml")))
	f.Add(driverHead + "  parameters: { a: { type: string } }\n  x-a: &a { b: *a }\n  <<: *a\n")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 8<<10 {
			return // the parser takes the square of the length
		}
		d, warnings, err := ParseDriver(bundleOf(t, src))
		if err != nil {
			var e *slipway.Error
			if !errors.As(err, &e) || e.Kind == slipway.Internal {
				t.Fatalf("the error is %T: %v", err, err)
			}
			for _, fault := range e.Fields {
				if fault.Msg == "" || strings.Contains(fault.Msg, "%!") {
					t.Errorf("a fault without words: %+v", fault)
				}
			}
			return
		}
		for _, w := range warnings {
			if !strings.HasPrefix(w, "driver.slipway.yml:") {
				t.Errorf("a warning without a place: %s", w)
			}
		}
		if _, err := marshal(d); err != nil {
			t.Errorf("what was accepted cannot be written: %v", err)
		}
		if _, err := EffectiveParameters(d, nil); err != nil {
			t.Errorf("the accepted parameters cannot be used: %v", err)
		}
		for _, a := range d.Actions {
			if a.Name == "" || a.File == "" || a.Function == "" || a.Timeout < 0 || a.Timeout > slipway.MaxActionTimeout {
				t.Errorf("an action that is none: %+v", a)
			}
		}
	})
}

// FuzzUnpack holds: nothing that is unpacked is beyond the limits or outside, and it packs
// to itself.
func FuzzUnpack(f *testing.F) {
	limits := Limits{Packed: 64 << 10, Bytes: 64 << 10, Files: 20}
	good, _ := mustPack(f, bundleOf(f, driverHead))
	f.Add(good)
	f.Add(packed(f, file("./a", "x"), file("b/c", "y")))
	f.Add(packed(f, file("../a", "x")))
	f.Fuzz(func(t *testing.T, src []byte) {
		b, err := Unpack(bytes.NewReader(src), limits)
		if err != nil {
			if k := slipway.KindOf(err); k != slipway.Invalid && k != slipway.TooLarge {
				t.Fatalf("the error is of kind %s: %v", k, err)
			}
			return
		}
		if b.Size() > limits.Bytes || len(b.Paths()) > limits.Files {
			t.Errorf("%d files of %d bytes are beyond the limits", len(b.Paths()), b.Size())
		}
		for _, p := range b.Paths() {
			if clean, err := cleanPath(p); err != nil || clean != p {
				t.Errorf("the path %q (%v)", p, err)
			}
		}
		tgz, digest := mustPack(t, b)
		again, err := Unpack(bytes.NewReader(tgz), DefaultLimits())
		if err != nil || again.Digest() != digest {
			t.Errorf("packed again it is %s (%v), was %s", again.Digest(), err, digest)
		}
	})
}
