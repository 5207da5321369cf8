# Two commands do everything, set-up included: make demo, make test.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test lint coverage dist test-wheel test-oldest engines docs hunt mutants bench clean

# Some tests: make test-wheel TESTS=tests/cli
TESTS ?= tests

# One BLAS thread for each of the workers: more only wait for one another.
pytest = OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(abspath $(1))/python -m pytest -n auto $(TESTS)

demo: $(VENV)/.demo
	$(BIN)/python -m fairspan demo

test: lint engines
	$(call pytest,$(BIN))

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks examples docs
	$(BIN)/ruff format --check src tests benchmarks examples docs
	$(BIN)/mypy

# Lines of src that the tests run, those in other processes included; fails below the share in pyproject.toml.
coverage: $(VENV)/.dev engines
	rm -f .coverage .coverage.*
	$(call pytest,$(BIN)) --cov --cov-report=term-missing:skip-covered

# What is published: a wheel and a source archive, which gives the same wheel.
dist: $(VENV)/.dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m tests.check_dist dist

# The wheel alone in a new environment, no extra installed: tests of the source archive that need none.
test-wheel: dist
	rm -rf build/wheel
	$(BIN)/uv venv --quiet --python $(BIN)/python build/wheel/venv
	$(BIN)/uv pip install --quiet --python build/wheel/venv dist/*.whl --group wheel
	tar --extract --file dist/*.tar.gz --directory build/wheel --strip-components 1
	cd build/wheel && $(call pytest,build/wheel/venv/bin)

# The oldest versions that pyproject.toml allows, of all extras too.
test-oldest: $(VENV)/.dist engines
	rm -rf build/oldest
	$(BIN)/uv venv --quiet --python $(BIN)/python build/oldest
	$(BIN)/uv pip install --quiet --python build/oldest --resolution lowest-direct ".[all]" --group test
	$(call pytest,build/oldest/bin)

# The site, in docs/_build/html; the examples run. Warnings are errors, unknown references too.
docs: $(VENV)/.docs
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -n -b html docs docs/_build/html

# Attacks proofs for five minutes; not part of the tests.
hunt: $(VENV)/.dev
	$(BIN)/python -m tests.hunt --minutes 5 --workers 2

# Puts a few dozen faults into a copy of the code: each must be caught by a test.
mutants: $(VENV)/.dev
	$(BIN)/python -m tests.mutants

# Tests drive the report in Chromium and run Spark on Java: these are installed where possible; otherwise a
# message says that those tests are skipped.
engines:
	@$(call need,chromium chromium-browser google-chrome google-chrome-stable,chromium)
	@$(call need,java,default-jre-headless)

define need
for name in $(1); do command -v $$name > /dev/null && exit 0; done; \
if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
  echo "Installing $(2) for the tests."; \
  { apt-get -qq update && apt-get -qq install --yes --no-install-recommends $(2); } \
    > /dev/null 2>&1 && exit 0; \
fi; \
echo "There is no $(2) here and it could not be installed: tests that need it are skipped."
endef

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) dist build docs/_build docs/auto_examples docs/generated docs/sg_execution_times.rst
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* fairspan-demo*
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "fairspan needs Python 3.11 or newer; say which with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[plot,report]"
	@touch $@

$(VENV)/.dev: pyproject.toml src/fairspan/__init__.py | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group dev
	@touch $@

$(VENV)/.dist: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --group dist
	@touch $@

$(VENV)/.docs: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable ".[all]" --group docs
	@touch $@
