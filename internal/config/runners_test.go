package config

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

// World: pure.
func TestRunnersAreChecked(t *testing.T) {
	t.Parallel()
	_, err := Load(write(t, `
[runners]
image = "runner 1"
allow_egress = ["10.0.0.0/8", "10.1.2.3", "ghes"]
dns = ["169.254.20.10", "dns.example.com"]
`), []string{"HOME=/home/me"}, nil)
	var all *Error
	if !errors.As(err, &all) {
		t.Fatalf("Load() = %v", err)
	}
	for _, want := range []string{
		`runners.image: "runner 1" is no name of an image`, `runners.allow_egress: "ghes" is not a network`, `runners.dns: "dns.example.com" is not an address`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not told in:\n%s", want, err)
		}
	}
	if len(all.Faults) != 3 {
		t.Errorf("%d faults, want 3", len(all.Faults))
	}
}

// The images of runners run other people's jobs: their defaults are pinned, and one that is
// not is spoken of. World: pure.
func TestImagesOfRunnersArePinned(t *testing.T) {
	t.Parallel()
	c, err := Load("", []string{"HOME=/home/me"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`^[a-z0-9.]+/[a-z0-9/-]+:[A-Za-z0-9.-]+@sha256:[0-9a-f]{64}$`)
	for _, image := range []string{c.Runners.Image, c.Runners.DockerImage, c.Runners.GitLabImage, c.Runners.GitLabJobImage} {
		if !pinned.MatchString(image) {
			t.Errorf("the default %q is not pinned by its digest", image)
		}
	}
	c, err = Load("", []string{"HOME=/home/me", "SLIPWAY_RUNNERS_IMAGE=registry.example.com/runner:1"}, nil)
	if err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "runners.image has no digest") {
		t.Errorf("warnings %q, %v", c.Warnings, err)
	}
}
