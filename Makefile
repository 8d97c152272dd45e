# What a person or CI asks of this project. `make` alone lists it. The work is done by cargo and by scripts/.

CARGO := scripts/cargo
EVENAIR := target/release/evenair

.DEFAULT_GOAL := help
.PHONY: help setup setup-test build demo accept accept-short test lint fmt bench doc clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing on this machine (compiler, Rust, iproute2, iperf3)
	@scripts/setup build

# What the checks need besides: linter and formatter.
setup-test:
	@scripts/setup test

build: setup ## Build the program, optimised: target/release/evenair
	$(CARGO) build --release --locked -p evenair

demo: build ## See it work: ten stations without and then with the box, in two minutes
	@scripts/as-root $(EVENAIR) demo

accept: build ## Measure every promised figure, and print it beside its bound (long)
	@scripts/as-root $(EVENAIR) accept

accept-short: build ## The same in short, for a few of them, as continuous integration does
	@scripts/as-root $(EVENAIR) accept --short

test: setup-test ## Every check: format, lints, tests, core proof, documentation
	@scripts/test

lint: setup-test ## Compiler and linter warnings, as errors; and that the linter's bans bite
	@scripts/lint

fmt: setup-test ## Format the code
	$(CARGO) fmt --all

bench: setup ## How fast the parts are on this machine
	$(CARGO) run --release --locked -p evenair-medium --example saturation
	$(CARGO) run --release --locked -p evenair-sim --example speed

doc: setup ## Build the documentation of the crates: target/doc
	$(CARGO) doc --workspace --no-deps --locked

clean: ## Remove what was built
	rm -rf target
