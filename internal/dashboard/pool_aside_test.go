package dashboard

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"slipway.dev/slipway/internal/spec"
)

// table is a table of a file, in an order. One that is open takes keys that begin with x-.
type table struct {
	open    bool
	entries []entry
}

// entry is a key with its text, number, list of texts or table.
type entry struct {
	key   string
	value any
}

// of leads to a table by its name.
func of(key string, open bool, entries ...entry) entry { return entry{key, table{open, entries}} }

// anyPool is the file of a pool that the form shows.
func anyPool(t *rapid.T) table {
	some := func(entries ...entry) (out []entry) {
		for _, e := range entries {
			if rapid.Bool().Draw(t, e.key) {
				out = append(out, e)
			}
		}
		return out
	}
	actions := append([]entry{{"organization", "acme"}, {"credential", "github-runner-token"}, {"labels", []string{"slipway", "large"}[:rapid.IntRange(1, 2).Draw(t, "labels")]}, {"idle_seconds", 300}},
		some(entry{"jobs_credential", "jobs"}, entry{"base_url", "https://github.example.com"}, entry{"architecture", "arm64"}, entry{"node_name", "ci-1"}, entry{"priority", -3}, entry{"spare", 1})...)
	resources := some(of("requests", true, entry{"cpu", "500m"}, entry{"memory", "3Gi"}), of("limits", true, entry{"cpu", 8}, entry{"memory", "16Gi"}))
	service := append(some(entry{"size", "large"}, of("resources", true, resources...)), entry{"replicas", 4}, of("actions", true, actions...))
	return table{true, []entry{{"schema_version", 1}, {"name", "team-ci"}, of("services", false, of("runner", true, service...))}}
}

// scribe writes a file in one of the many ways that TOML has, and keeps where in it a
// comment or one more key may stand.
type scribe struct {
	*rapid.T
	parts    []string
	comments []int // before these parts, each of which is an end of a line
	keys     []keySpot
}

// keySpot is a place for a key, and what has to stand around it there.
type keySpot struct {
	at            int
	before, after string
}

func (s *scribe) write(parts ...string) { s.parts = append(s.parts, parts...) }

func (s *scribe) newline() {
	s.comments = append(s.comments, len(s.parts))
	s.write("\n")
}

func (s *scribe) spot(before, after string) {
	s.keys = append(s.keys, keySpot{len(s.parts), before, after})
}

// either is true now and then.
func (s *scribe) either(what string) bool { return rapid.Bool().Draw(s.T, what) }

// path is the name of a table, or what stands before a key of it.
func (s *scribe) path(keys []string) string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = rapid.SampledFrom([]string{k, k, strconv.Quote(k), "'" + k + "'", fmt.Sprintf(`"\u%04x%s"`, k[0], k[1:])}).Draw(s.T, "key")
	}
	return strings.Join(out, rapid.SampledFrom([]string{".", " . "}).Draw(s.T, "dot"))
}

// below is a path with one more key. It shares nothing with the path.
func below(path []string, key string) []string { return append(append([]string{}, path...), key) }

// lines writes the keys of a table below its header, and the tables that have their own.
func (s *scribe) lines(header []string, t table) {
	var later []entry
	s.dotted(header, nil, t, &later)
	for _, e := range later {
		path := below(header, e.key)
		s.write("[", s.path(path), "]")
		s.newline()
		s.lines(path, e.value.(table))
	}
}

// dotted writes lines of keys that begin with prefix. Tables that are to have a header come
// back, where that is allowed.
func (s *scribe) dotted(header, prefix []string, t table, later *[]entry) {
	free := func() {
		if t.open {
			at := ""
			if len(prefix) > 0 {
				at = s.path(prefix) + "."
			}
			s.spot(at, "\n")
		}
	}
	free()
	for _, e := range rapid.Permutation(t.entries).Draw(s.T, "order") {
		sub, isTable := e.value.(table)
		switch {
		case isTable && later != nil && s.either("header"):
			*later = append(*later, e)
			continue
		case isTable && s.either("dotted") && len(sub.entries) > 0:
			s.dotted(header, below(prefix, e.key), sub, nil)
		default:
			s.write(s.path(below(prefix, e.key)), " = ")
			s.value(e.value)
			s.newline()
		}
		free()
	}
}

func (s *scribe) value(v any) {
	switch v := v.(type) {
	case int:
		s.write(strconv.Itoa(v))
	case string:
		s.write(rapid.SampledFrom([]string{strconv.Quote(v), "'" + v + "'", "\"\"\"" + v + "\"\"\"", "'''\n" + v + "'''", "\"\"\"\\\n  " + v + "\"\"\"", fmt.Sprintf(`"\u%04x%s"`, v[0], v[1:])}).Draw(s.T, "text"))
	case []string:
		s.write("[")
		s.gap()
		for i, x := range v {
			s.value(x)
			if i < len(v)-1 || s.either("comma") {
				s.write(",")
			}
			s.gap()
		}
		s.write("]")
	case table:
		s.write("{")
		s.gap()
		s.inline(v)
		s.write("}")
	}
}

// gap is a space or some ends of lines.
func (s *scribe) gap() {
	s.write(" ")
	for range rapid.IntRange(0, 2).Draw(s.T, "lines") {
		s.newline()
	}
}

// inline writes what stands between braces.
func (s *scribe) inline(t table) {
	if t.open && len(t.entries) == 0 {
		s.keys = append(s.keys, keySpot{len(s.parts), "", ""})
	}
	for i, e := range rapid.Permutation(t.entries).Draw(s.T, "order") {
		if t.open {
			s.spot("", ", ")
		}
		key := []string{e.key}
		value := e.value
		if sub, ok := value.(table); ok && len(sub.entries) == 1 && s.either("dotted") {
			if sub.open {
				s.spot(s.path(key)+".", ", ")
			}
			key, value = below(key, sub.entries[0].key), sub.entries[0].value
		}
		s.write(s.path(key), " = ")
		s.value(value)
		s.gap()
		switch last := i == len(t.entries)-1; {
		case last && t.open && s.either("comma"):
			s.write(",")
			s.spot("", ",")
		case last && t.open:
			s.spot(", ", "")
		case !last:
			s.write(",")
		}
		s.gap()
	}
}

// TestPoolFormKeepsComments stands in the pure world: however a pool's file is written, and
// wherever somebody put a comment or a key of their own in, the form says that it would lose
// it, and of nothing else.
func TestPoolFormKeepsComments(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := &scribe{T: t}
		s.newline()
		s.lines(nil, anyPool(t))
		put := map[int]string{}
		want := ""
		comment := rapid.Bool().Draw(t, "comment")
		if comment {
			at := rapid.SampledFrom(s.comments).Draw(t, "at")
			put[at] += rapid.SampledFrom([]string{"#", "\n\t# ", " # "}).Draw(t, "sign") + rapid.SampledFrom([]string{"", "why", "x-owner = 1", `"`, "'''", `\`, "]", "}", "#", "[x-owner]", "größer"}).Draw(t, "says")
			want = "comments"
		}
		if rapid.Bool().Draw(t, "key") {
			spot := rapid.SampledFrom(s.keys).Draw(t, "spot")
			key := rapid.SampledFrom([]string{"x-owner", "x-", `"x-owner"`, "'x-a.b # c'", `"\u0078-owner"`, "x-owner.name", `x-owner . "the # name"`}).Draw(t, "x-key")
			value := rapid.SampledFrom([]string{"1", `"ada"`, `"# no"`, `"n\\"`, `"\" # no"`, "'# no \\'", "\"\"\"a\n# no\"\"\"", "'''\n# no'''", `["# no"]`, `{ a = "# no" }`, "1979-05-27", "true"}).Draw(t, "x-value")
			put[spot.at] += spot.before + key + " = " + value + spot.after
			if want = "keys that begin with x-"; comment {
				want = "comments and keys that begin with x-"
			}
		}
		var b strings.Builder
		for i, part := range s.parts {
			b.WriteString(put[i] + part)
		}
		b.WriteString(put[len(s.parts)])
		source := rapid.SampledFrom([]string{"", "\ufeff"}).Draw(t, "mark") + b.String()
		if rapid.Bool().Draw(t, "carriage returns") {
			source = strings.ReplaceAll(source, "\n", "\r\n")
		}
		read, err := spec.ParseApplication([]byte(source), "")
		if err != nil {
			t.Fatalf("the file is wrong: %v\n%s", err, source)
		}
		if again, err := spec.ParseApplication([]byte(poolFormOf(read).TOML()), ""); err != nil || !cmp.Equal(again, read) {
			t.Fatalf("the form does not show it: %v\n%s\n%s", err, cmp.Diff(again, read), source)
		}
		if got := beyondForm(source); got != want {
			t.Fatalf("the form would lose %q, and says %q:\n%s", want, got, source)
		}
	})
}
