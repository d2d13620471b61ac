package spec

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/pelletier/go-toml/v2"

	"slipway.dev/slipway/internal/slipway"
)

// Canonical writes a spec in its one form: JSON with sorted keys, without what says
// nothing. Two specs that ask for the same have the same bytes.
func Canonical(s slipway.ApplicationSpec) []byte {
	b, err := marshal(tidy(s))
	if err != nil {
		// ParseApplication lets in nothing that JSON cannot hold.
		panic(fmt.Sprintf("write the spec of %s: %v", s.Name, err))
	}
	return b
}

// DecodeCanonical reads what Canonical wrote. Whole numbers come back as int64, as
// ParseApplication makes them.
func DecodeCanonical(b []byte) (slipway.ApplicationSpec, error) {
	var s slipway.ApplicationSpec
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("read a stored spec: %w", err)
	}
	return tidy(s), nil
}

// FormatApplication writes a spec as TOML, for people to edit.
func FormatApplication(s slipway.ApplicationSpec) ([]byte, error) {
	type component struct {
		Image    string            `toml:"image,omitempty"`
		Replicas *int              `toml:"replicas,omitempty"`
		Env      map[string]string `toml:"env,omitempty"`
		Secrets  map[string]string `toml:"secrets,omitempty"`
	}
	type backup struct {
		Location      string `toml:"location"`
		Schedule      string `toml:"schedule,omitempty"`
		TimeZone      string `toml:"time_zone,omitempty"`
		KeepLast      int    `toml:"keep_last,omitempty"`
		KeepDays      int    `toml:"keep_days,omitempty"`
		BeforeUpgrade bool   `toml:"before_upgrade,omitempty"`
	}
	if s.Kind() == slipway.RunnerApplication {
		b, err := toml.Marshal(runnerForm(s))
		if err != nil {
			return nil, fmt.Errorf("write %s as TOML: %w", s.Name, err)
		}
		return b, nil
	}
	out := struct {
		SchemaVersion int    `toml:"schema_version"`
		Name          string `toml:"name"`
		Driver        struct {
			Name    string `toml:"name"`
			Version string `toml:"version"`
		} `toml:"driver"`
		App struct {
			Version string `toml:"version"`
		} `toml:"app"`
		Parameters map[string]any       `toml:"parameters,omitempty"`
		Components map[string]component `toml:"components,omitempty"`
		Backup     *backup              `toml:"backup,omitempty"`
	}{SchemaVersion: s.SchemaVersion, Name: s.Name, Parameters: s.Parameters, Components: map[string]component{}}
	out.Driver.Name, out.Driver.Version, out.App.Version = s.Driver.Name, s.Driver.Version, s.App.Version
	for name, c := range s.Components {
		out.Components[name] = component(c)
	}
	if s.Backup != nil {
		b := backup(*s.Backup)
		out.Backup = &b
	}
	b, err := toml.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write %s as TOML: %w", s.Name, err)
	}
	return b, nil
}

// tidy returns a copy of s without empty maps, and with numbers in their one form.
func tidy(s slipway.ApplicationSpec) slipway.ApplicationSpec {
	if len(s.Parameters) == 0 {
		s.Parameters = nil
	} else {
		s.Parameters = normalTable(copyTable(s.Parameters))
	}
	components := make(map[string]slipway.ComponentConfig, len(s.Components))
	for name, c := range s.Components {
		c.Env, c.Secrets = emptyIsNil(c.Env), emptyIsNil(c.Secrets)
		components[name] = c
	}
	s.Components = components
	if len(components) == 0 {
		s.Components = nil
	}
	if len(s.Services) == 0 {
		s.Services = nil
	}
	return s
}

func copyTable(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = deepCopy(v)
	}
	return out
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case map[string]any:
		return copyTable(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = deepCopy(e)
		}
		return out
	}
	return v
}
