package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Key describes one setting: its name in the file, and how it is called elsewhere.
type Key struct {
	Name    string // tls.cert_file
	Env     string // SLIPWAY_TLS_CERT_FILE
	Flag    string // tls-cert-file
	Default string
	Doc     string
	OneOf   []string // the only values allowed, when there is such a list
	Bool    bool     // the flag needs no value
	List    bool     // several values, separated by commas in the environment and flags

	min, max string
	index    []int // of the field in Config
}

// Keys lists every setting in the order of Config, for flags, reference pages and
// completion.
func Keys() []Key { return keysOf(reflect.TypeFor[Config](), "", nil) }

func keysOf(t reflect.Type, prefix string, index []int) []Key {
	var keys []Key
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("key")
		if name == "-" {
			continue
		}
		at := append(append([]int(nil), index...), i)
		if f.Type.Kind() == reflect.Struct {
			keys = append(keys, keysOf(f.Type, prefix+name+".", at)...)
			continue
		}
		name = prefix + name
		k := Key{
			Name: name, Default: f.Tag.Get("default"), Doc: f.Tag.Get("doc"),
			Env:  "SLIPWAY_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_")),
			Flag: strings.NewReplacer(".", "-", "_", "-").Replace(name),
			Bool: f.Type.Kind() == reflect.Bool, List: f.Type.Kind() == reflect.Slice,
			OneOf: strings.Fields(f.Tag.Get("one")),
			min:   f.Tag.Get("min"), max: f.Tag.Get("max"), index: at,
		}
		if f.Type == reflect.TypeFor[Role]() {
			k.OneOf = []string{string(RoleAll), string(RoleAPI), string(RoleWorker)}
		}
		if env := f.Tag.Get("env"); env != "" {
			// The command line's own SLIPWAY_URL names the server to talk to. A shell that
			// has it set must not change what a server started there calls itself.
			k.Env = env
		}
		keys = append(keys, k)
	}
	return keys
}

func (k Key) field(c *Config) reflect.Value { return reflect.ValueOf(c).Elem().FieldByIndex(k.index) }

// Value writes what c has for the key, without a password, for slipway config check.
func (k Key) Value(c Config) string {
	v := k.field(&c)
	if list, ok := v.Interface().([]string); ok {
		return strings.Join(list, ",")
	}
	return fmt.Sprint(v.Interface())
}

// suggest returns the known name that is nearest to a misspelt one, or "".
func suggest(wrong string, known []string) string {
	best, at := "", 1+len(wrong)/3
	for _, k := range known {
		if d := distance(wrong, k); d <= at {
			best, at = k, d-1
		}
	}
	return best
}

// distance counts the letters to insert, drop or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
