// These tests stand in the pure world: files in a temporary directory, nothing else.
package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// write puts a configuration file, and beside it the files that settings may name.
func write(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"slipway.toml": text, "cert.pem": "c", "key.pem": "k", "kubeconfig": "k", "auth": "a:b", "keyset": "k",
		"dsn": "postgres://slipway:from-file@db/slipway\n", "empty": " \n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(content, "DIR", dir)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "slipway.toml")
}

func TestLoadTakesTheStrongestSource(t *testing.T) {
	t.Parallel()
	path := write(t, `
data_dir = "/from/file"
listen = "127.0.0.1:1"
shutdown_grace = "5s"
trusted_proxies = [
  "10.0.0.0/8", # the load balancer
  "192.0.2.1",
]
behind_proxy = true
url = "https://slipway.example.com/"
log = { level = "debug" }

[limits]
driver_bundle_bytes = 2_097_152
request_bytes = "512KiB"

[actions]
max_running = 3
`)
	c, err := Load(path, []string{"HOME=/home/me", "SLIPWAY_LISTEN=127.0.0.1:2", "SLIPWAY_LOG_FORMAT=json"}, map[string]string{"listen": "127.0.0.1:3"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{
		"data_dir": c.DataDir, "listen": c.Listen, "grace": time.Duration(c.ShutdownGrace), "proxies": c.TrustedProxies,
		"level": c.Log.Level, "format": c.Log.Format, "bundle": int64(c.Limits.DriverBundle), "request": int64(c.Limits.Request),
		"running": c.Actions.MaxRunning, "role": c.Role, "url": c.URL, "retry": time.Duration(c.Actions.PrefectRetry),
	}
	want := map[string]any{
		"data_dir": "/from/file", "listen": "127.0.0.1:3", "grace": 5 * time.Second, "proxies": []string{"10.0.0.0/8", "192.0.2.1"},
		"level": "debug", "format": "json", "bundle": int64(2 << 20), "request": int64(512 << 10),
		"running": int64(3), "role": RoleAll, "url": "https://slipway.example.com", "retry": 10 * time.Minute,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Load (-want +got):\n%s", d)
	}
}

func TestLoadWithoutAnything(t *testing.T) {
	t.Parallel()
	c, err := Load("", []string{"HOME=/home/me"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.DataDir, "/home/me/.local/share/slipway"; got != want {
		t.Errorf("DataDir = %q, want %q", got, want)
	}
	if got, want := c.URL, "http://127.0.0.1:8080"; got != want {
		t.Errorf("URL = %q, want %q", got, want)
	}
	if !c.SQLite() || c.SecureCookies() || len(c.Warnings) > 0 {
		t.Errorf("SQLite = %v, SecureCookies = %v, Warnings = %q", c.SQLite(), c.SecureCookies(), c.Warnings)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		file  string
		env   []string
		flags map[string]string
		want  string // every fault, one a line; FILE and DIR stand for the paths
	}{
		{"a misspelt key, by line and column", "data_dir = \"/d\"\n  listne = \"x\"\n", nil, nil,
			"FILE:2:3: listne: there is no such key (did you mean listen?)"},
		{"a misspelt key in a table", "[tls]\ncert_fil = \"x\"\n", nil, nil,
			"FILE:2:1: tls.cert_fil: there is no such key (did you mean tls.cert_file?)"},
		{"a key in the wrong table", "level = \"debug\"\n[python]\nkubeconfig = \"x\"\n", nil, nil,
			"FILE:1:1: level: there is no such key\nFILE:3:1: python.kubeconfig: there is no such key (did you mean kubernetes.kubeconfig?)"},
		{"an unknown table is one fault, not one for each of its keys", "[tsl]\na = 1\nb = 2\n", nil, nil,
			"FILE:1:2: tsl: there is no such key (did you mean tls?)"},
		{"a list of tables", "[[tls]]\n", nil, nil,
			"FILE:1:3: tls: it is a table, not a list of tables (write [tls])"},
		{"wrong types, all of them", "listen = 8080\nbehind_proxy = \"yes\"\nshutdown_grace = 30\n[actions]\nmax_running = 1.5\n", nil, nil,
			"FILE:1:1: listen: this is a whole number; it must be a text in quotes\n" +
				"FILE:2:1: behind_proxy: this is a text; it must be true or false\n" +
				"FILE:3:1: shutdown_grace: this is a whole number; it must be a length of time in quotes, such as \"30s\"\n" +
				"FILE:5:1: actions.max_running: this is a number with a fraction; it must be a whole number"},
		{"no TOML at all", "listen = \n", nil, nil, "FILE:1:10: this is not TOML: unexpected character U+000A at start of value"},
		{"a key twice", "listen = \"127.0.0.1:1\"\nlisten = \"127.0.0.1:2\"\n", nil, nil, "FILE:2:1: this is not TOML: key listen is already defined"},
		{"a value outside its range, from each source", "[limits]\nrequest_bytes = 1\n", []string{"SLIPWAY_ACTIONS_MAX_RUNNING=0"}, map[string]string{"actions-stop-grace": "2h"},
			"FILE:2:1: limits.request_bytes: it is less than the least allowed, 16KiB\n" +
				"SLIPWAY_ACTIONS_MAX_RUNNING: actions.max_running: it is less than the least allowed, 1\n" +
				"--actions-stop-grace: actions.stop_grace: it is more than the most allowed, 1h"},
		{"a role that does not exist", "role = \"both\"\n", nil, nil, `FILE:1:1: role: "both" is not one of all, api, worker`},
		{"a lone worker on SQLite", "", []string{"SLIPWAY_ROLE=worker"}, nil,
			`SLIPWAY_ROLE: role: a server that is only "worker" needs PostgreSQL: with SQLite one process does everything (set database to a postgres:// address, or leave role out)`},
		{"an open address without TLS", "", nil, map[string]string{"listen": ":8080"},
			`--listen: listen: others can reach ":8080", and passwords would cross the network in clear (set tls.cert_file and tls.key_file, or behind_proxy = true when a proxy ends TLS, or listen on 127.0.0.1)`},
		{"an address without a port", "listen = \"127.0.0.1\"\n", nil, nil, `FILE:1:1: listen: "127.0.0.1" is not an address and a port (write 127.0.0.1:8080)`},
		{"a certificate without its key, and missing", "[tls]\ncert_file = \"DIR/none.pem\"\n", nil, nil,
			"FILE:2:1: tls.cert_file: the certificate has no key (set tls.key_file as well)\n" +
				"FILE:2:1: tls.cert_file: DIR/none.pem cannot be read: no such file or directory"},
		{"TLS here and at a proxy", "behind_proxy = true\ntls = { cert_file = \"DIR/cert.pem\", key_file = \"DIR/key.pem\" }\n", nil, nil,
			"FILE:1:1: behind_proxy: this server ends TLS itself, since tls.cert_file is set (leave one of them out)"},
		{"proxies that nobody announced, one not an address", "trusted_proxies = [\"10.0.0.0/8\", \"lb\"]\n", nil, nil,
			"FILE:1:1: trusted_proxies: \"lb\" is neither an address nor a network (write 10.0.0.5 or 10.0.0.0/8)\n" +
				"FILE:1:1: trusted_proxies: no proxy is said to be in front (set behind_proxy = true as well)"},
		{"a plain public address behind TLS", "behind_proxy = true\nurl = \"http://slipway.example.com\"\n", nil, nil,
			"FILE:2:1: url: people reach this server by TLS, so their address begins with https:// (write https://slipway.example.com)"},
		{"a database of another kind", "", []string{"SLIPWAY_DATABASE=mysql://root:hunter2@db/x"}, nil,
			"SLIPWAY_DATABASE: database: it does not begin with postgres:// (write postgres://…; for SQLite leave it empty, its file is in data_dir)"},
		{"a database address that does not parse never shows itself", "", []string{"SLIPWAY_DATABASE=postgres://u:hun ter2%zz@db/x"}, nil,
			"SLIPWAY_DATABASE: database: it is not an address (write postgres://user:password@host:5432/name, with %-escapes for special characters in the password)"},
		{"a database twice", "database = \"postgres://db/x\"\ndatabase_file = \"DIR/dsn\"\n", nil, nil,
			"FILE:2:1: database_file: database is set as well (leave one of them out)"},
		{"an empty database file", "database_file = \"DIR/empty\"\n", nil, nil, "FILE:1:1: database_file: DIR/empty is empty"},
		{"a password in Prefect's address", "[prefect]\napi_url = \"http://u:hunter2@prefect/api\"\n", nil, nil,
			"FILE:2:1: prefect.api_url: it holds a user or a password (put them into a file as user:password, and name it in prefect.auth_file)"},
		{"a flag that does not exist", "", nil, map[string]string{"colour": "red"}, "--colour: there is no such flag"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, tc.file)
			_, err := Load(path, append(tc.env, "HOME=/home/me"), tc.flags)
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("Load: %v, want an *Error", err)
			}
			got := strings.NewReplacer(path, "FILE", filepath.Dir(path), "DIR").Replace(err.Error())
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Errorf("faults (-want +got):\n%s", d)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "ter2") {
				t.Errorf("the error shows a password: %s", err)
			}
		})
	}
}

func TestLoadOfAMissingFile(t *testing.T) {
	t.Parallel()
	_, err := Load("/nowhere/slipway.toml", []string{"HOME=/h"}, nil)
	if err == nil || err.Error() != "/nowhere/slipway.toml: there is no such file" {
		t.Errorf("Load = %v", err)
	}
}

func TestDatabaseFromAFileHidesItsPassword(t *testing.T) {
	t.Parallel()
	path := write(t, "database_file = \"DIR/dsn\"\nrole = \"worker\"\n")
	c, err := Load(path, []string{"HOME=/h"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.Database.Reveal(), "postgres://slipway:from-file@db/slipway"; got != want {
		t.Errorf("Reveal() = %q, want %q", got, want)
	}
	for _, shown := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c)} {
		if strings.Contains(shown, "from-file") {
			t.Errorf("printing the configuration shows the password: %s", shown)
		}
	}
}

func TestDSNShowsNoPassword(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[DSN]string{
		"":                                 "",
		"postgres://u:p@h:1/d":             "postgres://u:***@h:1/d",
		"postgres://u@h/d?sslmode=disable": "postgres://u@h/d?sslmode=disable",
		"postgres://h/d?password=hunter2&sslpassword=x": "postgres://h/d?password=***&sslpassword=***",
		"host=db password=hunter2 dbname=slipway":       "host=db password=*** dbname=slipway",
		`host=db password = 'hun ter\'2' user=u`:        "host=db password=*** user=u",
		"password='never closed":                        "password=***",
		"postgres://u:p%zz@h/d":                         "postgres://…",
	} {
		if got := dsn.String(); got != want {
			t.Errorf("DSN(%q).String() = %q, want %q", string(dsn), got, want)
		}
	}
}

func TestUnknownVariablesAreWarnedOf(t *testing.T) {
	t.Parallel()
	c, err := Load("", []string{"HOME=/h", "SLIPWAY_LISTNE=x", "SLIPWAY_TOKEN=t", "SLIPWAY_SERVICE_HOST=10.0.0.1", "SLIPWAY_PORT=tcp://10.0.0.1:80", "SLIPWAY_URL=https://other",
		"SLIPWAY_CACHE=/c", "SLIPWAY_CA_FILE=/ca", "SLIPWAY_TEST_BIN=/b", "SLIPWAY_CLUSTER_DIR=/d"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"the variable SLIPWAY_LISTNE sets nothing; did you mean SLIPWAY_LISTEN?"}
	if d := cmp.Diff(want, c.Warnings); d != "" {
		t.Errorf("Warnings (-want +got):\n%s", d)
	}
	if c.URL != "http://127.0.0.1:8080" {
		t.Errorf("the command line's SLIPWAY_URL became the server's own address: %s", c.URL)
	}
}

// Every field of Config must be reachable from each source, so that nobody meets a
// setting that only a file can make.
func TestEveryKeyIsComplete(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	var d Config
	for _, k := range Keys() {
		if k.Doc == "" {
			t.Errorf("%s has no doc", k.Name)
		}
		for _, n := range []string{k.Name, k.Env, k.Flag} {
			if other, ok := seen[n]; ok && other != k.Name {
				t.Errorf("%s and %s are both called %s", k.Name, other, n)
			}
			seen[n] = k.Name
		}
		if k.Default != "" {
			if err := k.set(&d, k.Default); err != nil {
				t.Errorf("%s: its default is refused: %v", k.Name, err)
			}
			if got := k.Value(d); got != k.Default {
				t.Errorf("%s: the default %q reads back as %q", k.Name, k.Default, got)
			}
		}
	}
	if len(seen) < 60 {
		t.Errorf("only %d names were found", len(seen))
	}
}

func FuzzLoadNeverPanics(f *testing.F) {
	f.Add("listen = \"127.0.0.1:1\"\n[tls]\na.b = {c = [1, 2.0]}\n")
	f.Add("[[a]]\n'quo.ted' = 1979-05-27\n\"\" = 1\n")
	f.Fuzz(func(_ *testing.T, src string) {
		l := newLoader(nil)
		l.applyFile("f", []byte(src))
		l.defaultDataDir()
		l.check()
	})
}
