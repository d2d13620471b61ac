package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"slipway.dev/slipway/internal/slipway"
)

// DiffLine is one difference between two specs. An empty Old means that the path is new,
// an empty New that it is gone; an empty text is written as "".
type DiffLine struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
}

// masked stands for a text that is better not shown.
const masked = "••••••"

// Diff lists, sorted by path, what differs between two specs. Give the zero spec as old
// for an application that is new. Secrets are names and shown as such; a plain text whose
// key sounds like a secret is masked, because people do put them there.
func Diff(old, new slipway.ApplicationSpec) []DiffLine {
	before, after := flatten(old), flatten(new)
	paths := maps.Clone(before)
	maps.Copy(paths, after)
	var out []DiffLine
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if before[path] == after[path] {
			continue
		}
		line := DiffLine{Path: path, Old: before[path], New: after[path]}
		if secretName.MatchString(path[strings.LastIndex(path, ".")+1:]) && !strings.Contains(path, ".secrets.") {
			line.Old, line.New = mask(line.Old), mask(line.New)
		}
		out = append(out, line)
	}
	return out
}

var secretName = regexp.MustCompile(`(?i)(pass(word|wd)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential)`)

func mask(s string) string {
	if s == "" || strings.HasPrefix(s, "secret ") {
		return s
	}
	return masked
}

// flatten turns a spec into texts by path.
func flatten(s slipway.ApplicationSpec) map[string]string {
	out := map[string]string{}
	put := func(path, text string) {
		if text != "" {
			out[path] = text
		}
	}
	put("driver.name", s.Driver.Name)
	put("driver.version", s.Driver.Version)
	put("app.version", s.App.Version)
	for name, v := range s.Parameters {
		flattenValue(out, join("parameters", name), v)
	}
	for name, c := range s.Components {
		path := join("components", name)
		put(path+".image", c.Image)
		if c.Replicas != nil {
			put(path+".replicas", strconv.Itoa(*c.Replicas))
		}
		for k, v := range c.Env {
			flattenValue(out, join(path+".env", k), v)
		}
		for k, v := range c.Secrets {
			put(join(path+".secrets", k), "secret "+v)
		}
	}
	if b := s.Backup; b != nil {
		put("backup.location", b.Location)
		put("backup.schedule", b.Schedule)
		put("backup.time_zone", b.TimeZone)
		for path, n := range map[string]int{"backup.keep_last": b.KeepLast, "backup.keep_days": b.KeepDays} {
			if n > 0 {
				put(path, strconv.Itoa(n))
			}
		}
		if b.BeforeUpgrade {
			put("backup.before_upgrade", "true")
		}
	}
	for name, service := range s.Services {
		flattenService(put, join("services", name), service)
	}
	return out
}

func flattenValue(out map[string]string, path string, v any) {
	if name, ok := slipway.SecretParameter(v); ok {
		out[path] = "secret " + name
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			out[path] = "{}"
		}
		for k, e := range v {
			flattenValue(out, join(path, k), e)
		}
	case []any:
		if len(v) == 0 {
			out[path] = "[]"
		}
		for i, e := range v {
			flattenValue(out, item(path, i), e)
		}
	case string:
		if v == "" || strings.ContainsAny(v, "\n\t\"") || strings.TrimSpace(v) != v {
			out[path] = strconv.Quote(v)
			return
		}
		out[path] = v
	case nil:
		out[path] = "null"
	default:
		out[path] = fmt.Sprint(normalNumbers(v))
	}
}
