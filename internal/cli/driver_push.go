package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"slipway.dev/slipway/internal/outside/helm"
	"slipway.dev/slipway/internal/outside/registry"
	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/spec"
)

// pushed is what a push prints for programs.
type pushed struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Digest    string `json:"digest"`    // of the driver, as a server knows it
	Reference string `json:"reference"` // with the digest of its manifest
	Size      int64  `json:"size"`
	Known     bool   `json:"known"`
	Signed    bool   `json:"signed"`
}

func (s *session) driverPushCommand() *cobra.Command {
	var rf registryFlags
	var force, charts bool
	var signKey string
	c := &cobra.Command{
		Use: "push DIRECTORY REFERENCE", Short: "Push a driver to a registry", Args: args(2, 2),
		Long: `Pack a driver's directory and push it to an OCI registry, as an artifact whose
configuration is the driver's specification. REFERENCE is
oci://registry/path/name, with the driver's own version as its tag, or with a
tag such as latest.

A tag that is a version must be the driver's, and never changes its content,
--force or not. Any other tag moves with --force. Pushing the same content again
is harmless: packed twice, a driver has the same digest.

--with-charts packs the charts that the driver names by reference beside it, so
that a server that reaches no other registry can deploy it.

--sign-key signs as cosign does (ECDSA P-256, under the tag sha256-….sig).

Credentials are those of docker login, or --username with --password-stdin.`,
		Example: `  slipway driver push ./guestbook oci://registry.example.com/drivers/guestbook
  slipway driver push ./guestbook oci://registry.example.com/drivers/guestbook:latest --force`,
		RunE: func(c *cobra.Command, a []string) error {
			to, err := registry.ParseReference(a[1])
			if err != nil {
				return err
			}
			in := registry.PushRequest{To: to, Force: force}
			if in.Bundle, err = spec.ReadBundleDir(a[0]); err != nil {
				return err
			}
			if signKey != "" {
				if in.Key, err = registry.ReadSigningKey(signKey); err != nil {
					return err
				}
			}
			if charts {
				if in.Bundle, err = s.withCharts(c.Context(), in.Bundle); err != nil {
					return err
				}
			}
			w := s.wait("pushing " + to.String())
			p, err := s.push(c.Context(), rf, w, in)
			w.end()
			if err != nil {
				return err
			}
			out := pushed{p.Driver.Name, p.Driver.Version, p.Identity, p.Reference.String(), p.Size, p.Known, p.Signed}
			return s.show(out, func() {
				note := ""
				if p.Known {
					note = "  (it was there already)"
				}
				s.print("%s %s  %s  %s%s", p.Driver.Name, p.Driver.Version, shortDigest(p.Identity), p.Reference, note)
				for _, ch := range in.Bundle.Charts() {
					s.print("  with the chart %s %s", ch.Location, ch.Version)
				}
				if p.Signed {
					s.print("  signed with the key of %s", signKey)
				}
			})
		},
	}
	rf.add(c)
	c.Flags().BoolVar(&force, "force", false, "move a tag that is no version and points to something else")
	c.Flags().BoolVar(&charts, "with-charts", false, "pack the charts that the driver names by reference beside it")
	c.Flags().StringVar(&signKey, "sign-key", "", "sign with the private key in this file")
	return c
}

func (s *session) push(ctx context.Context, rf registryFlags, w *waiting, in registry.PushRequest) (registry.Pushed, error) {
	cl, err := s.registry(rf, w)
	if err != nil {
		return registry.Pushed{}, err
	}
	return cl.Push(ctx, in)
}

// withCharts fetches the charts that a driver names by reference.
func (s *session) withCharts(ctx context.Context, b spec.Bundle) (spec.Bundle, error) {
	ds, _, err := spec.ParseDriver(b)
	if err != nil {
		return spec.Bundle{}, err
	}
	refs, err := chartRefs(ds)
	if err != nil {
		return spec.Bundle{}, err
	}
	config := ""
	if home := s.getenv("HOME"); home != "" {
		config = filepath.Join(home, ".docker", "config.json")
	}
	if dir := s.getenv("DOCKER_CONFIG"); dir != "" {
		config = filepath.Join(dir, "config.json")
	}
	charts := helm.New(nil, helm.Options{RegistryConfig: config})
	var carried []spec.CarriedChart
	for _, ref := range refs {
		w := s.wait(strings.TrimSpace("pulling the chart " + ref.Location + " " + ref.Version))
		packed, manifest, err := charts.Packed(ctx, ref)
		w.end()
		if err != nil {
			return spec.Bundle{}, err
		}
		carried = append(carried, spec.CarriedChart{Location: ref.Location, Version: ref.Version, Packed: packed, Manifest: manifest})
	}
	out, err := b.WithCharts(carried)
	if err != nil {
		return spec.Bundle{}, fmt.Errorf("carry the driver's charts: %w", err)
	}
	return out, nil
}

// chartRefs lists the charts that a driver names by reference, each once.
func chartRefs(d slipway.DriverSpec) ([]slipway.ChartRef, error) {
	if spec.LocalChart(d.Chart.Location) {
		return nil, usagef("the driver's chart is in its directory already").hint("leave --with-charts out")
	}
	refs := []slipway.ChartRef{{Location: d.Chart.Location, Version: d.Chart.Version, Digest: d.Chart.Digest}}
	if len(d.Chart.Versions) > 0 {
		refs = nil
	}
	for _, v := range d.Chart.Versions {
		ref := slipway.ChartRef{Location: d.Chart.Location, Version: v.Chart, Digest: v.Digest}
		if !slices.ContainsFunc(refs, func(r slipway.ChartRef) bool { return r.CarriedAt() == ref.CarriedAt() }) {
			refs = append(refs, ref)
		}
	}
	return refs, nil
}
