#!/usr/bin/env bash
# Starts and stops the test cluster: a real one-node Kubernetes on this machine.
#
#   cluster.sh up       install what is missing, compile (slow once), start; repeatable
#   cluster.sh down     stop, and leave nothing behind
#   cluster.sh status   say how each part is
#   cluster.sh load FILE.tar...      make images usable by pods
#   cluster.sh build-guestbook       build and load the sample application's images
#   cluster.sh build-runner          build and load stand-ins for GitHub's runner and its Docker
#   cluster.sh build-postgres        build and load an image of the machine's PostgreSQL
#   cluster.sh help                  the rest
#
# Pinned by Debian's release only: the packages are the distribution's own.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=(containerd runc containernetworking-plugins etcd-server iptables iproute2 conntrack busybox-static)

fail() {
	echo "cluster.sh: $*" >&2
	exit 1
}

install_missing() {
	local package missing=()
	command -v dpkg-query >/dev/null || fail "this needs Debian or a system made from it: there is no dpkg-query here"
	for package in "${packages[@]}"; do
		[[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || missing+=("$package")
	done
	((${#missing[@]})) || return 0
	echo "installing Debian packages: ${missing[*]}"
	# A package must not start a service of its own: etcd and containerd would take
	# ports and paths, and the cluster starts its own.
	local policy=/usr/sbin/policy-rc.d log made_policy=
	log=$(mktemp)
	if [[ ! -e $policy ]]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		made_policy=yes
	fi
	local status=0
	{
		DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -y --no-install-recommends "${missing[@]}" ||
			{ timeout 300 apt-get update && DEBIAN_FRONTEND=noninteractive timeout 600 apt-get install -y --no-install-recommends "${missing[@]}"; }
	} >"$log" 2>&1 || status=$?
	[[ -z $made_policy ]] || rm -f "$policy"
	if ((status)); then
		tail -n 20 "$log" >&2
		fail "apt-get could not install: ${missing[*]}; what it said is in $log"
	fi
	rm -f "$log"
}

command=${1:-help}
(($# == 0)) || shift
[[ $command != load ]] || command=load-image

if [[ $command != help ]]; then
	[[ $(id -u) == 0 ]] || fail "it must be run by root: the cluster makes network interfaces, mounts and containers"
	command -v go >/dev/null || fail "Go is missing; it compiles the cluster's programs"
fi
[[ $command != up ]] || install_missing

# The program that does the work is small, and compiled at every call: Go's own cache
# makes that a moment unless it changed.
cache=${SLIPWAY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/slipway}/cluster
mkdir -p "$cache"
(
	flock 9
	# Temporary files beside the result, so that it is moved into place as a whole while
	# another call may be running the one before.
	GOTMPDIR=$cache GOWORK=off go build -C "$here" -p 2 -buildvcs=false -o "$cache/cluster" ./cmd/cluster
) 9>"$cache/cluster.lock" || fail "the program in $here/cmd/cluster does not compile"

export SLIPWAY_CLUSTER_SOURCE=$here
exec "$cache/cluster" "$command" "$@"
