package config

import (
	"errors"
	"strings"
	"testing"
)

// World: pure.
func TestRunnersAreChecked(t *testing.T) {
	t.Parallel()
	_, err := Load(write(t, `
[runners]
image = "runner 1"
allow_egress = ["10.0.0.0/8", "10.1.2.3"]
dns = ["169.254.20.10", "dns.example.com"]
`), []string{"HOME=/home/me"}, nil)
	var all *Error
	if !errors.As(err, &all) {
		t.Fatalf("Load() = %v", err)
	}
	for _, want := range []string{
		"runners.image: it is not the name of an image", `runners.allow_egress: "10.1.2.3" is not a network`, `runners.dns: "dns.example.com" is not an address`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told in:\n%s", want, err)
		}
	}
	if len(all.Faults) != 3 {
		t.Errorf("%d faults, want 3", len(all.Faults))
	}
}
