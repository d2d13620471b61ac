package change

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// AppManifest is what GitHub makes an App from (its "manifest flow").
type AppManifest struct {
	RegisterURL string // where a browser posts the manifest to
	ConvertURL  string // where CODE is exchanged
	Manifest    json.RawMessage
}

// maxAppName is the longest name that GitHub takes for an App.
const maxAppName = 34

// ManifestOf is the GitHub App that a connection needs: its webhook, what it may do, which
// events it hears, and where its maker's browser comes back to. Base is our own address.
func ManifestOf(c slipway.Connection, base, organization string) (AppManifest, error) {
	server, api := cmp.Or(c.BaseURL, "https://github.com"), "https://api.github.com"
	switch host := slipway.ForgeHost(c.BaseURL); {
	case host == slipway.GitHubHost:
	case strings.HasSuffix(host, ".ghe.com"):
		api = "https://api." + host
	default:
		api = c.BaseURL + "/api/v3"
	}
	name := "slipway-" + c.Name
	base = strings.TrimSuffix(base, "/")
	raw, err := json.Marshal(map[string]any{
		"name":         strings.TrimSuffix(name[:min(len(name), maxAppName)], "-"),
		"url":          base,
		"redirect_url": base + "/connections/" + c.Name + "/app/made",
		"public":       false,
		"hook_attributes": map[string]any{
			"url":    base + c.WebhookPath(),
			"active": true,
		},
		"default_events": []string{"workflow_job", "workflow_run"},
		"default_permissions": map[string]string{
			"metadata": "read",
			"actions":  "write", // jobs and logs are read, and what failed for our fault is run again
			// Runners of an organization, and of a repository.
			"organization_self_hosted_runners": "write",
			"administration":                   "write",
		},
	})
	if err != nil {
		return AppManifest{}, fmt.Errorf("write the manifest of connection %s: %w", c.Name, err)
	}
	return AppManifest{
		RegisterURL: server + "/organizations/" + url.PathEscape(organization) + "/settings/apps/new", ConvertURL: api + "/app-manifests/CODE/conversions", Manifest: raw,
	}, nil
}
