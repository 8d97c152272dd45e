# What a person or CI asks of this project. `make` alone lists it. The work is done by cargo and by scripts/.

CARGO := scripts/cargo
EVENAIR := target/release/evenair

.DEFAULT_GOAL := help
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' $(MAKEFILE_LIST))

help: ## This list
	@awk -F ':.*## ' '/^## / { print "\n" substr($$0, 4) } /^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

## Build and see it work

setup: ## Install what is missing on this machine (compiler, Rust, iproute2, iperf3)
	@scripts/setup build

# What the checks need besides: linter and formatter.
setup-test:
	@scripts/setup test

build: page ## Build the programs, optimised: target/release/evenair, evenaird, evenair-lab, evenair-web
	$(CARGO) build --release --locked -p evenair -p evenaird -p evenair-lab -p evenair-web

page: setup ## Build the page of a box, which evenair-web has in it: page/dist
	@scripts/page build

# Built without link-time optimisation, in target/quick.
demo: page ## A room of 802.11ax without and then with the box, in a browser, in a minute (ARGS=--no-page, --long)
	$(CARGO) build --profile quick --locked -p evenaird -p evenair-lab -p evenair-web
	@scripts/as-root target/quick/evenair-lab demo $(ARGS)

doc: setup ## Build the documentation of the crates: target/doc
	$(CARGO) doc --workspace --no-deps --locked

clean: ## Remove what was built
	rm -rf target

## Check

check: setup-test ## In a minute or so: format, lints and quick tests of manager (CRATES="sim medium": of others)
	@scripts/check $(CRATES)

test: setup-test ## Every check (PARTS="lint virtual wallclock figures": some of them, or all that CI runs)
	@scripts/test $(PARTS)

test-long: setup-test ## The tests that take minutes to hours, one after another, which `make test` leaves out
	@scripts/test-long

flaky: setup-test ## The tests in wall-clock time ten times: which fail, and how often (ROUNDS=3: fewer)
	@scripts/flaky $(or $(ROUNDS),10)

fmt: setup-test ## Format the code
	$(CARGO) fmt --all

lint: setup-test ## Compiler and linter warnings, as errors; and that the linter's bans bite
	@scripts/lint

deny: ## Licences, vulnerabilities and sources of the dependencies, by cargo-deny (fetches the advisories)
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --locked check; else \
		echo "cargo-deny is not installed; run: cargo install --locked cargo-deny" >&2; exit 1; fi

service: setup-test $(if $(RELEASE),,deb) ## The packages of box and page in a virtual machine (RELEASE=target/release-0.1.0: those of it)
	@scripts/as-root scripts/service-vm
	scripts/as-root $(if $(RELEASE),env EVENAIR_DEB=$(abspath $(RELEASE))) $(CARGO) test -p evenair --test service --locked -- --ignored --nocapture

## Measure; simulations are `evenair measure`

measure: setup-test ## One thing, without a NAME a list (NAME=fail-open; ARGS=... for its arguments)
	@scripts/measure $(NAME) $(ARGS)

# Each group takes 25 minutes at most. What was measured stays in results/accept, so that a call that was broken off goes on.
accept: build ## Every promised figure by groups, in hours; tables go to docs/measured (GROUP=lag: one group)
	@for group in $(or $(GROUP),$$($(EVENAIR) accept --list-groups)); do \
		scripts/measured "accept-$$group" scripts/as-root $(EVENAIR) accept --group "$$group" --resume results/accept || failed=yes; \
	done; [ -z "$$failed" ]
ifndef GROUP
	$(CARGO) test --release --locked -p evenair-manager --test flows
	@scripts/measure fail-open
	@scripts/measure attacks
	@$(EVENAIR) reproduce
endif

reproduce: build ## The published experiments in the simulator, figure by figure
	@$(EVENAIR) reproduce

bench: setup-test page ## Speed of the parts, beside ns-3 if scripts/ns3 got it; tables go to docs/measured (ARGS=--short)
	@scripts/measured bench-medium $(CARGO) run --release --locked -p evenair-medium --example saturation
	@scripts/measured bench-aggregates $(CARGO) run --release --locked -p evenair-medium --example aggregates
	@scripts/measured bench-ns3 $(CARGO) run --release --locked -p evenair-sim --example ns3 -- bench
	@scripts/measured bench-simulator $(CARGO) run --release --locked -p evenair-sim --example speed
	@scripts/measured bench-scaling $(CARGO) run --release --locked -p evenair-sim --example scaling
	@scripts/measured bench-stations $(CARGO) run --release --locked -p evenair-manager --example stations
	@scripts/measured bench-manager $(CARGO) run --release --locked -p evenair-manager --example stations -- tcp
	$(CARGO) build --release --locked -p evenair-serve --example forwarding -p evenair-web --bin evenair-web
	@scripts/measured bench-box scripts/as-root target/release/examples/forwarding $(ARGS)
	@scripts/python bench
	@scripts/measure bench-page

## Write what is committed, or left to a release

reproduction: build ## docs/reproduction.md, of the published experiments
	@$(EVENAIR) reproduce --write docs/reproduction.md

# Each goes to a file beside it first: a program that fails leaves the old one.
reference: setup ## Schemas of the API (docs/api), and what is not committed: references of keys and fields, schema of scenarios
	@write() { $(CARGO) run --quiet --locked -p "$$1" -- "$$2" "$$3" > "$$4.new" && mv "$$4.new" "$$4"; }; \
	contract() { $(CARGO) run --quiet --locked -p evenair-api --example reference -- "$$1" > "$$2.new" && mv "$$2.new" "$$2"; }; \
		write evenair config reference docs/box-format.md && \
		write evenair status --fields docs/api-format.md && \
		write evenair-lab scenario reference docs/scenario-format.md && \
		write evenair-lab scenario schema scenarios/schema.json && \
		contract status docs/api/status.schema.json && \
		contract history docs/api/history.schema.json && \
		$(CARGO) run --quiet --locked -p evenair-web --example openapi > docs/api/openapi.json.new && \
		mv docs/api/openapi.json.new docs/api/openapi.json

dashboard: ## The Grafana dashboard, packaging/grafana/evenair.json
	@scripts/dashboard build

wheel: setup ## The wheel of the Python package: target/wheels (ARGS=--check: installs it, ARGS=--arm64)
	@scripts/python wheel $(ARGS)

deb: build ## The Debian packages, evenair, evenair-web and evenair-lab: target/debian
	@scripts/deb

release: ## All files of a release, with checksums and notes: target/release-VERSION (ARGS='--parts "amd64 static"': some)
	@scripts/setup release
	@scripts/release $(ARGS)
