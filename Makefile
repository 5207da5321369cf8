# Two commands do everything, set-up included: make demo, make test.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint hunt mutants bench clean

demo: $(VENV)/.demo
	$(BIN)/python -m fairspan demo

# One BLAS thread for each of the workers: more only wait for one another.
test: lint
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

# Attacks proofs for five minutes; not part of the tests.
hunt: $(VENV)/.dev
	$(BIN)/python -m tests.hunt --minutes 5 --workers 2

# Puts a few dozen faults into a copy of the code: each must be caught by a test.
mutants: $(VENV)/.dev
	$(BIN)/python -m tests.mutants

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) dist build

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "fairspan needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[plot]"
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	@touch $@
