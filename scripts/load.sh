#!/usr/bin/env bash
# Measures the budgets and prints them as a table. It wants the cluster of test/cluster, which it starts.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh
test/cluster/cluster.sh up
test/cluster/cluster.sh build-guestbook
test/cluster/cluster.sh build-runner
SLIPWAY_TEST_VENV=$SLIPWAY_CACHE/python
bin/slipway python install --python-venv "$SLIPWAY_TEST_VENV"
export SLIPWAY_TEST_VENV SLIPWAY_TEST_BIN=$PWD/bin/slipway
go test -count=1 -v -timeout 30m -tags load -run Budgets ./test/load
