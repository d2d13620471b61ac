package template

import (
	"strings"
	"testing"
	"time"
)

// World: pure. A template may ask for more than there is; it must end with a sentence.
func TestLimits(t *testing.T) {
	t.Parallel()
	limits := Limits{Source: 8 << 10, Output: 10_000, Work: 1 << 20, Time: 300 * time.Millisecond}
	for name, tc := range map[string]struct{ src, want string }{
		"too long":                     {strings.Repeat("x", 9<<10), "at most 8192 are allowed"},
		"too much output":              {"{% for i in range(2000) %}abcdefgh{% endfor %}", "renders to more than 10000 bytes"},
		"a repeated text":              {"{{ 'x' * 1000000000 }}", "makes more than"},
		"a repeated list":              {"{{ ([1] * 1000000000) | length }}", "makes more than"},
		"a doubled text":               {"{% set n = namespace(x='aaaaaaaa') %}{% for i in range(60) %}{% set n.x = n.x ~ n.x %}{% endfor %}", "makes more than"},
		"a doubled list":               {"{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}", "makes more than"},
		"a long range":                 {"{{ range(1000000000) | length }}", "range has more than 10000 numbers"},
		"loops in loops":               {"{% set r = range(9999) %}{% for a in r %}{% for b in r %}{% for c in r %}{% endfor %}{% endfor %}{% endfor %}", "takes longer than 300ms"},
		"a macro of itself":            {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "calls itself without end"},
		"a list in itself":             {"{% set l = [] %}{% set _ = l.append(l) %}{{ l }}", "puts a list into itself"},
		"a list in a list of itself":   {"{% set l = [] %}{% set _ = l.append({'a': [(l,)]}) %}", "puts a list into itself"},
		"a list that doubles":          {"{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x }}", " than "},
		"lists that double, compared":  {"{% set n = namespace(x=[1], y=[1]) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% set n.y = [n.y, n.y] %}{% endfor %}{{ n.x == n.y }}", "takes longer than 300ms"},
		"a list that doubles, as JSON": {"{% set n = namespace(x=['aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa']) %}{% for i in range(60) %}{% set n.x = [n.x, n.x] %}{% endfor %}{{ n.x | to_json }}", " than "},
		"a deep list":                  {"{% set n = namespace(x=[1]) %}{% for i in range(5000) %}{% set n.x = [n.x] %}{% endfor %}{{ n.x == n.x }}", "nested more than 100 deep"},
		"deep brackets":                {"{{ " + strings.Repeat("(", 60) + "1" + strings.Repeat(")", 60) + " }}", "nested more than"},
		"deep blocks":                  {strings.Repeat("{% if true %}", 60) + strings.Repeat("{% endif %}", 60), "nested more than"},
		"many signs":                   {"{{ " + strings.Repeat("-", 100) + "1 }}", "has more than 40 signs"},
		"a large power":                {"{{ 9 ** 99 }}", "a number that is too large"},
		"a large sum":                  {"{{ 9223372036854775807 + 1 }}", "a number that is too large"},
		"a large number":               {"{{ 99999999999999999999 }}", "a number that is too large"},
		"indent with much":             {"{{ 'a' | indent(100000000) }}", "indent is for 0 to 200 blanks"},
		"replace that grows":           {"{{ ('a' * 10000) | replace('a', 'b' * 10000) }}", "makes more than"},
		"join that grows":              {"{{ (['a' * 10000] * 1000) | join }}", "makes more than"},
		"no UTF-8":                     {"a\xff", "is not UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Render(tc.src, nil, limits)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Render() = %v, want %q", err, tc.want)
			}
		})
	}
}

// World: pure. The place of an error is where the author looks.
func TestErrorsHaveTheirPlace(t *testing.T) {
	t.Parallel()
	globals := map[string]any{"parameters": map[string]any{"workers": int64(2)}, "app": map[string]any{"version": "1"}}
	for src, want := range map[string]string{
		"a: 1\nb: {{ parameters.wokers }}\n":               "line 2: parameters.wokers is not defined (did you mean workers?)",
		"ü {{ ap.version }}":                               "line 1: ap is not defined (did you mean app?)",
		"\n\n{% if x %}\n{% endif %}":                      "line 3: x is not defined",
		"{{ app.version | uper }}":                         `line 1: the filter "uper" is not available (did you mean upper?)`,
		"{{ app.version is strng }}":                       `line 1: "strng" is no test that is known (did you mean string?)`,
		"{% fro x in [] %}":                                "line 1: {% fro %} is not known (did you mean for?)",
		"{% if true %}\n\n":                                "line 2: ends without {% endif %}",
		"{{ app.version }":                                 "line 1: has a } without its opening bracket",
		"{{ app.version\n\n":                               "line 1: {{ has no }}",
		"x\n{{ 1 + }}":                                     "line 2: needs a value here, and has the end of the tag",
		"{{ app.version + 1 }}":                            "line 1: cannot do text + a whole number (join text with ~)",
		"{% for a in 5 %}{% endfor %}":                     "line 1: goes over a whole number, which has no items",
		"{% set x.y = 1 %}":                                "line 1: sets x.y, but x is no namespace (write {% set x = namespace() %} first)",
		"{% macro m(a) %}{{ a }}{% endmacro %}\n{{ m() }}": "line 1: the argument a of m was not given",
		"{{ app.version.uper() }}":                         "line 1: app.version.uper is not defined: it is asked of text",
		"{{ app.version.encode() }}":                       "line 1: the method encode of text is not available (there are capitalize, count, endswith, find, isdigit, islower, isupper, join, lower, lstrip, removeprefix, removesuffix, replace, rsplit, rstrip, split, splitlines, startswith, strip, title, upper, zfill)",
		"{{ range }}":                                      "line 1: prints a function (call it: name(…))",
		"{% set x = 'a' if false %}":                       `line 1: is nothing: "… if …" is false and has no else`,
		"{{ 'x' ? }}":                                      `line 1: has a character that means nothing here: '?' (put text in quotes)`,
		"{{ app.version | default }} {{ app.version | replace(1) }}": "line 1: replace needs an argument: new",
	} {
		_, err := Render(src, globals, DefaultLimits())
		if err == nil || err.Error() != want {
			t.Errorf("Render(%q) = %v, want %s", src, err, want)
		}
	}
}
