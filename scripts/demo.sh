#!/usr/bin/env bash
# The main job, once, for real: a cluster, a server, a driver, and an application that is installed
# at 1.0.0, upgraded to 1.1.0 with its migration, and whose upgrade to 1.2.0 fails as it should.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

demo=$PWD/demo
slipway=$PWD/bin/slipway
url=http://127.0.0.1:${SLIPWAY_DEMO_PORT:-8080}
export XDG_CONFIG_HOME=$demo/config
cluster_dir=${SLIPWAY_CLUSTER_DIR:-/var/lib/slipway-test-cluster}

run() {
	printf '\n\033[36m$ slipway %s\033[0m\n' "$*"
	"$slipway" "$@"
}

down() {
	if [[ -f $demo/server.pid ]]; then
		local pid
		pid=$(<"$demo/server.pid")
		if [[ $(readlink "/proc/$pid/exe" 2>/dev/null) == "$slipway"* ]]; then
			say "stop the server"
			kill -TERM "$pid"
			for _ in $(seq 100); do [[ -d /proc/$pid ]] || break; sleep 0.2; done
		fi
	fi
	if [[ -f $demo/own-cluster ]]; then
		say "stop the cluster"
		test/cluster/cluster.sh down
	fi
	rm -rf "$demo"
	say "the demo is down"
}

up() {
	local started=$SECONDS
	[[ ! -e $demo ]] || down
	mkdir -p -m 700 "$demo"

	if [[ -z ${KUBECONFIG:-} ]]; then
		say "cluster: a real one-node Kubernetes (the first build takes some ten minutes)"
		# A cluster that somebody else uses is left running by make demo-down.
		test/cluster/cluster.sh status >/dev/null 2>&1 || touch "$demo/own-cluster"
		test/cluster/cluster.sh up
		test/cluster/cluster.sh build-guestbook
		export KUBECONFIG=$cluster_dir/kubeconfig
	fi

	say "server: SQLite in $demo/data, its own Prefect"
	local venv=$SLIPWAY_CACHE/python # shared with the tests: it takes a minute to make
	unset SLIPWAY_CACHE             # not a setting of the server
	"$slipway" python install --data-dir "$demo/data" --python-venv "$venv"
	"$slipway" server --data-dir "$demo/data" --python-venv "$venv" --listen "${url#http://}" >"$demo/server.log" 2>&1 &
	echo $! >"$demo/server.pid"
	disown
	for _ in $(seq 900); do
		curl -sf "$url/readyz" | grep -q "\"actions\":\"ready\"" && break
		kill -0 "$(<"$demo/server.pid")" 2>/dev/null || { tail -20 "$demo/server.log" >&2; die "the server did not start"; }
		sleep 0.2
	done
	curl -sf -o /dev/null "$url/readyz" || { tail -20 "$demo/server.log" >&2; die "the server is not ready"; }

	local password
	password=$(head -c 18 /dev/urandom | base64 | tr '+/' 'ab')
	printf '%s\n' "$password" >"$demo/password"
	chmod 600 "$demo/password"
	run setup --server "$url" --secret-file "$demo/data/setup-secret" --username admin --password-stdin <"$demo/password"

	say "a place, a secret, a driver"
	run projects create demo
	run environments create demo/dev
	run secrets set guestbook-db -e demo/dev <<<"a-password-of-the-demo"
	run driver load examples/drivers/guestbook

	say "install 1.0.0"
	run deploy examples/applications/guestbook.toml -e demo/dev --wait

	say "upgrade to 1.1.0, with its migration"
	run plan examples/applications/guestbook-1.1.toml -e demo/dev
	run deploy examples/applications/guestbook-1.1.toml -e demo/dev --wait

	say "upgrade to 1.2.0, whose migration fails"
	local code=0
	run deploy examples/applications/guestbook-1.2.toml -e demo/dev --wait || code=$?
	[[ $code == 1 ]] || die "the upgrade to 1.2.0 ended with exit code $code; it should fail with 1"
	run applications get guestbook -e demo/dev

	say "still serving 1.1.0"
	"${KUBECTL:-$cluster_dir/kubectl}" -n demo-dev get applications.slipway.dev,pods
	run tasks list -e demo/dev

	printf '\nThe dashboard:  %s   user admin, password in %s\n' "$url" "demo/password"
	printf 'Stop it with:   make demo-down   (%d s so far)\n' $((SECONDS - started))
}

case ${1:-} in
up) up ;;
down) down ;;
*) die "say: scripts/demo.sh up | down" ;;
esac
