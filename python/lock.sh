#!/bin/sh
# Refreshes the two lists of exact versions from their .in files:
#
#   python/lock.sh              take the newest versions that the .in files allow
#   python/lock.sh --check      only say whether the lists still fit the .in files
#
# It makes a throw-away environment with a pinned uv, so the same .in files and the same
# day give the same lists on every machine. The lists hold for Python 3.11 and later on
# every system, and name no address: where packages come from is the installer's setting.
set -eu
cd "$(dirname "$0")"

uv_version=0.13.9
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$uv_version"

compile() { # compile INPUT OUTPUT: keeps the versions that OUTPUT already has
	"$work/venv/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
		--no-header --no-emit-index-url --no-emit-find-links --no-build "$1" --output-file "$2"
}

# The second list is made with the first as its limit, so both have the same versions.
if [ "${1:-}" = --check ]; then
	cp requirements.in requirements-dev.in requirements.lock requirements-dev.lock "$work"
	(cd "$work" && compile requirements.in requirements.lock && compile requirements-dev.in requirements-dev.lock)
	for list in requirements.lock requirements-dev.lock; do
		diff -u "$list" "$work/$list" || { echo "python/$list does not fit its .in file: run python/lock.sh" >&2; exit 1; }
	done
else
	rm -f requirements.lock
	compile requirements.in requirements.lock
	rm -f requirements-dev.lock
	compile requirements-dev.in requirements-dev.lock
fi
