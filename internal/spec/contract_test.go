package spec

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"slipway.dev/slipway/contract"
)

func compileContract(t testing.TB, src []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(src))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("contract.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("contract.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// asJSON brings a node through JSON, as any other reader of the schema would see it.
func asJSON(t testing.TB, n *node) any {
	t.Helper()
	b, err := json.Marshal(n.plain())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func examples(t testing.TB, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := fs.WalkDir(contract.Examples, path.Join("examples", dir), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		out[strings.TrimPrefix(p, path.Join("examples", dir)+"/")], err = contract.Examples.ReadFile(p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// World: pure. What the schema takes, spec takes, and the other way round.
func TestApplicationExamplesAgreeWithTheSchema(t *testing.T) {
	t.Parallel()
	schema := compileContract(t, contract.ApplicationSchema)
	for dir, good := range map[string]bool{"applications": true, "refused-applications": false} {
		files := examples(t, dir)
		if len(files) < 2 {
			t.Fatalf("%s holds %d examples", dir, len(files))
		}
		for name, src := range files {
			root, faults := parseTOML(src, name)
			if len(faults) > 0 {
				t.Fatalf("%s: %v", name, faults)
			}
			bySchema := schema.Validate(asJSON(t, root))
			_, bySpec := ParseApplication(src, name)
			if (bySchema == nil) != good {
				t.Errorf("%s: the schema says %v", name, bySchema)
			}
			if (bySpec == nil) != good {
				t.Errorf("%s: spec says %v", name, bySpec)
			}
		}
	}
}

// World: pure.
func TestDriverExamplesAgreeWithTheSchema(t *testing.T) {
	t.Parallel()
	schema := compileContract(t, contract.DriverSchema)
	check := func(name string, files map[string][]byte, src []byte, good bool) {
		t.Helper()
		root, faults := parseYAML(src, name)
		if len(faults) > 0 {
			t.Fatalf("%s: %v", name, faults)
		}
		bySchema := schema.Validate(asJSON(t, root))
		bundle, err := NewBundle(files)
		if err != nil {
			t.Fatal(err)
		}
		_, _, bySpec := ParseDriver(bundle)
		if (bySchema == nil) != good {
			t.Errorf("%s: the schema says %v", name, bySchema)
		}
		if (bySpec == nil) != good {
			t.Errorf("%s: spec says %v", name, bySpec)
		}
	}
	everything := examples(t, "drivers/everything")
	check("everything", everything, everything["driver.slipway.yml"], true)
	refused := examples(t, "refused-drivers")
	if len(refused) < 8 {
		t.Fatalf("%d refused examples", len(refused))
	}
	for name, src := range refused {
		check(name, map[string][]byte{"driver.slipway.yml": src, "actions.py": nil}, src, false)
	}
}

// World: pure. The drivers in examples/ are promised by the schema too.
func TestOurDriversFitTheSchema(t *testing.T) {
	t.Parallel()
	schema := compileContract(t, contract.DriverSchema)
	for _, name := range []string{"guestbook/driver.slipway.yml", "reference/driver.styrmin.yml"} {
		root, faults := parseYAML(readFile(t, "../../examples/drivers/"+name), name)
		if len(faults) > 0 {
			t.Fatalf("%s: %v", name, faults)
		}
		if err := schema.Validate(asJSON(t, root)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
