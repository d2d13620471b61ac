package application

import (
	"context"
	"strconv"

	"slipway.dev/slipway/internal/outside/kube"
	"slipway.dev/slipway/internal/slipway"
)

// database says how the database of a component is reached: with the environment of its
// container, in an image that has the database's programs.
func (r *Reconciler) database(ctx context.Context, w *work, c slipway.BackedUp) (*kube.DatabaseSpec, error) {
	ws, err := r.workloadsOf(ctx, w, c)
	if err != nil {
		return nil, err
	}
	from, err := kube.PickWorkload(ws, c.Name, c.Container, w.snap.Application.Namespace)
	if err != nil {
		return nil, err
	}
	d := &kube.DatabaseSpec{From: from, Container: c.Container, Image: c.Backup.Image, Set: map[string]string{"SLIPWAY_URL_ENV": c.Backup.URLEnv}}
	if d.Image == "" {
		images, err := kube.ComponentImages(ws, kube.ImageRule{Component: c.Name, Container: c.Container})
		if err != nil {
			return nil, err
		}
		d.Image = images[0]
	} else {
		d.Image = slipway.ExpandImage(d.Image, w.snap.Wanted.Spec.App.Version)
	}
	service, port, err := r.Cluster.ServiceOf(ctx, from)
	if err != nil {
		return nil, err
	}
	if service != "" {
		d.Set["SLIPWAY_PG_HOST"], d.Set["SLIPWAY_PG_PORT"] = service, strconv.Itoa(port)
	}
	return d, nil
}

// reachDatabase finds out, in the container, where the database is. A URL says it all;
// otherwise the variables of the database's own programs count, then those of its usual
// image, which name no host: that is the component's Service. A password is never an
// argument unless it stands in a URL, and then in this container alone.
const reachDatabase = `set -eu
umask 022
url=
if [ -n "${SLIPWAY_URL_ENV-}" ]; then
  eval "url=\${$SLIPWAY_URL_ENV-}"
  if [ -z "$url" ]; then
    echo "the variable $SLIPWAY_URL_ENV, which the driver names in backup.url_env, is not set in the component's container" >&2
    exit 64
  fi
elif [ -z "${PGDATABASE-}${POSTGRES_DB-}${PGUSER-}${POSTGRES_USER-}${POSTGRES_PASSWORD-}" ]; then
  url=${DATABASE_URL-}
  if [ -z "$url" ]; then
    echo "the component's container has no variable that says where the database is: set PGHOST, PGUSER, PGPASSWORD and PGDATABASE, or name the one with its URL in the driver's backup.url_env" >&2
    exit 64
  fi
fi
if [ -z "$url" ]; then
  PGUSER=${PGUSER:-${POSTGRES_USER:-postgres}}
  PGPASSWORD=${PGPASSWORD:-${POSTGRES_PASSWORD-}}
  PGDATABASE=${PGDATABASE:-${POSTGRES_DB:-$PGUSER}}
  PGHOST=${PGHOST:-${POSTGRES_HOST:-${SLIPWAY_PG_HOST-}}}
  case $PGHOST in
    "" | localhost | 127.* | ::1 | /*) # itself, as its own container sees it
      PGHOST=${SLIPWAY_PG_HOST-}
      PGPORT=${SLIPWAY_PG_PORT-5432}
      ;;
    *) PGPORT=${PGPORT:-${POSTGRES_PORT:-5432}} ;;
  esac
  if [ -z "$PGHOST" ]; then
    echo "nothing says under which name the database is reached: give the component a Service, or set PGHOST" >&2
    exit 64
  fi
  export PGUSER PGPASSWORD PGDATABASE PGHOST PGPORT
  url="dbname='$(printf %s "$PGDATABASE" | sed "s/[\\\\']/\\\\&/g")'"
fi
export PGCONNECT_TIMEOUT=30 PGAPPNAME=slipway-backup
cd ` + slipway.MoverFiles + `
`

// dumpScript writes one moment of the database into a file, and reads the file's table of
// contents: what cannot be read is no backup.
const dumpScript = reachDatabase + `
pg_dump --format=custom --no-password --lock-wait-timeout=60000 --file=` + dumpFile + ` --dbname="$url"
pg_restore --list ` + dumpFile + ` >/dev/null
`

// restoreScript makes the database what the dump says, in one transaction: whatever fails,
// it stays as it was. The COMMIT is written only when all of the dump was, and a stream
// that ends without one changes nothing.
//
// Everything there is goes first, not only what the dump names: a table that a later
// version has made would stand in the way of that version's migration.
const restoreScript = reachDatabase + `
cat >wipe.sql <<'SQL'
SET lock_timeout = '60s';
SET client_min_messages = warning;
DO $slipway$
DECLARE o record;
BEGIN
  PERFORM lo_unlink(oid) FROM pg_largeobject_metadata;
  FOR o IN SELECT extname FROM pg_extension WHERE extname <> 'plpgsql' LOOP
    EXECUTE format('DROP EXTENSION IF EXISTS %I CASCADE', o.extname);
  END LOOP;
  FOR o IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
    EXECUTE format('DROP SCHEMA %I CASCADE', o.nspname);
  END LOOP;
  -- As a new database has it, which is what a dump starts from.
  CREATE SCHEMA public;
  COMMENT ON SCHEMA public IS 'standard public schema';
  IF current_setting('server_version_num')::int < 150000 THEN
    GRANT ALL ON SCHEMA public TO PUBLIC;
  ELSE
    GRANT USAGE ON SCHEMA public TO PUBLIC;
    BEGIN
      ALTER SCHEMA public OWNER TO pg_database_owner;
    EXCEPTION WHEN insufficient_privilege THEN
      NULL; -- it stays with whoever restores, who owns what is in it
    END;
  END IF;
END
$slipway$;
SQL
rm -f whole
{
  echo 'BEGIN;'
  cat wipe.sql
  if pg_restore --file=- ` + dumpFile + `; then
    : >whole
    echo 'COMMIT;'
  else
    echo '\quit'
  fi
} | psql --no-psqlrc --quiet --no-password --output=/dev/null --set=ON_ERROR_STOP=1 --dbname="$url"
if [ ! -f whole ]; then
  echo "the dump was not read to its end, so nothing was changed" >&2
  exit 65
fi
`
