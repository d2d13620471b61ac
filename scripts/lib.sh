# Shared by the scripts; sourced, never run. Sets the places of caches and the words we say.
# shellcheck shell=bash

export SLIPWAY_CACHE=${SLIPWAY_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/slipway}
export CGO_ENABLED=0
real_tags=e2e,cluster,browser,load
mkdir -p "$SLIPWAY_CACHE/bin"

say() { printf '\n\033[1m── %s\033[0m\n' "$*"; }
die() {
	printf 'slipway: %s\n' "$*" >&2
	exit 1
}

# need_packages installs what is missing of Debian's packages, and says so when it cannot.
need_packages() {
	local missing=()
	for p in "$@"; do
		dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
	done
	((${#missing[@]} == 0)) && return
	[[ $(id -u) == 0 ]] || die "these packages are missing: ${missing[*]}; run: sudo apt-get install ${missing[*]}"
	say "install ${missing[*]}"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# lint_tool prints the path of golangci-lint, built once per version of tools/lint.
lint_tool() {
	local key bin
	key=$(cat tools/lint/go.mod tools/lint/go.sum | sha256sum | cut -c1-16)
	bin=$SLIPWAY_CACHE/bin/golangci-lint-$key
	if [[ ! -x $bin ]]; then
		printf 'building golangci-lint once (some minutes)\n' >&2
		(cd tools/lint && go build -o "$bin.tmp" github.com/golangci/golangci-lint/v2/cmd/golangci-lint) >&2
		mv "$bin.tmp" "$bin"
	fi
	printf '%s\n' "$bin"
}

# python_tools makes the environment for checks of Python code, once per lock, and sets
# PYTOOLS to its bin folder.
python_tools() {
	local key dir
	key=$(sha256sum python/requirements-dev.lock | cut -c1-16)
	dir=$SLIPWAY_CACHE/python-dev-$key
	if [[ ! -e $dir/.complete ]]; then
		printf 'making the environment for Python checks once\n' >&2
		rm -rf "$dir"
		python3 -m venv "$dir"
		"$dir/bin/pip" install -q --disable-pip-version-check --require-hashes -r python/requirements-dev.lock
		touch "$dir/.complete"
	fi
	PYTOOLS=$dir/bin
}
