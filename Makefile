# Every target makes the environment it needs; the second time nothing is installed.
# Another interpreter has an environment of its own: make PYTHON=python3.13 test

PYTHON ?= python3
VENV   := .venv$(addprefix -,$(filter-out python3 python,$(notdir $(PYTHON))))
BIN    := $(VENV)/bin
BENCH  := .venv-bench
OLDEST := .venv-minimum$(VENV:.venv%=%)

# pytest-xdist processes; one BLAS thread in each, or they would compete for the cores.
JOBS   ?= 2
SINGLE := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
# SCIPY_ARRAY_API: without it scikit-learn skips its checks of other libraries' arrays.
PYTEST := -m pytest -n $(JOBS) --dist loadgroup
TESTING := $(SINGLE) SCIPY_ARRAY_API=1

PIP_INSTALL := -m pip install --quiet --quiet --disable-pip-version-check
# What an installation depends on: dependencies, and the version in its metadata.
SOURCES := pyproject.toml src/sparsebounds/_version.py

.DEFAULT_GOAL := help
.PHONY: help demo develop test test-long test-minimum lint docs bench reproduce clean
.NOTPARALLEL:  # one pip at a time in an environment
.DELETE_ON_ERROR:

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/.base  ## a first look: solves a small problem and proves how good the answer is
	@$(BIN)/sparsebounds demo

develop: $(VENV)/.test $(VENV)/.lint  ## .venv with all that work on the code needs

test: $(VENV)/.test  ## the tests, in two processes
	$(TESTING) $(BIN)/python $(PYTEST)

test-long: $(VENV)/.test  ## the tests with many more random examples
	SPARSEBOUNDS_LONG=1 $(TESTING) $(BIN)/python $(PYTEST)

test-minimum: $(OLDEST)/.test  ## the tests with the oldest versions that pyproject.toml allows
	$(TESTING) $(OLDEST)/bin/python $(PYTEST)

lint: $(VENV)/.lint  ## ruff (rules and format) and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# GALLERY=0 shows the examples of the gallery without running them.
GALLERY ?= 1
docs: $(VENV)/.docs  ## the site, into docs/_build/html; works offline, and a warning is an error
	$(SINGLE) MPLBACKEND=Agg $(BIN)/python -m sphinx -q -W --keep-going -D plot_gallery=$(GALLERY) \
	  -d docs/_build/doctrees docs docs/_build/html
	@$(BIN)/python docs/check_site.py docs/_build/html

bench: $(BENCH)/.bench  ## the benchmarks against other software, in an environment of their own
	$(SINGLE) $(BENCH)/bin/python -m benchmarks.relaxation
	$(SINGLE) $(BENCH)/bin/python -m benchmarks.models
	$(SINGLE) $(BENCH)/bin/python -m benchmarks.paths
	$(SINGLE) $(BENCH)/bin/python -m benchmarks.exact

reproduce: $(VENV)/.plot  ## the paper's experiments, tables and figures, into experiments/
	$(SINGLE) $(BIN)/sparsebounds reproduce all --out experiments

clean:  ## removes all that these targets made, the environments included
	rm -rf .venv .venv-python* .venv-minimum* $(BENCH) docs/_build docs/auto build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call make_venv,directory): an environment, unless a working one is there.
define make_venv
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "sparsebounds needs Python 3.11 or newer, and '$(PYTHON)' is not:" \
	       "name one that is, as in: make PYTHON=python3.12 $(or $(firstword $(MAKECMDGOALS)),test)" >&2; \
	  exit 1; }
	@test -x $(1)/bin/python || { echo "Making $(1) (once) ..."; $(PYTHON) -m venv $(1); }
endef

$(VENV)/.base: $(SOURCES)
	$(call make_venv,$(VENV))
	@echo "Installing sparsebounds into $(VENV) ..."
	@$(BIN)/python $(PIP_INSTALL) --editable .
	@touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.plot $(VENV)/.docs: $(VENV)/.%: $(VENV)/.base
	@echo "Installing what '$*' needs into $(VENV) ..."
	@$(BIN)/python $(PIP_INSTALL) --editable '.[$*]'
	@touch $@

$(OLDEST)/.test: $(SOURCES)
	$(call make_venv,$(OLDEST))
	@echo "Installing the oldest versions that pyproject.toml allows into $(OLDEST) ..."
	@$(OLDEST)/bin/python $(PIP_INSTALL) uv
	@$(OLDEST)/bin/uv pip install --quiet --python $(OLDEST)/bin/python --upgrade \
	  --resolution lowest-direct --editable '.[test]'
	@touch $@

$(BENCH)/.bench: $(SOURCES)
	$(call make_venv,$(BENCH))
	@echo "Installing sparsebounds and its peers into $(BENCH) ..."
	@$(BENCH)/bin/python $(PIP_INSTALL) --editable '.[bench]'
	@$(BENCH)/bin/python $(PIP_INSTALL) --no-deps okridge  # it asks for numpy < 2
	@touch $@
