package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/wire"
)

// appManifest is the GitHub App that a connection needs: its webhook, what it may do, and
// which events it hears.
func appManifest(c slipway.Connection, webhook string) (wire.AppManifest, error) {
	server := cmp.Or(c.BaseURL, "https://github.com")
	api := "https://api.github.com"
	switch host := slipway.ForgeHost(c.BaseURL); {
	case host == slipway.GitHubHost:
	case strings.HasSuffix(host, ".ghe.com"):
		api = "https://api." + host
	default:
		api = c.BaseURL + "/api/v3"
	}
	raw, err := json.Marshal(map[string]any{
		"name":   "slipway-" + c.Name,
		"url":    strings.TrimSuffix(webhook, c.WebhookPath()),
		"public": false,
		"hook_attributes": map[string]any{
			"url":    webhook,
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
		return wire.AppManifest{}, fmt.Errorf("write the manifest of connection %s: %w", c.Name, err)
	}
	return wire.AppManifest{
		RegisterURL: server + "/organizations/ORGANIZATION/settings/apps/new", ConvertURL: api + "/app-manifests/CODE/conversions", Manifest: raw,
	}, nil
}
