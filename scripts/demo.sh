#!/usr/bin/env bash
# The main jobs, once, for real: a cluster, a server, a driver, and an application that is installed
# at 1.0.0, upgraded to 1.1.0 with its migration, and whose upgrade to 1.2.0 fails as it should; then
# a runner pool that a queued job wakes, and that goes back to sleep. Only GitHub is a stand-in.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

demo=$PWD/demo
slipway=$PWD/bin/slipway
url=http://127.0.0.1:${SLIPWAY_DEMO_PORT:-8080}
export XDG_CONFIG_HOME=$demo/config
cluster_dir=${SLIPWAY_CLUSTER_DIR:-/var/lib/slipway-test-cluster}

# The command goes to standard error, so that a result can go to a file.
run() {
	printf '\n\033[36m$ slipway %s\033[0m\n' "$*" >&2
	"$slipway" "$@"
}

# field prints a field of the JSON that it reads, by its path: field jobs 0.
field() { python3 -c 'import functools, json, sys
print(functools.reduce(lambda v, k: v[int(k) if isinstance(v, list) else k], sys.argv[1:], json.load(sys.stdin)))' "$@"; }

# wait_for asks every second until a command succeeds: wait_for SECONDS WHAT COMMAND...
wait_for() {
	local seconds=$1 what=$2 end=$((SECONDS + $1))
	shift 2
	until "$@"; do
		((SECONDS < end)) || die "$what: not within $seconds s; the server's log is demo/server.log"
		sleep 1
	done
}

# stop ends a program of the demo, and nothing that has got its process number since.
stop() {
	local pid
	[[ -f $demo/$1.pid ]] || return 0
	pid=$(<"$demo/$1.pid")
	[[ $(readlink "/proc/$pid/exe" 2>/dev/null) == "$2"* ]] || return 0
	say "stop $3"
	kill -TERM "$pid"
	for _ in $(seq 100); do [[ -d /proc/$pid ]] || break; sleep 0.2; done
}

down() {
	stop server "$slipway" "the server"
	stop forge "$demo/fakegithub" "the stand-in for GitHub"
	if [[ -f $demo/own-cluster ]]; then
		say "stop the cluster"
		test/cluster/cluster.sh down
	fi
	rm -rf "$demo"
	say "the demo is down"
}

# forge starts the stand-in for GitHub, which pods reach at an address of the cluster's host,
# and writes the server's settings for it.
forge() {
	say "forge: a stand-in for GitHub and for its runner program; the pods and all else are real"
	test/cluster/cluster.sh build-runner
	go build -o "$demo/fakegithub" ./test/world/cmd/fakegithub
	command -v openssl >/dev/null || need_packages openssl
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=GitHub of the demo" \
		-addext "subjectAltName=IP:127.0.0.1" -keyout "$demo/forge.key" -out "$demo/forge.pem" 2>/dev/null
	"$demo/fakegithub" --listen 127.0.0.1:0 --admin 127.0.0.1:0 --runners 10.215.0.1:0 --repository team/app \
		--tls-cert "$demo/forge.pem" --tls-key "$demo/forge.key" >"$demo/forge.log" 2>&1 &
	echo $! >"$demo/forge.pid"
	disown
	wait_for 20 "the stand-in for GitHub listens" grep -q '^admin' "$demo/forge.log"
	cat >"$demo/slipway.toml" <<-END
		[runners]
		image = "registry.example.com/actions-runner:test"
		docker_image = "registry.example.com/actions-docker:test"
		allow_egress = ["10.215.0.1/32"]
		dns = ["10.213.0.1"]
		ca_file = "$demo/forge.pem"
	END
}

slots() { "$slipway" runners get team-ci -e demo/dev -o json | field pools 0 slots; }
asleep() { [[ $("$slipway" runners get team-ci -e demo/dev -o json | field pools 0 state) == sleeping && $(slots) == "{}" ]]; }
busy() { [[ $(slots) == *"'busy': 1"* ]]; }

# pool connects the stand-in, and has one job wake a pool that sleeps.
pool() {
	local github admin job
	github=$(sed -n 's,^API *\(.*\)/api/v3$,\1,p' "$demo/forge.log")
	admin=$(sed -n 's/^admin *//p' "$demo/forge.log")
	ended() { [[ $(curl -sf "$admin/jobs/$job" | field status) == completed ]]; }

	say "a runner pool: its token, the webhook, the pool"
	printf 'github_pat_%s\n' "a0token0of0the0demo0that0opens0nothing" >"$demo/github-token"
	run secrets set github-runner-token -e demo/dev <"$demo/github-token"
	run connections create team -e demo/dev --base-url "$github" -o json >"$demo/connection.json"
	# At GitHub a person enters these two. The secret is in no list of processes.
	python3 -c 'import json, sys
c = json.load(sys.stdin)
print(json.dumps({"scope": "team", "url": c["connection"]["webhook_url"], "secret": c["secret"]}))' <"$demo/connection.json" >"$demo/hook.json"
	curl -sf -o /dev/null -d "@$demo/hook.json" "$admin/hooks"
	rm "$demo/connection.json" "$demo/hook.json" "$demo/github-token"
	cat >"$demo/team-ci.toml" <<-END
		schema_version = 1
		name = "team-ci"

		[services.runner]
		size = "small"
		replicas = 2

		[services.runner.actions]
		organization = "team"
		base_url = "$github"
		credential = "github-runner-token"
		labels = ["slipway"]
		idle_seconds = 60
	END
	run deploy demo/team-ci.toml -e demo/dev --wait
	wait_for 60 "the new pool sleeps" asleep
	run runners list

	say "somebody pushes: a job is queued, and wakes a runner"
	job=$(curl -sf -d '{"repository":"team/app","name":"test","labels":["self-hosted","slipway"],"script":["echo hello","sleep 8s"]}' "$admin/jobs" | field jobs 0)
	wait_for 120 "the job runs" busy
	run runners get team-ci -e demo/dev
	wait_for 120 "the job ends" ended
	run runners logs "$job" --host "${github#https://}"

	say "nobody pushes any more: the pool goes back to sleep"
	wait_for 180 "the pool sleeps" asleep
	run runners list
	run runners ledger
}

up() {
	local started=$SECONDS with_pool=no
	local -a settings=()
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
	if [[ $KUBECONFIG == "$cluster_dir/kubeconfig" ]]; then
		with_pool=yes
		forge
		settings=(--config "$demo/slipway.toml")
	fi

	say "server: SQLite in $demo/data, its own Prefect"
	local venv=$SLIPWAY_CACHE/python # shared with the tests: it takes a minute to make
	unset SLIPWAY_CACHE             # not a setting of the server
	"$slipway" python install --data-dir "$demo/data" --python-venv "$venv"
	"$slipway" server "${settings[@]}" --data-dir "$demo/data" --python-venv "$venv" --listen "${url#http://}" >"$demo/server.log" 2>&1 &
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

	if [[ $with_pool == yes ]]; then
		pool
	else
		say "no runner pool: its runners would need the stand-in for GitHub and images that only the demo's own cluster has"
	fi

	printf '\nThe dashboard:  %s   user admin, password in %s\n' "$url" "demo/password"
	printf 'Stop it with:   make demo-down   (%d s so far)\n' $((SECONDS - started))
}

case ${1:-} in
up) up ;;
down) down ;;
*) die "say: scripts/demo.sh up | down" ;;
esac
