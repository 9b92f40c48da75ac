# Short names for what people type; the logic is in tests and in scripts/.
SHELL := /bin/sh
# A folder for each clone: tests carry the paths of the sources that they were built from.
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/culprit/target$(subst /,-,$(CURDIR))
HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
CULPRIT := $(CARGO_TARGET_DIR)/$(HOST)/release/culprit
SHIPPED := $(CARGO_TARGET_DIR)/$(HOST)/dist/culprit

.PHONY: help demo test check ui ui-test build dist bless bench accuracy corpus fuzz clean
help: ## list the targets
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 10

demo: ## why a follower of a growing file gets 20 rows/s here and 1 row/s in a container
	@scripts/demo --announce $(CULPRIT)
	@scripts/setup demo
	@cargo build --release -p culprit-cli
	@scripts/with-engine scripts/demo $(CULPRIT)

test: ## everything: format, lints, tests, documents
	@scripts/setup test
	@scripts/with-engine scripts/test

check: ## format and lints only
	@cargo fmt --all --check
	@cargo clippy --release --workspace --all-targets -- -D warnings

ui: ## the page of `culprit view` into ui/dist; needs Node, npm and wasm-bindgen
	@scripts/build-wasm $(CARGO_TARGET_DIR)/wasm-package
	@cd ui && npm ci --silent --no-audit --no-fund
	@cd ui && npm run --silent wasm -- $(CARGO_TARGET_DIR)/wasm-package && npm run --silent build

ui-test: ## the page's checks, and the page in a real Chromium; CULPRIT=PATH adds pages in one file
	@scripts/check-page --browser

build: ## the program and culprit-data beside it (SQL), at target/HOST/release/culprit
	@scripts/setup demo
	@cargo build --release -p culprit-cli -p culprit-data
	@echo $(CULPRIT)

dist: ## the program as it is shipped: static, optimised across crates
	@scripts/setup demo
	@cargo build --profile dist -p culprit-cli -p culprit-data
	@echo $(SHIPPED)

bless: ## rewrite generated documents and snapshots, then read the diff
	@CULPRIT_BLESS=1 INSTA_UPDATE=always cargo test --release --workspace

bench: ## recorder overhead against perf and samply, and the file's and engine's speed
	@scripts/setup bench
	@cargo build --profile dist -p culprit-cli -p culprit-data
	@scripts/bench $(SHIPPED)

accuracy: ## how often findings are right about programs recorded anew, and other statistics
	@scripts/setup test
	@scripts/with-engine cargo test --release --workspace --no-fail-fast -- \
		--ignored --nocapture --test-threads=1 --skip recorded_anew

corpus: ## record corpus/ anew, or what ONLY names, and show what is said otherwise
	@scripts/setup test
	@ONLY='$(ONLY)' scripts/with-engine cargo test --release -p culprit-cli --test it -- \
		--ignored --nocapture recorded_anew
	@CULPRIT_BLESS=1 cargo test --release --quiet -p culprit-cli -- replay:: shown:: || true
	@git --no-pager diff --stat -p -- corpus/said corpus/shown

fuzz: ## feed damaged files to every reader, FUZZ_SECONDS (10) each
	@cargo run --release --quiet -p culprit-fuzz -- --seconds $(or $(FUZZ_SECONDS),10)

clean: ## remove what was built for this clone
	@cargo clean
