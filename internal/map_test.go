package internal_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "slipway.dev/slipway/"

// allowed is the map of the tree: each folder, and what it may import of ours.
// It is ordered as work flows. To add a folder, add a line and say in the
// commit message why no existing folder was its home.
var allowed = []struct{ folder, imports string }{
	{"cmd/slipway", "internal/cli internal/server internal/config internal/mover"},
	{"contract", ""},
	{"python", ""},
	{"internal", ""},
	{"internal/slipway", ""},
	{"internal/wire", ""},
	{"internal/redact", ""},
	{"internal/plaintext", ""},
	{"internal/joblog", "internal/slipway internal/plaintext"},
	{"internal/config", "internal/slipway"},
	{"internal/secret", "internal/slipway"},
	{"internal/spec", "internal/slipway internal/spec/template contract"},
	{"internal/spec/template", ""},
	{"internal/store", "internal/slipway"},
	{"internal/store/migrate", "internal/slipway"},
	{"internal/store/sqlite", "internal/slipway internal/store internal/store/migrate"},
	{"internal/store/postgres", "internal/slipway internal/store internal/store/migrate"},
	{"internal/store/postgres/postgrestest", ""},
	{"internal/store/storetest", "internal/slipway internal/store"},
	{"internal/task", "internal/slipway internal/store"},
	{"internal/auth", "internal/slipway internal/store"},
	{"internal/change", "internal/slipway internal/store internal/task internal/spec internal/secret"},
	{"internal/outside/objects", "internal/slipway"},
	{"internal/mover", "internal/slipway internal/outside/objects"},
	{"internal/outside/kube", "internal/slipway contract"},
	{"internal/outside/helm", "internal/slipway internal/outside/kube"},
	{"internal/outside/prefect", "internal/slipway"},
	{"internal/outside/forge", "internal/slipway"},
	// What the clients of all forges have in common, and is no part of the contract.
	{"internal/outside/forge/rest", "internal/slipway internal/outside/forge"},
	{"internal/outside/forge/github", "internal/slipway internal/outside/forge internal/outside/forge/rest"},
	{"internal/outside/forge/bitbucket", "internal/slipway internal/outside/forge internal/outside/forge/rest"},
	{"internal/outside/forge/gitlab", "internal/slipway internal/outside/forge internal/outside/forge/rest"},
	{"internal/outside/forge/fake", "internal/slipway internal/outside/forge"},
	{"internal/outside/forge/forgetest", "internal/slipway internal/outside/forge internal/outside/forge/fake"},
	{"internal/outside/registry", "internal/slipway internal/spec"},
	{"internal/outside/registry/registrytest", ""},
	{"internal/outside/git", "internal/slipway internal/spec"},
	{"internal/observe", "internal/slipway internal/store internal/task internal/spec internal/secret internal/redact internal/outside/kube internal/outside/forge"},
	{"internal/reconcile", ""},
	{"internal/reconcile/application", "internal/slipway internal/store internal/task internal/spec internal/secret internal/redact internal/outside/kube internal/outside/helm internal/outside/prefect"},
	{"internal/author", "internal/slipway internal/spec internal/spec/template contract internal/reconcile/application internal/outside/kube internal/outside/helm internal/outside/prefect"},
	{"internal/reconcile/pool", "internal/slipway internal/store internal/task internal/secret internal/outside/forge"},
	{"internal/webhook", "internal/slipway internal/change"},
	{"internal/sim", "internal/slipway internal/store internal/store/sqlite internal/store/postgres internal/task internal/secret internal/change internal/webhook internal/observe internal/reconcile/application internal/reconcile/pool internal/outside/kube internal/outside/forge internal/outside/forge/fake"},
	{"internal/view", "internal/slipway internal/store internal/spec"},
	{"internal/api", "internal/slipway internal/wire contract internal/auth internal/change internal/view internal/joblog"},
	{"internal/dashboard", "internal/slipway internal/auth internal/change internal/view internal/joblog internal/plaintext"},
	{"internal/client", "internal/wire"},
	{"internal/server", "internal/slipway internal/joblog internal/api internal/dashboard internal/author internal/auth internal/secret internal/config internal/change internal/view internal/task internal/spec internal/redact internal/store internal/store/sqlite internal/store/postgres internal/reconcile/application internal/reconcile/pool internal/observe internal/webhook internal/outside/forge internal/outside/forge/rest internal/outside/forge/github internal/outside/forge/bitbucket internal/outside/forge/gitlab internal/outside/kube internal/outside/helm internal/outside/prefect contract python"},
	{"internal/cli", "internal/client internal/wire internal/config internal/spec internal/slipway internal/author internal/server internal/outside/registry internal/outside/git internal/outside/helm"},
	{"test/world", "internal/client internal/wire internal/slipway internal/outside/forge/fake"},
	// Programs that tests and the demonstration start beside the server: a forge to ask, and
	// what runs in runner pods. They are no part of the product, so no folder of cmd.
	{"test/world/cmd/fakegithub", "internal/slipway internal/outside/forge internal/outside/forge/fake"},
	{"test/world/cmd/standin", "internal/outside/forge/fake"},
	{"test/e2e", "internal/wire internal/client internal/outside/forge internal/outside/forge/fake internal/outside/prefect internal/store/postgres/postgrestest test/world"},
	{"test/load", "internal/client internal/wire internal/outside/forge internal/outside/forge/fake internal/store/postgres/postgrestest test/world"},
}

// only says where a package from outside this module may be imported, by prefix. An SDK
// stays in one folder, so that changing it, or faking what it reaches, touches one folder.
var only = []struct{ prefix, folders string }{
	{"k8s.io/", "internal/outside/kube internal/outside/helm"},
	{"sigs.k8s.io/controller-runtime", "internal/outside/kube internal/outside/helm"},
	{"helm.sh/", "internal/outside/helm"},
	{"oras.land/", "internal/outside/helm internal/outside/registry"},
	{"github.com/google/go-github/", "internal/outside/forge/github"},
	{"github.com/google/go-containerregistry/", "internal/outside/registry/registrytest"},
	{"modernc.org/sqlite", "internal/store/sqlite"},
	{"github.com/jackc/pgx/", "internal/store/postgres internal/store/postgres/postgrestest"},
	{"github.com/riverqueue/river", "internal/task internal/store/migrate internal/store/sqlite internal/store/postgres"},
	{"github.com/danielgtaylor/huma/", "internal/api"},
	{"github.com/a-h/templ", "internal/dashboard"},
	{"github.com/spf13/cobra", "internal/cli"},
	{"github.com/tink-crypto/", "internal/secret"},
	{"github.com/fsnotify/fsnotify", "internal/author"},
	{"os/exec", "internal/outside/prefect internal/outside/git internal/store/postgres/postgrestest internal/cli test/world test/e2e test/load"},
	{"github.com/minio/", "internal/outside/objects"},
	{"github.com/robfig/cron", "internal/spec"},
	{"github.com/klauspost/compress", "internal/mover"},
}

// TestImports stands in the pure world: it reads the import lists that `go list` prints.
func TestImports(t *testing.T) {
	t.Parallel()
	may := map[string][]string{}
	for _, a := range allowed {
		may[a.folder] = strings.Fields(a.imports)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-tags=e2e,cluster,browser,load", "-json=ImportPath,Imports,Doc,GoFiles", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Doc  string
			Imports, GoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		folder := strings.TrimPrefix(p.ImportPath, module)
		seen[folder] = true
		if p.Doc == "" && len(p.GoFiles) > 0 {
			t.Errorf("%s: no package doc", folder)
		}
		ok, known := may[folder]
		if !known {
			t.Errorf("%s: not on the map", folder)
		}
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, module)
			if ours && !slices.Contains(ok, to) {
				t.Errorf("%s imports %s; it may import only %v", folder, to, ok)
			}
			for _, o := range only {
				if strings.HasPrefix(imp, o.prefix) && !slices.Contains(strings.Fields(o.folders), folder) {
					t.Errorf("%s imports %s; only %s may", folder, imp, o.folders)
				}
			}
		}
	}
	for _, a := range allowed {
		if !seen[a.folder] {
			t.Errorf("%s: on the map, but there is no such folder", a.folder)
		}
	}
}
