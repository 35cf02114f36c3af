# Two commands do all set-up: `make demo` and `make test`. Everything installs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS := 1

.PHONY: demo test lint bench install install-test clean

$(VENV)/.core: setup.cfg pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,lint]'
	@touch $@

install: $(VENV)/.core
install-test: $(VENV)/.test

demo: $(VENV)/.core ## build, verify and audit a transformer for real data
	PATH="$(CURDIR)/$(BIN):$$PATH" bash docs/demo.sh

test: $(VENV)/.test ## lint, types, import contracts, tests
	$(MAKE) lint
	$(BIN)/python -m pytest -q

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.test ## VOWELS=JapaneseVowels_TRAIN.ts (UEA archive)
	$(BIN)/python -m tests.bench.foundation $(VOWELS)

clean:
	rm -rf $(VENV) demo-output build dist *.egg-info
