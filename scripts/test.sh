#!/usr/bin/env bash
# Everything, on the real parts: both databases, Prefect, a Kubernetes, a browser. It installs what it
# needs, and fails when a real part is missing. Root, on Debian.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh
began=$SECONDS

[[ $(id -u) == 0 ]] || die "make test starts a Kubernetes node, which needs root"
# The cluster installs its own packages, and keeps Debian from starting their services.
need_packages git curl ca-certificates python3 python3-venv postgresql chromium procps

say "build"
make build

say "axe-core, for the checks of pages"
command -v npm >/dev/null || need_packages npm
(cd tools/web && npm ci --ignore-scripts --no-audit --no-fund --silent)

# The longest build first, beside which nothing waits for it.
say "cluster"
found=no
test/cluster/cluster.sh status >/dev/null 2>&1 && found=yes
test/cluster/cluster.sh up
test/cluster/cluster.sh build-guestbook
test/cluster/cluster.sh build-postgres
test/cluster/cluster.sh build-runner
# The built slipway itself carries backups, in pods.
test/cluster/cluster.sh build-image --name registry.example.com/slipway:test --program slipway bin/slipway
export SLIPWAY_TEST_KUBECONFIG=${SLIPWAY_CLUSTER_DIR:-/var/lib/slipway-test-cluster}/kubeconfig
# A cluster that somebody else uses is left running.
finish() { [[ $found == yes || -n ${SLIPWAY_KEEP_CLUSTER:-} ]] || test/cluster/cluster.sh down; }
trap finish EXIT

scripts/check.sh static
# An S3 server for backups to go to: moto's.
python_tools
export SLIPWAY_TEST_S3_PYTHON=$PYTOOLS/python

say "the environment of actions"
SLIPWAY_TEST_VENV=$SLIPWAY_CACHE/python
bin/slipway python install --python-venv "$SLIPWAY_TEST_VENV"
export SLIPWAY_TEST_VENV

say "tests of the cluster itself"
(cd test/cluster && go test -count=1 -timeout 20m ./...)
(cd examples/guestbook-app && go test -count=1 ./...)

say "all tests: unit, both databases, real Prefect, real cluster, browser"
SLIPWAY_TEST_BIN=$PWD/bin/slipway go test -count=1 -p 1 -timeout 40m -tags e2e,cluster,browser ./...

say "everything passed in $((SECONDS - began)) s"
