package slipway

import (
	"maps"
	"slices"
	"testing"
)

func TestSecretNames(t *testing.T) {
	t.Parallel()
	s := ApplicationSpec{
		Components: map[string]ComponentConfig{"web": {Secrets: map[string]string{"DATABASE_URL": "db"}}, "worker": {Secrets: map[string]string{"URL": "db", "KEY": "key"}}},
		Parameters: map[string]any{
			"password": map[string]any{"secret": "root"},
			"other":    map[string]any{"secret": "no reference", "and": "more"},
			"nested":   map[string]any{"inner": map[string]any{"secret": "no reference either"}},
			"plain":    "db-password",
		},
		Services: map[string]RunnerService{"runner": {Actions: RunnerActions{Credential: "github"}}, "other": {Actions: RunnerActions{Credential: "github", JobsCredential: "jobs"}}},
	}
	got := slices.Sorted(maps.Keys(s.SecretNames()))
	if want := []string{"db", "github", "jobs", "key", "root"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
