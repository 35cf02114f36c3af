# Two commands do all set-up: `make demo` and `make test`. Everything installs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS := 1

.PHONY: demo test slow lint bench bench-engine mutants crashes fuzz coq install install-test clean

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

bench-engine: $(VENV)/.test ## VOWELS=JapaneseVowels_TRAIN.ts; torch is timed if installed
	$(BIN)/python -m tests.bench.engine $(VOWELS)

slow: $(VENV)/.test ## all sweeps: a thousand datasets for each construction, every hostile file
	INTERP_SLOW=1 $(BIN)/python -m pytest -q -m slow

mutants: $(VENV)/.test ## changed witnesses, statements and claims of every construction, with the table
	$(BIN)/python -m tests.mutants.campaign

crashes: $(VENV)/.test ## kill -9 at random moments, 100 times
	INTERP_KILLS=100 $(BIN)/python -m pytest -q tests/hostile/test_crashes.py

fuzz: $(VENV)/.test ## coverage-guided fuzzing of the readers for FUZZ_SECONDS (default 300)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	mkdir -p build/corpus
	$(BIN)/python -m tests.hostile.fuzz -max_total_time=$(or $(FUZZ_SECONDS),300) -max_len=400 build/corpus

coq: ## compile the Coq theory into build/coq (apt-get install coq libcoq-bignums)
	sh proofs/coq/build.sh build/coq

clean:
	rm -rf $(VENV) demo-output build dist *.egg-info
