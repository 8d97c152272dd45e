# What a person or CI asks of this project. `make` alone lists it. The work is done by cargo and by scripts/.

CARGO := scripts/cargo
EVENAIR := target/release/evenair

.DEFAULT_GOAL := help
.PHONY: help setup setup-test page build demo accept accept-short reproduce reproduction validate-ns3 reference dashboard test test-long check flaky lint deny fmt bench bench-page bench-watched field-day soak flent wheel fail-open attacks offload wifi service deb release doc clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what is missing on this machine (compiler, Rust, iproute2, iperf3)
	@scripts/setup build

# What the checks need besides: linter and formatter.
setup-test:
	@scripts/setup test

page: setup ## Build the page of a box, which evenair-web has in it: page/dist
	@scripts/page build

build: page ## Build the programs, optimised: target/release/evenair, evenaird, evenair-lab, evenair-web
	$(CARGO) build --release --locked -p evenair -p evenaird -p evenair-lab -p evenair-web

# Built without link-time optimisation, in target/quick.
demo: page ## See it work in a browser: a room of 802.11ax without and then with the box, in a minute (ARGS=--no-page, --long)
	$(CARGO) build --profile quick --locked -p evenaird -p evenair-lab -p evenair-web
	@scripts/as-root target/quick/evenair-lab demo $(ARGS)

# Each group takes 25 minutes at most. What was measured stays in results/accept, so that a call that was broken off goes on.
accept: build ## Measure every promised figure by groups, tables go to docs/measured (hours; GROUP=lag for one, which the program lists)
	@for group in $(or $(GROUP),$$($(EVENAIR) accept --list-groups)); do \
		scripts/measured "accept-$$group" scripts/as-root $(EVENAIR) accept --group "$$group" --resume results/accept || failed=yes; \
	done; [ -z "$$failed" ]
ifndef GROUP
	$(CARGO) test --release --locked -p evenair-manager --test flows
	@$(MAKE) fail-open attacks reproduce
endif

accept-short: build ## The same in short, for a few of them
	@scripts/as-root $(EVENAIR) accept --short
	@$(EVENAIR) reproduce --short

reproduce: build ## Run the published experiments in the simulator, judge each published figure
	@$(EVENAIR) reproduce

reproduction: build ## The same, and write docs/reproduction.md anew
	@$(EVENAIR) reproduce --write docs/reproduction.md

validate-ns3: setup ## Our simulator beside ns-3 3.44, which is fetched from PyPI (long; ARGS=--short for less)
	@scripts/ns3
	@scripts/measured validate-ns3 $(CARGO) run --release --locked -p evenair-sim --example ns3 -- validate --json target/ns3/validation.json $(ARGS)

dashboard: ## Make the Grafana dashboard (packaging/grafana/evenair.json) of its script
	@scripts/dashboard build

# Each goes to a file beside it first: a program that fails leaves the old one.
reference: setup ## Write the schemas of the API (docs/api) anew, and what is not committed: references of all keys and fields, the schema of scenarios
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

test: setup-test ## Every check: format, lints, tests, core proof, documentation (PARTS="lint virtual wallclock figures": some of them, or all that continuous integration runs)
	@scripts/test $(PARTS)

wheel: setup ## Build the wheel of the Python package: target/wheels (ARGS=--check installs it with each Python that is here, ARGS=--arm64 is for 64-bit ARM)
	@scripts/python wheel $(ARGS)

test-long: setup-test ## The tests that take minutes to hours, one after another, which `make test` leaves out
	@scripts/test-long

check: setup-test ## In a minute or so: format, lints and the quick tests of one crate (CRATES="sim medium" for others than manager)
	@scripts/check $(CRATES)

flaky: setup-test ## The tests in wall-clock time ten times, none repeated: which fail, and how often (ROUNDS=3 for fewer)
	@scripts/flaky $(or $(ROUNDS),10)

lint: setup-test ## Compiler and linter warnings, as errors; and that the linter's bans bite
	@scripts/lint

deny: ## Licences, known vulnerabilities and sources of the dependencies, by cargo-deny (fetches the advisory database)
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --locked check; else \
		echo "cargo-deny is not installed; run: cargo install --locked cargo-deny" >&2; exit 1; fi

fmt: setup-test ## Format the code
	$(CARGO) fmt --all

bench: setup page ## How fast the parts are on this machine, beside ns-3 if `make validate-ns3` or scripts/ns3 got it; tables go to docs/measured
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
	@$(MAKE) bench-page ARGS=

bench-page: setup-test page ## What the page of a box with 200 stations costs three browsers and evenair-web (8 minutes; ARGS="--minutes 30 --early 5" for more)
	$(CARGO) build --release --locked -p evenair-web
	@EVENAIR_WEB=$(CURDIR)/target/release/evenair-web scripts/measured bench-page npm --prefix page run --silent bench -- $(ARGS)

bench-watched: setup page ## What those who watch a box, or attack its page, cost its packet loop (7 minutes)
	$(CARGO) build --release --locked -p evenair-serve --example forwarding -p evenair-web --bin evenair-web
	@scripts/measured bench-watched scripts/as-root target/release/examples/forwarding --watched
	@scripts/measured bench-attacked scripts/as-root target/release/examples/forwarding --attacked --web scripts/web-limited

field-day: setup-test ## Ten minutes in which everything happens to a box that may in a day (SEED=7 for another order)
	EVENAIR_FIELD_DAY=600 EVENAIR_FIELD_SEED=$(or $(SEED),1) scripts/as-root $(CARGO) test -p evenair-serve --test inline a_day_in_the_field -- --nocapture

soak: setup-test ## The same for hours, with memory and open descriptors flat after the first; goes on after an interruption (HOURS=8 for more than one)
	scripts/soak $(or $(HOURS),1)

flent: build ## flent's rrul through the loaded WLAN, without the box and with it, with plots (fetches flent and netperf at first)
	scripts/as-root scripts/flent

fail-open: setup-test ## How long the gap is when the box is killed or hangs, beside its bounds
	@scripts/measured fail-open --lines '^(ok    |MISSED|        the bridge)' scripts/as-root $(CARGO) test -p evenair-serve --test inline --test inline_xdp figures_of_failing_open -- --ignored --nocapture

attacks: setup-test ## What floods and attacks on an inserted box leave to others, beside its bounds; a table goes to docs/measured
	@scripts/measured attacks --lines '^(ok    |MISSED)' scripts/as-root $(CARGO) test -p evenair-serve --test inline figures_of_attacks -- --ignored --nocapture

offload: setup-test ## iperf3 through the box between virtual ports with their default offloads, beside its bounds; a table goes to docs/measured
	@scripts/measured offload --lines '^(ok    |MISSED)' scripts/as-root $(CARGO) test -p evenair-serve --test inline figures_of_default_offloads -- --ignored --nocapture

wifi: setup-test ## The box beside a real Wi-Fi stack, hostapd and stations in a virtual machine (fetches 130 MB at first)
	@scripts/wifi-vm
	$(CARGO) build -p evenaird --locked
	scripts/as-root $(CARGO) test -p evenair --test wifi --locked -- --ignored --nocapture

service: setup-test $(if $(RELEASE),,deb) ## The packages of box and page in a small Debian with systemd, a virtual machine: start, watchdog, first account, upgrade, backup, removal (RELEASE=target/release-0.1.0 for that of a release)
	@scripts/as-root scripts/service-vm
	scripts/as-root $(if $(RELEASE),env EVENAIR_DEB=$(abspath $(RELEASE))) $(CARGO) test -p evenair --test service --locked -- --ignored --nocapture

deb: build ## Build the Debian packages, evenair, evenair-web and evenair-lab: target/debian
	@scripts/deb

release: ## All files of a release, for amd64 and arm64, with checksums and notes: target/release-VERSION (an hour; ARGS='--parts "amd64 static"' for some)
	@scripts/setup release
	@scripts/release $(ARGS)

doc: setup ## Build the documentation of the crates: target/doc
	$(CARGO) doc --workspace --no-deps --locked

clean: ## Remove what was built
	rm -rf target
