#!/usr/bin/env bash
# Kills the server at every boundary of an upgrade, with SQLite and with two workers over PostgreSQL, and
# compares the end with an undisturbed one. Root, on Debian; some fifteen minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh
need_packages postgresql python3-venv
test/cluster/cluster.sh up
test/cluster/cluster.sh build-guestbook
SLIPWAY_TEST_VENV=$SLIPWAY_CACHE/python
bin/slipway python install --python-venv "$SLIPWAY_TEST_VENV"
export SLIPWAY_TEST_VENV SLIPWAY_TEST_BIN=$PWD/bin/slipway
go test -count=1 -v -timeout 40m -tags e2e,kill -run 'TestKilled|TestTheOther' ./test/e2e
