# Everything a developer or a newcomer runs. `make` alone lists it.
.DEFAULT_GOAL := help
.PHONY: help demo test tmux browser typescript mcp-conformance check format docs suite suite-stub lock-suite bench \
	bench-postgres soak chaos clean

PYTHON ?= python3
BIN := .venv/bin
BACKEND ?= store
# Hundreds of processes start here: each would compile all it loads if none may keep that.
unexport PYTHONDONTWRITEBYTECODE
# Most tests wait for another process, a terminal or a disk, so a few more than there are cores.
PROCESSES ?= 3
# A service elsewhere is restarted by the suite, so by default its tests run one after another.
SUITE_PROCESSES ?= 0
# What `make check` runs, and `make test` with it, once.
CHECKED := tests/test_tidy.py tests/test_docs.py

help:  ## this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: .venv/base  ## a small swarm studies Python's standard library: about half a minute once installed
	$(BIN)/python -m examples.stdlib_swarm

test: check tmux browser typescript  ## everything that must hold, in its short form
	$(BIN)/python -m pytest tests --numprocesses $(PROCESSES) --dist loadfile --no-loadscope-reorder \
		$(addprefix --ignore ,$(CHECKED))
	$(MAKE) --no-print-directory suite SUITE_PROCESSES=$(PROCESSES)
	$(MAKE) --no-print-directory suite SUITE_PROCESSES=$(PROCESSES) BACKEND=http
	$(MAKE) --no-print-directory suite SUITE_PROCESSES=$(PROCESSES) BACKEND=postgres

tmux:
	@command -v tmux > /dev/null || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -qq -y tmux > /dev/null; } \
		|| { echo "the wake tests need tmux: install it (apt-get install tmux, brew install tmux)"; exit 1; }

browser: .venv/dev .venv/axe
	@command -v chromium > /dev/null || { test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -qq -y chromium > /dev/null; } \
		|| { echo "the tests of the pages need chromium: install it (apt-get install chromium, brew install chromium)"; exit 1; }

typescript: .venv/dev .venv/typescript

check: .venv/dev  ## format, lint, types, imports, tidiness
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache > .venv/imports.txt || (cat .venv/imports.txt; exit 1)
	$(BIN)/python -m pytest $(CHECKED)

format: .venv/dev  ## put every file into its form
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --fix --quiet .

docs: .venv/dev  ## write the generated pages anew: states, errors, verbs
	$(BIN)/python -m docs.generate

suite: .venv/dev  ## the conformance suite, on BACKEND=store, http, postgres, http-postgres
	BACKEND=$(BACKEND) $(BIN)/python -m pytest conformance --numprocesses $(SUITE_PROCESSES) --dist loadfile

suite-stub: .venv/dev  ## show that every conformance test fails on an empty backend
	$(BIN)/python -m conformance.stub

lock-suite: .venv/dev  ## record the hashes of the conformance suite, on purpose
	$(BIN)/python -m conformance.lock

mcp-conformance: .venv/dev .venv/mcp  ## the protocol's own suite and the inspector, on /mcp
	$(BIN)/python -m pytest interop/mcp

bench: .venv/dev  ## measure what docs/performance.md claims
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.scale
	$(BIN)/python -m benchmarks.queue
	$(BIN)/python -m benchmarks.http
	$(BIN)/python -m benchmarks.admission
	$(BIN)/python -m benchmarks.blobs
	$(BIN)/python -m benchmarks.store
	$(BIN)/python -m benchmarks.lite
	$(BIN)/python -m benchmarks.recall
	$(BIN)/python -m benchmarks.wake
	$(BIN)/python -m benchmarks.messages .

bench-postgres: .venv/dev .venv/bench  ## measure what docs/guides/postgres.md claims, beside other queues on PostgreSQL
	$(BIN)/python -m benchmarks.postgres

soak: .venv/dev  ## the long form of the racing, dying and power-cut tests
	TESSERA_LONG=1 $(BIN)/python -m pytest tests/model tests/race tests/cases tests/crash tests/powercut tests/messages tests/wake \
		tests/service/test_lifecycle.py tests/service/openapi tests/upkeep/test_deaths.py

chaos: .venv/dev  ## kill and freeze nodes, workers and the database under load, on BACKEND=store or postgres
	TESSERA_LONG=1 TESSERA_CHAOS_SEED=$(or $(SEED),$(shell date +%s)) $(BIN)/python -m pytest tests/chaos -k $(BACKEND) -vv

clean:  ## remove what was installed and made
	rm -rf .venv demo build .pytest_cache .mypy_cache .ruff_cache .hypothesis

.venv/base: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

.venv/axe: Makefile
	@command -v npm > /dev/null || { echo "the tests of the pages need npm, for axe-core: install node"; exit 1; }
	npm install --silent --no-fund --no-audit --prefix $@ axe-core@4.14.1
	touch $@

.venv/typescript: examples/typescript/package.json examples/typescript/package-lock.json
	@command -v npm > /dev/null || { echo "the tests of the TypeScript client need npm: install node 20 or newer"; exit 1; }
	mkdir -p $@ && cp $^ $@
	npm ci --silent --no-fund --no-audit --prefix $@
	touch $@

.venv/mcp: interop/mcp/package.json
	@command -v npm > /dev/null || { echo "the protocol's own suite needs npm: install node"; exit 1; }
	mkdir -p $@ && cp $^ $@
	npm install --silent --no-fund --no-audit --no-package-lock --prefix $@
	touch $@

.venv/bench: .venv/dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	touch $@

.venv/dev: .venv/base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@
