#!/usr/bin/env bash
# Regenerates the committed files that are generated. Tests fail when they drift.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh
say "templates"
go tool -modfile=tools/go.mod templ generate -path internal/dashboard
say "styles and scripts (needs Node)"
if command -v npm >/dev/null; then (cd tools/web && npm ci --silent && npm run --silent build); else echo "no npm here; left as they are"; fi
say "API and command line reference"
go test ./internal/api -run Description -update
go test ./internal/cli -run Reference -update
say "schema dumps"
go test ./internal/store/sqlite ./internal/store/postgres -run Schema -update
