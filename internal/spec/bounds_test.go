package spec

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/internal/slipway"
)

// World: pure.
func TestSupportedBoundsAreTheEndsOfTheRange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		want []string
	}{
		{"", []string{"1.0.0"}},
		{">=1.5.0", []string{"1.5.0"}},
		{">1.0.0", []string{"1.0.1"}},
		{"=1.2.3", []string{"1.2.3"}},
		{">=1.36.1 <=1.37.0", []string{"1.36.1", "1.37.0"}},
		{">=1.0.0 <2.0.0", []string{"1.0.0", "1.999.999"}},
		{">=1.0.0 <1.7.0", []string{"1.0.0", "1.6.999"}},
		{">=1.0.0 <1.7.3 || >=3.0.0 <3.1.0", []string{"1.0.0", "3.0.999"}},
		{"<0.2.0", []string{"0.1.999"}},
	} {
		got := SupportedBounds(slipway.DriverSpec{SupportedVersions: tc.text})
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%q: %s", tc.text, diff)
		}
	}
}

func TestVariantsTurnOnWhatTheDefaultsLeaveOut(t *testing.T) {
	t.Parallel()
	d := slipway.DriverSpec{Name: "x", Parameters: []byte(`{"type":"object","required":["mail"],"properties":{
		"mail":{"type":"string","format":"email"},
		"cache":{"type":"boolean","default":false},
		"edition":{"enum":["small","large"],"default":"small"},
		"host":{"type":"string","default":""},
		"name":{"type":"string","default":"x"},
		"key":{"type":"string","writeOnly":true}}}`)}
	got, err := ParameterVariants(d)
	if err != nil {
		t.Fatal(err)
	}
	mail := "someone@example.com"
	key := map[string]any{"secret": "example"}
	want := []map[string]any{
		{"mail": mail, "cache": true, "edition": "large", "host": "example", "key": key},
		{"mail": mail, "cache": true},
		{"mail": mail, "edition": "large"},
		{"mail": mail, "host": "example"},
		{"mail": mail, "key": key},
		{"mail": mail},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
