# The newcomer's door. It needs make and Python 3.11 or newer; `make help` lists what it opens.
PYTHON ?= python3
BIN := .venv/bin

# Tests on real parts depend on the machine, too. What failed is run once more, and only when it fails
# again is the change at fault; a test that passes then is flaky, is named, and is a fault to mend.
REAL_PARTS := -m "not deep" tests/e2e tests/integration tests/contract
ONCE_MORE := --last-failed --last-failed-no-failures=none --maxfail=20 -rA

.DEFAULT_GOAL := help
.PHONY: help install demo test deep chaos unit lint format crds docs bench lock install-dev clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: ## Install the privatellm command into .venv
	@$(PYTHON) local/bootstrap.py demo

demo: install ## Start everything, order a private LLM and ask it a question
	@$(BIN)/privatellm up --detach

test: lint unit ## Run every check: lint, types, unit, contract, integration and end-to-end tests
	$(BIN)/python -m pytest $(REAL_PARTS) || { test $$? -eq 1 && \
	  echo "What failed is run once more; what passes now is flaky and has to be mended." && \
	  $(BIN)/python -m pytest $(REAL_PARTS) $(ONCE_MORE); }

deep: install-dev ## Run the proofs that take minutes each: crashes, caches, charts, kcp, alerts
	$(BIN)/python -m pytest -m deep tests/integration tests/contract

chaos: install-dev ## Kill, freeze, cut and starve each part under load; print how it recovers
	$(BIN)/python -m pytest -m chaos tests/chaos
	$(BIN)/python tests/chaos/page.py build/chaos/report.json docs/reference/faults.md

unit: install-dev ## Run the unit tests alone (under 30 s)
	$(BIN)/python -m pytest --numprocesses 2 tests/unit

lint: install-dev ## Check style, types, architecture and dependencies
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry operator authserver sync-agent local

format: install-dev ## Format the code and mend what the linter can mend
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

crds: install-dev ## Generate CRDs, the chart's generated parts and reference pages from the types
	$(BIN)/python -m privatellm_local.packaging
	$(BIN)/python -m privatellm_local.packaging.delivery
	$(BIN)/python -m privatellm_operator.reference docs/reference
	$(BIN)/python -m privatellm_cli.reference docs/reference/cli.md
	$(BIN)/python -m privatellm_sync_agent.chart_files charts/private-llm-sync-agent/files

docs: install-dev ## Build the documentation as a web site in build/site
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/site

bench: install-dev ## Measure all parts against their limits, and LiteLLM beside the edge; about an hour
	$(BIN)/python tests/bench/verify_bench.py --json build/bench/verify.json
	$(BIN)/python tests/bench/revocation_bench.py --json build/bench/revocation.json
	$(BIN)/python tests/bench/tracing_bench.py --json build/bench/tracing.json
	$(BIN)/python tests/bench/reconcile_bench.py --json build/bench/reconcile.json
	$(BIN)/python tests/bench/reconcile_bench.py --instances 1000 --rounds 1 --json build/bench/reconcile-1000.json
	$(BIN)/python tests/bench/sync_bench.py --json build/bench/sync.json
	$(BIN)/python tests/bench/check_memory_bench.py --json build/bench/check-memory.json
	$(BIN)/python tests/bench/edge_bench.py --json build/bench/edge.json
	$(BIN)/python tests/bench/growth_bench.py --json build/bench/growth.json
	$(BIN)/python tests/bench/near_miss_bench.py --json build/bench/near-miss.json; told=$$?; \
	$(BIN)/python tests/bench/page.py docs/reference/measurements.md build/bench && exit $$told

lock: install-dev ## Lock the requirements anew, at most a week old
	$(BIN)/python requirements/lock.py

clean: ## Remove what was built and installed here
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

install-dev:
	@$(PYTHON) local/bootstrap.py dev
