package forgetest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Description checks requests and responses against what a forge says of its API: an
// OpenAPI document, of 3.0 or 3.1.
type Description struct {
	doc    map[string]any
	prefix string
	paths  []described

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
	seen     map[string]int // "GET /orgs/{org}/actions/runners" → how often it was used
}

type described struct {
	template string
	form     *regexp.Regexp
	names    []string
}

// Describe reads a description: a packed JSON file, or a plain one. Its paths are below the
// prefix on the server.
func Describe(t testing.TB, file, prefix string) *Description {
	t.Helper()
	doc, err := published(file)
	if err != nil {
		t.Fatal(err)
	}
	d := &Description{doc: doc, prefix: prefix, compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}, seen: map[string]int{}}
	if err := d.compiler.AddResource("openapi.json", doc); err != nil {
		t.Fatal(err)
	}
	variable := regexp.MustCompile(`\{([^}]+)\}`)
	for template := range asMap(doc["paths"]) {
		x := described{template: template}
		for _, m := range variable.FindAllStringSubmatch(template, -1) {
			x.names = append(x.names, m[1])
		}
		x.form = regexp.MustCompile("^" + variable.ReplaceAllString(template, "([^/]+)") + "$")
		d.paths = append(d.paths, x)
	}
	// A path without a variable comes before one with it.
	slices.SortFunc(d.paths, func(a, b described) int { return len(a.names) - len(b.names) })
	return d
}

func published(file string) (map[string]any, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	in := io.Reader(bytes.NewReader(raw))
	if strings.HasSuffix(file, ".gz") {
		if in, err = gzip.NewReader(in); err != nil {
			return nil, err
		}
	}
	doc, err := jsonschema.UnmarshalJSON(in)
	if err != nil {
		return nil, err
	}
	return asMap(nullable(doc)), nil
}

// Used lists the operations that were asked for, as GET /path/{id}.
func (d *Description) Used() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.seen))
}

// nullable writes OpenAPI 3.0's "nullable" as JSON Schema does.
func nullable(x any) any {
	switch x := x.(type) {
	case []any:
		for i := range x {
			x[i] = nullable(x[i])
		}
		return x
	case map[string]any:
		for k := range x {
			x[k] = nullable(x[k])
		}
		if x["nullable"] != true {
			return x
		}
		delete(x, "nullable")
		if kind, ok := x["type"].(string); ok {
			x["type"] = []any{kind, "null"}
			if e, ok := x["enum"].([]any); ok && !slices.Contains(e, nil) {
				x["enum"] = append(e, nil)
			}
			return x
		}
		return map[string]any{"anyOf": []any{x, map[string]any{"type": "null"}}}
	}
	return x
}

func asMap(x any) map[string]any {
	m, _ := x.(map[string]any)
	return m
}

// at follows a pointer such as #/components/parameters/org.
func (d *Description) at(x any) (any, string) {
	place := ""
	for {
		ref, ok := asMap(x)["$ref"].(string)
		if !ok {
			return x, place
		}
		place = ref
		x = d.doc
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			x = asMap(x)[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		}
	}
}

// operation finds what a request asks for.
func (d *Description) operation(method, path string) (op map[string]any, name string, values map[string]string, err error) {
	for _, p := range d.paths {
		m := p.form.FindStringSubmatch(path)
		if m == nil {
			continue
		}
		op = asMap(asMap(asMap(d.doc["paths"])[p.template])[strings.ToLower(method)])
		if op == nil {
			continue
		}
		values = map[string]string{}
		for i, n := range p.names {
			if values[n], err = url.PathUnescape(m[i+1]); err != nil {
				return nil, "", nil, err
			}
		}
		return op, method + " " + p.template, values, nil
	}
	return nil, "", nil, fmt.Errorf("the forge describes no %s %s", method, path)
}

// validate checks a value against the schema at a place of the document.
func (d *Description) validate(place string, v any) error {
	d.mu.Lock()
	s := d.schemas[place]
	if s == nil {
		var err error
		if s, err = d.compiler.Compile("openapi.json" + place); err != nil {
			d.mu.Unlock()
			return fmt.Errorf("compile %s: %w", place, err)
		}
		d.schemas[place] = s
	}
	d.mu.Unlock()
	return s.Validate(v)
}

func pointer(parts ...string) string {
	out := "#"
	for _, p := range parts {
		out += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	return out
}

// Request checks a request.
func (d *Description) Request(r *http.Request, body []byte) error {
	path := strings.TrimPrefix(r.URL.EscapedPath(), d.prefix)
	op, name, values, err := d.operation(r.Method, path)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.seen[name]++
	d.mu.Unlock()
	_, template, _ := strings.Cut(name, " ")
	here := []string{"paths", template, strings.ToLower(r.Method)}
	known := map[string]bool{}
	params, _ := op["parameters"].([]any)
	for i, p := range params {
		resolved, ref := d.at(p)
		m := asMap(resolved)
		place := pointer(append(here, "parameters", strconv.Itoa(i), "schema")...)
		if ref != "" {
			place = ref + "/schema"
		}
		key, _ := m["name"].(string)
		var given string
		var has bool
		switch m["in"] {
		case "path":
			given, has = values[key]
		case "query":
			known[key] = true
			given, has = r.URL.Query().Get(key), r.URL.Query().Has(key)
		}
		if !has {
			if m["required"] == true {
				return fmt.Errorf("%s lacks %s", name, key)
			}
			continue
		}
		if err := d.validate(place, typed(asMap(m["schema"]), given)); err != nil {
			return fmt.Errorf("%s: %s=%s: %w", name, key, given, err)
		}
	}
	for key := range r.URL.Query() {
		if !known[key] {
			return fmt.Errorf("%s has no parameter %s", name, key)
		}
	}
	return d.body(name, here, op, body)
}

func (d *Description) body(name string, here []string, op map[string]any, body []byte) error {
	described := asMap(op["requestBody"])
	switch {
	case described == nil && len(bytes.TrimSpace(body)) > 0 && string(bytes.TrimSpace(body)) != "null":
		return fmt.Errorf("%s takes no body, and was sent %s", name, body)
	case described == nil:
		return nil
	case len(body) == 0:
		if described["required"] == true {
			return fmt.Errorf("%s lacks its body", name)
		}
		return nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s was sent no JSON: %w", name, err)
	}
	place := append(slices.Clone(here), "requestBody", "content", "application/json", "schema")
	if err := d.validate(pointer(place...), v); err != nil {
		return fmt.Errorf("%s: its body: %w", name, err)
	}
	// What a schema does not name it lets pass; we send nothing that it does not name.
	schema, _ := d.at(asMap(asMap(asMap(described["content"])["application/json"])["schema"]))
	for key := range asMap(v) {
		if _, ok := asMap(asMap(schema)["properties"])[key]; !ok {
			return fmt.Errorf("%s: its body has no %s", name, key)
		}
	}
	return nil
}

// typed reads a parameter as the type that its schema names.
func typed(schema map[string]any, s string) any {
	switch schema["type"] {
	case "integer", "number":
		return json.Number(s)
	case "boolean":
		return s == "true"
	}
	return s
}

// undescribed are the refusals that forges make everywhere, and describe in prose alone.
var undescribed = []int{401, 403, 404, 409, 422, 429, 500, 502, 503}

// Response checks a response, after it was completed with what its schema requires.
func (d *Description) Response(r *http.Request, code int, raw []byte) ([]byte, error) {
	op, name, _, err := d.operation(r.Method, strings.TrimPrefix(r.URL.EscapedPath(), d.prefix))
	if err != nil {
		return nil, err
	}
	_, template, _ := strings.Cut(name, " ")
	answer, ref := d.at(asMap(op["responses"])[strconv.Itoa(code)])
	if answer == nil {
		// That nothing has changed is described in prose alone, and is no answer to who did not ask.
		if slices.Contains(undescribed, code) || code == http.StatusNotModified && r.Header.Get("If-None-Match") != "" && len(raw) == 0 {
			return raw, nil
		}
		return nil, fmt.Errorf("%s does not answer with %d", name, code)
	}
	content := asMap(asMap(asMap(answer)["content"])["application/json"])
	if content["schema"] == nil {
		if len(raw) > 0 && code < http.StatusBadRequest { // refusals have words of their own
			return nil, fmt.Errorf("%s answers %d without a body, and there is %s", name, code, raw)
		}
		return raw, nil
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("%s answered %d without JSON: %w", name, code, err)
	}
	v = d.complete(content["schema"], v, 0)
	base := pointer("paths", template, strings.ToLower(r.Method), "responses", strconv.Itoa(code))
	if ref != "" {
		base = ref
	}
	if err := d.validate(base+"/content/application~1json/schema", v); err != nil {
		return nil, fmt.Errorf("%s: its answer %d: %w", name, code, err)
	}
	return json.Marshal(v)
}

// complete adds to a value what its schema requires, as plain as can be, so that the client
// reads the whole of what the forge sends and not only what the fake knows.
func (d *Description) complete(schema, have any, depth int) any {
	resolved, _ := d.at(schema)
	s := asMap(resolved)
	if all, ok := s["allOf"].([]any); ok {
		for _, part := range all {
			have = d.complete(part, have, depth+1)
		}
		return have
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if some, ok := s[key].([]any); ok {
			return d.complete(some[0], have, depth+1)
		}
	}
	if list, ok := have.([]any); ok {
		for i := range list {
			list[i] = d.complete(s["items"], list[i], depth+1)
		}
		return list
	}
	m, isMap := have.(map[string]any)
	if !isMap {
		return have
	}
	properties := asMap(s["properties"])
	for key, v := range m {
		if p, ok := properties[key]; ok {
			m[key] = d.complete(p, v, depth+1)
		}
	}
	required, _ := s["required"].([]any)
	for _, key := range required {
		if name, _ := key.(string); m[name] == nil {
			if _, there := m[name]; !there {
				m[name] = d.plain(properties[name], depth+1)
			}
		}
	}
	return m
}

// plain makes the plainest value that a schema takes.
func (d *Description) plain(schema any, depth int) any {
	resolved, _ := d.at(schema)
	s := asMap(resolved)
	if all, ok := s["allOf"].([]any); ok {
		return d.complete(s, d.plain(all[0], depth+1), depth)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if some, ok := s[key].([]any); ok {
			for _, one := range some {
				if asMap(one)["type"] == "null" {
					return nil
				}
			}
			return d.plain(some[0], depth+1)
		}
	}
	if e, ok := s["enum"].([]any); ok {
		return e[0]
	}
	kind, _ := s["type"].(string)
	if _, ok := s["type"].([]any); ok {
		return nil // one of its types is null
	}
	switch {
	case kind == "string" && s["format"] == "date-time":
		return "2026-01-02T03:04:05Z"
	case kind == "string" && s["format"] == "uri":
		return "https://example.com/plain"
	case kind == "string":
		return "plain"
	case kind == "integer", kind == "number":
		return json.Number("1")
	case kind == "boolean":
		return false
	case kind == "array":
		return []any{}
	}
	return d.complete(s, map[string]any{}, depth)
}

// Checking is a transport that lets nothing pass that the forge would not describe.
type Checking struct {
	T     testing.TB
	D     *Description
	Next  http.RoundTripper
	Quiet bool // faults are returned, and fail no test
}

func (c *Checking) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(r.URL.Path, c.D.prefix) {
		return c.Next.RoundTrip(r)
	}
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	if err := c.fault(c.D.Request(r, body)); err != nil {
		return nil, err
	}
	res, err := c.Next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if err := res.Body.Close(); err != nil {
		return nil, err
	}
	whole, err := c.D.Response(r, res.StatusCode, raw)
	if err := c.fault(err); err != nil {
		return nil, err
	}
	res.Body, res.ContentLength = io.NopCloser(bytes.NewReader(whole)), int64(len(whole))
	res.Header.Del("Content-Length")
	return res, nil
}

func (c *Checking) fault(err error) error {
	if err != nil && !c.Quiet {
		c.T.Error(err)
	}
	return err
}
