// Package postgres makes an image of the PostgreSQL that this machine has, from Debian's own
// packages, for tests that back up and restore a real database.
//
// It holds the server, the programs that dump and restore, the libraries that they name, and
// a small shell. It is for tests alone: nothing in it is updated.
package postgres

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"slipway.dev/slipway/test/cluster/image"
)

// Reference is the name of the image. Its host exists nowhere.
const Reference = "registry.example.com/postgres:15"

const (
	programs = "/usr/lib/postgresql/15/bin"
	modules  = "/usr/lib/postgresql/15/lib"
	shared   = "/usr/share/postgresql/15"
	user     = "65532:65532"
)

// wanted are the programs that run, or are run by others.
var wanted = []string{"postgres", "initdb", "pg_ctl", "pg_isready", "psql", "pg_dump", "pg_restore"}

// entrypoint makes a database the first time, as the usual image does, and serves it.
const entrypoint = `#!/bin/sh
set -eu
export PGDATA=${PGDATA:-/var/lib/postgresql/data/main}
user=${POSTGRES_USER:-postgres}
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  printf '%s' "$POSTGRES_PASSWORD" >/tmp/password
  initdb --username="$user" --pwfile=/tmp/password --auth-host=scram-sha-256 --auth-local=trust --encoding=UTF8 --locale=C >/dev/null
  rm -f /tmp/password
  echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
  pg_ctl --wait --log=/tmp/first.log --options='-c listen_addresses= -c unix_socket_directories=/tmp' start >/dev/null
  if [ "${POSTGRES_DB:-$user}" != postgres ]; then
    psql --quiet --host=/tmp --username="$user" --dbname=postgres --set=name="${POSTGRES_DB:-$user}" <<'SQL'
CREATE DATABASE :"name";
SQL
  fi
  pg_ctl --wait stop >/dev/null
fi
exec postgres -c listen_addresses='*' -c unix_socket_directories=/tmp
`

// Image gathers the files in the folder, and says what image to make of them.
func Image(ctx context.Context, folder string) (image.Spec, error) {
	base, err := image.Busybox(ctx, Reference)
	if err != nil {
		return image.Spec{}, err
	}
	spec := base
	// Its own programs come before busybox's; both shells and tools come from busybox.
	for _, name := range wanted {
		file := filepath.Join(programs, name)
		if err := addProgram(ctx, spec.Files, file); err != nil {
			return image.Spec{}, fmt.Errorf("building image %s: %w; install the Debian package postgresql", Reference, err)
		}
		spec.Links[path.Join("/usr/local/bin", name)] = file
	}
	for _, tree := range []string{modules, shared} {
		if err := addTree(ctx, spec.Files, tree); err != nil {
			return image.Spec{}, fmt.Errorf("building image %s: %w", Reference, err)
		}
	}
	script := filepath.Join(folder, "entrypoint.sh")
	if err := os.WriteFile(script, []byte(entrypoint), 0o755); err != nil { //nolint:gosec // it is a program
		return image.Spec{}, fmt.Errorf("building image %s: %w", Reference, err)
	}
	passwd := filepath.Join(folder, "passwd")
	if err := os.WriteFile(passwd, []byte("root:x:0:0::/:/bin/sh\npostgres:x:65532:65532::/tmp:/bin/sh\n"), 0o600); err != nil {
		return image.Spec{}, fmt.Errorf("building image %s: %w", Reference, err)
	}
	spec.Files["/usr/local/bin/entrypoint.sh"], spec.Files["/etc/passwd"] = script, passwd
	spec.Entrypoint, spec.Command, spec.User = []string{"/bin/sh", "/usr/local/bin/entrypoint.sh"}, nil, user
	spec.Labels = map[string]string{"org.opencontainers.image.title": "postgres", "org.opencontainers.image.version": "15"}
	return spec, nil
}

// addProgram adds a program at its own path, with the libraries that the loader would take.
func addProgram(ctx context.Context, files map[string]string, file string) error {
	if _, err := os.Stat(file); err != nil {
		return err
	}
	files[file] = file
	out, err := exec.CommandContext(ctx, "ldd", file).CombinedOutput()
	if err != nil {
		if bytes.Contains(out, []byte("not a dynamic executable")) {
			return nil
		}
		return fmt.Errorf("asking for the libraries of %s: %w: %s", file, err, bytes.TrimSpace(out))
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		i := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "/") })
		if i >= 0 {
			files[fields[i]] = fields[i]
		}
	}
	return nil
}

// addTree adds the files of a folder that a server without further languages reads.
func addTree(ctx context.Context, files map[string]string, tree string) error {
	return filepath.WalkDir(tree, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		switch {
		case d.IsDir() && (name == "bitcode" || name == "man" || name == "pgxs"):
			return filepath.SkipDir
		case d.IsDir() || strings.HasPrefix(name, "llvmjit"):
			return nil
		case !d.Type().IsRegular():
			// Debian links some files to /etc; what they lead to stands here under their names.
			if _, err := os.Stat(file); err != nil {
				return nil //nolint:nilerr // a link to what is not installed
			}
			files[file] = file
			return nil
		case strings.HasSuffix(name, ".so"):
			return addProgram(ctx, files, file)
		}
		files[file] = file
		return nil
	})
}
