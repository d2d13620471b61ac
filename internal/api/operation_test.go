package api

import (
	"flag"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"slipway.dev/slipway/contract"
	"slipway.dev/slipway/internal/slipway"
)

var update = flag.Bool("update", false, "write the generated files anew")

func described(item *huma.PathItem) map[string]*huma.Operation {
	all := map[string]*huma.Operation{
		http.MethodGet: item.Get, http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch, http.MethodDelete: item.Delete,
	}
	for m, op := range all {
		if op == nil {
			delete(all, m)
		}
	}
	return all
}

func service0() *service {
	s := &service{Dependencies: Dependencies{BundleBytes: 1, RequestBytes: 1}}
	s.build(http.NewServeMux())
	return s
}

// TestTheTableIsTheAPI stands in the pure world: what is in the table is served, what is
// served is in the table, and nothing is open but what says so.
func TestTheTableIsTheAPI(t *testing.T) {
	t.Parallel()
	served := map[string]bool{}
	for path, item := range service0().api.OpenAPI().Paths {
		for method, op := range described(item) {
			served[op.OperationID+" "+method+" "+path] = true
		}
	}
	seen := map[string]bool{}
	for _, o := range operations {
		for _, name := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(o.path, -1) {
			op := described(service0().api.OpenAPI().Paths[o.path])[o.method]
			if op != nil && !slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.In == "path" && p.Name == name[1] }) {
				t.Errorf("%s does not read {%s} of its path", o.id, name[1])
			}
		}
		if o.open == (o.role != "") || o.role != "" && !o.role.Valid() {
			t.Errorf("%s: role %q, open %v; want exactly one of them", o.id, o.role, o.open)
		}
		if o.status == 0 || o.summary == "" || o.tag == "" {
			t.Errorf("%s: its line of the table is not complete", o.id)
		}
		key := o.id + " " + o.method + " " + o.path
		if seen[o.id] {
			t.Errorf("%s stands twice in the table", o.id)
		}
		seen[o.id] = true
		if !served[key] {
			t.Errorf("%s is in the table and not served", key)
		}
		delete(served, key)
	}
	for key := range served {
		t.Errorf("%s is served and not in the table", key)
	}
	var open []string
	for _, o := range operations {
		if o.open {
			open = append(open, o.id)
		}
	}
	if diff := cmp.Diff([]string{"setup", "login"}, open); diff != "" {
		t.Errorf("what needs no credentials (-want +got):\n%s", diff)
	}
}

// readersMay are the operations that are no GET and that a Read-only user may call.
var readersMay = []string{"logout", "validate-application", "plan-application", "plan-restore", "check-drift", "change-user", "create-token", "revoke-token"}

// TestRolesAreHeld stands on a real SQLite database.
func TestRolesAreHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, o := range operations {
		if o.open {
			continue
		}
		path := strings.NewReplacer("{project}", "shop", "{environment}", "dev", "{secret}", "s", "{driver}", "d", "{version}", "1.0.0",
			"{application}", "1", "{revision}", "1", "{task}", "1", "{step}", "1", "{call}", "1", "{user}", "rex", "{token}", "1", "{location}", "l", "{backup}", "1", "{host}", "github.com", "{job}", "1").Replace(o.path)
		r := w.do(o.method, path, "", nil)
		if r.status != 401 || r.problem(t).Kind != string(slipway.Unauthenticated) || r.header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s without credentials = %d %s, want 401", o.id, r.status, r.body)
		}
		if o.method == get {
			continue
		}
		if slices.Contains(readersMay, o.id) != (o.role == slipway.ReadOnly) {
			t.Errorf("%s needs the role %s; the list of what readers may says otherwise", o.id, o.role)
		}
		if o.role == slipway.ReadOnly {
			continue
		}
		r = w.do(o.method, path, w.reader, nil)
		if r.status != 403 || r.problem(t).Kind != string(slipway.Forbidden) {
			t.Errorf("%s as Read-only = %d %s, want 403", o.id, r.status, r.body)
		}
	}
}

// TestTheDescriptionIsCommitted stands in the pure world; go test -update writes it.
func TestTheDescriptionIsCommitted(t *testing.T) {
	t.Parallel()
	got, err := Description()
	check(t, err)
	if *update {
		check(t, os.WriteFile("../../contract/openapi.yaml", got, 0o644))
		check(t, os.WriteFile("../../docs/reference/api.md", []byte(reference(service0().api.OpenAPI())), 0o644))
		return // what is embedded was read before
	}
	if diff := cmp.Diff(string(contract.OpenAPI), string(got)); diff != "" {
		t.Errorf("contract/openapi.yaml is not what the handlers are; run go test ./internal/api -run Description -update (-file +handlers):\n%s", diff)
	}
	page, err := os.ReadFile("../../docs/reference/api.md")
	check(t, err)
	if diff := cmp.Diff(string(page), reference(service0().api.OpenAPI())); diff != "" {
		t.Errorf("docs/reference/api.md is not what the handlers are; run go test ./internal/api -run Description -update (-file +handlers):\n%s", diff)
	}
}
