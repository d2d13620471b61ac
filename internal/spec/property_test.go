package spec

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/slipway"
)

var (
	anyName  = rapid.StringMatching(`[a-z]([a-z0-9-]{0,8}[a-z0-9])?`)
	anyText  = rapid.StringOfN(rapid.Rune().Filter(func(r rune) bool { return r != 0 }), 0, 12, -1)
	anyEnv   = rapid.MapOfN(rapid.StringMatching(`[A-Z][A-Z0-9_.-]{0,8}`), anyText, 0, 4)
	anyImage = rapid.SampledFrom([]string{"", "web", "reg:5000/a/b:{{ app.version }}", "a/b:1@sha256:" + fmt.Sprintf("%064d", 0), "a/b:{{app.version}}-x"})
)

func anyValue(depth int) *rapid.Generator[any] {
	choices := []*rapid.Generator[any]{
		rapid.Map(anyText, func(s string) any { return s }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) any { return f }),
		rapid.Map(anyName, func(s string) any { return map[string]any{"secret": s} }),
	}
	if depth > 0 {
		choices = append(choices,
			rapid.Map(rapid.SliceOfN(anyValue(depth-1), 0, 3), func(l []any) any { return append([]any{}, l...) }),
			rapid.Map(rapid.MapOfN(anyText, anyValue(depth-1), 0, 3), func(m map[string]any) any { return m }),
		)
	}
	return rapid.OneOf(choices...)
}

var anySpec = rapid.Custom(func(t *rapid.T) slipway.ApplicationSpec {
	s := slipway.ApplicationSpec{
		SchemaVersion: 1, Name: anyName.Draw(t, "name"),
		Driver:     slipway.DriverRef{Name: anyName.Draw(t, "driver"), Version: "1.0.0"},
		App:        slipway.AppRef{Version: rapid.StringMatching(`[0-9]\.[0-9]{1,3}(-rc\.[0-9])?`).Draw(t, "version")},
		Parameters: rapid.MapOfN(anyText, anyValue(2), 0, 4).Draw(t, "parameters"),
		Components: map[string]slipway.ComponentConfig{},
	}
	for _, name := range rapid.SliceOfNDistinct(anyName, 0, 3, rapid.ID[string]).Draw(t, "components") {
		c := slipway.ComponentConfig{Image: anyImage.Draw(t, "image"), Env: anyEnv.Draw(t, "env"), Secrets: map[string]string{}}
		if rapid.Bool().Draw(t, "scaled") {
			n := rapid.IntRange(0, maxReplicas).Draw(t, "replicas")
			c.Replicas = &n
		}
		for _, k := range rapid.SliceOfN(rapid.StringMatching(`s_[A-Z0-9_]{0,8}`), 0, 2).Draw(t, "secrets") {
			c.Secrets[k] = anyName.Draw(t, "secret")
		}
		s.Components[name] = c
	}
	return s
})

// World: pure.
func TestASpecSurvivesItsForms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec.Draw(t, "spec")
		want := tidy(s)
		canonical := Canonical(s)

		stored, err := DecodeCanonical(canonical)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(stored, want); d != "" {
			t.Errorf("through JSON: got, want (-, +):\n%s", d)
		}
		if again := Canonical(stored); string(again) != string(canonical) {
			t.Errorf("canonical is not stable:\n%s\n%s", again, canonical)
		}

		text, err := FormatApplication(s)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := ParseApplication(text, "a.toml")
		if err != nil {
			t.Fatalf("%s\n%s", describe(err), text)
		}
		if d := cmp.Diff(parsed, want); d != "" {
			t.Errorf("through TOML: got, want (-, +):\n%s\n%s", d, text)
		}
		if lines := Diff(s, parsed); len(lines) > 0 {
			t.Errorf("differs from itself: %v", lines)
		}
	})
}

// World: pure. Every difference is in the diff, and undoing it is in the opposite diff.
func TestDiffIsSymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := anySpec.Draw(t, "a"), anySpec.Draw(t, "b")
		there, back := Diff(a, b), Diff(b, a)
		if len(there) != len(back) {
			t.Fatalf("%d lines there, %d back", len(there), len(back))
		}
		for i := range there {
			if there[i] != (DiffLine{Path: back[i].Path, Old: back[i].New, New: back[i].Old}) {
				t.Errorf("there %v, back %v", there[i], back[i])
			}
		}
		a.Name, b.Name = "x", "x"
		if len(there) == 0 && string(Canonical(a)) != string(Canonical(b)) {
			t.Errorf("no difference between\n%s\n%s", Canonical(a), Canonical(b))
		}
	})
}

// FuzzParseApplication holds: no input panics, and what is accepted survives its forms.
func FuzzParseApplication(f *testing.F) {
	for _, dir := range []string{"applications", "refused-applications"} {
		for _, src := range examples(f, dir) {
			f.Add(string(src))
		}
	}
	f.Add(head + "[[parameters.a]]\nb = 1\n[[parameters.a]]\nc.d = 2\n[parameters.a.e]\nf=[{g={}}]\n")
	f.Fuzz(func(t *testing.T, src string) {
		s, err := ParseApplication([]byte(src), "a.toml")
		if err != nil {
			var e *slipway.Error
			if !errors.As(err, &e) || e.Kind == slipway.Internal {
				t.Fatalf("the error is %T: %v", err, err)
			}
			for _, fault := range e.Fields {
				if fault.Line < 1 || fault.Column < 1 || fault.Msg == "" {
					t.Errorf("a fault without a place: %+v", fault)
				}
			}
			return
		}
		stored, err := DecodeCanonical(Canonical(s))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(stored, s); d != "" {
			t.Errorf("through JSON: got, want (-, +):\n%s", d)
		}
		PositionsOf([]byte(src), "a.toml").fault("x", "", "parameters", "a", "[0]")
	})
}
