#!/usr/bin/env bash
# The fast loop: format, vet, lint, unit tests, Python checks. Warm, under two minutes.
# `check.sh static` leaves out the unit tests, for who runs all tests anyway.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/lib.sh

say "format"
unformatted=$(git ls-files '*.go' | grep -v '_templ\.go$' | xargs gofmt -l)
[[ -z $unformatted ]] || die "not formatted (run gofmt -w): $unformatted"

say "vet"
go vet ./...
go vet -tags "$real_tags" ./...

say "lint"
"$(lint_tool)" run --timeout 20m --build-tags "$real_tags"

if [[ ${1:-} != static ]]; then
	say "unit tests"
	go test ./...
fi

say "python"
python_tools
(cd python && "$PYTOOLS/ruff" check . && "$PYTOOLS/ruff" format --check . && "$PYTOOLS/mypy" && "$PYTOOLS/python" -m pytest)
"$PYTOOLS/ruff" check --config python/pyproject.toml --extend-ignore D,ANN,INP examples/drivers
say "the checks are good"
