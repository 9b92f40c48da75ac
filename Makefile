# Short names for what people type; the logic is in tests and in scripts/.
SHELL := /bin/sh
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/culprit/target
HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
CULPRIT := $(CARGO_TARGET_DIR)/$(HOST)/release/culprit

.PHONY: help demo test check build dist bless bench accuracy fuzz clean
help: ## list the targets
	@grep -E '^[a-z]+:.*##' Makefile | sed 's/:.*## /\t/' | expand -t 10

demo: ## why a follower of a growing file gets 20 rows/s here and 1 row/s in a container
	@scripts/setup demo
	@cargo build --release --quiet -p culprit-cli
	@scripts/with-engine scripts/demo $(CULPRIT)

test: ## everything: format, lints, tests, documents
	@scripts/setup test
	@scripts/with-engine scripts/test

check: ## format and lints only
	@cargo fmt --all --check
	@cargo clippy --release --workspace --all-targets -- -D warnings

build: ## the program and culprit-data beside it (SQL), at target/HOST/release/culprit
	@scripts/setup demo
	@cargo build --release -p culprit-cli -p culprit-data
	@echo $(CULPRIT)

dist: ## the program as it is shipped: static, optimised across crates
	@scripts/setup demo
	@cargo build --profile dist -p culprit-cli -p culprit-data
	@echo $(CARGO_TARGET_DIR)/$(HOST)/dist/culprit

bless: ## rewrite generated documents and snapshots, then read the diff
	@CULPRIT_BLESS=1 INSTA_UPDATE=always cargo test --release --workspace

bench: ## recorder overhead against perf and samply, and the file's and engine's speed
	@scripts/setup bench
	@cargo build --release -p culprit-cli
	@scripts/bench $(CULPRIT)

accuracy: ## how often findings are right about programs by people who had not read the rules
	@scripts/setup test
	@cargo test --release --workspace --test it -- --ignored --nocapture --test-threads=1 had_not_read

fuzz: ## feed damaged files to every reader of a foreign format, FUZZ_SECONDS (10) each
	@cargo run --release --quiet -p culprit-fuzz -- --seconds $(or $(FUZZ_SECONDS),10)
