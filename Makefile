# Two commands do all set-up: `make demo` and `make test`. Everything installs into .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PART ?= kernel
export OMP_NUM_THREADS := 1

.PHONY: demo test slow lint bench docs mutants source-mutants crashes fuzz coq install install-test clean

$(VENV)/.core: setup.cfg pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[labels]'
	@touch $@

$(VENV)/.test: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,lint]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
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

docs: $(VENV)/.docs ## the documentation as a site, in build/site; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

bench: $(VENV)/.test ## VOWELS=JapaneseVowels_TRAIN.ts (UEA archive); torch is timed if installed; takes half an hour
	$(BIN)/python -m tests.bench $(VOWELS)

slow: $(VENV)/.test ## all sweeps: a thousand datasets for each construction, every hostile file
	INTERP_SLOW=1 $(BIN)/python -m pytest -q -m slow

mutants: $(VENV)/.test ## changed witnesses, statements and claims of every construction, with the table
	$(BIN)/python -m tests.mutants.campaign

source-mutants: $(VENV)/.test ## faults planted in trusted source by mutmut: PART=kernel (an hour) or engine
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[mutation]'
	$(BIN)/python -m tests.mutants.source $(PART)

crashes: $(VENV)/.test ## kill -9 at random moments, 100 times
	INTERP_KILLS=100 $(BIN)/python -m pytest -q tests/hostile/test_crashes.py tests/shards/test_crashes.py

fuzz: $(VENV)/.test ## coverage-guided fuzzing of the readers for FUZZ_SECONDS (default 300)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[fuzz]'
	mkdir -p build/corpus
	$(BIN)/python -m tests.hostile.fuzz -max_total_time=$(or $(FUZZ_SECONDS),300) -max_len=400 build/corpus

coq: ## compile the Coq theory into build/coq (apt-get install coq libcoq-bignums)
	sh proofs/coq/build.sh build/coq

clean:
	rm -rf $(VENV) demo-output build dist *.egg-info
