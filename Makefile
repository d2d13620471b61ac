# The few commands of this project. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo 0.1.0)
# Without -trimpath: with it nothing of the build would serve the tests that follow.
GOFLAGS_BUILD := -ldflags '-s -w -X main.version=$(VERSION)'
export CGO_ENABLED := 0

.PHONY: help build check generate test demo demo-down load lint python-check vuln

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build bin/slipway
	@mkdir -p bin
	go build $(GOFLAGS_BUILD) -o bin/slipway ./cmd/slipway

check: ## The fast loop: format, vet, lint, unit tests, Python checks
	scripts/check.sh

generate: ## Regenerate committed files: templates, styles, API and CLI reference, schema dumps
	scripts/generate.sh

test: ## Everything, from a fresh machine: installs what it needs; databases, Prefect, cluster, browser
	scripts/test.sh

demo: build ## A cluster, a server, and an application installed and upgraded; leaves the dashboard open
	scripts/demo.sh up

demo-down: ## Stop what the demo started
	scripts/demo.sh down

load: build ## Measure the budgets and print them as a table
	scripts/load.sh

vuln: ## Look for known vulnerabilities in what we depend on (needs the vulnerability database)
	go tool -modfile=tools/go.mod govulncheck ./...
