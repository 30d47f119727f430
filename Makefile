# Each target sets up what it needs. Another interpreter: make test PYTHON=python3.12
PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
READY_FOR_DEMO := $(VENV)/ready-for-demo

.PHONY: demo test test-more style types-mypy types-pyright docs test-docs test-deep test-gpu bench fmt clean

demo: $(READY_FOR_DEMO)
	$(BIN)/python examples/demo.py

# No test takes five minutes: one that does hangs, and is shown.
PYTEST := $(BIN)/pytest --timeout 300 --numprocesses 2 --dist loadfile

# Tests start many interpreters: these find each other's bytecode, whatever the environment says.
test test-more: export PYTHONDONTWRITEBYTECODE =

test: $(READY)
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target types-pyright types-mypy style
	$(PYTEST)

# What of the tests does not fit into ten minutes.
test-more: $(READY)
	$(PYTEST) -m "more and not deep"

style: $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/lint-imports

types-mypy: $(READY)
	$(BIN)/mypy

types-pyright: $(READY)
	$(BIN)/pyright

# The documentation site, as files in docs/_build/html.  Warnings are errors.
docs: $(READY)
	rm -rf docs/_build
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/python -m sphinx -W -E --keep-going --nitpicky --quiet --jobs 2 docs docs/_build/html
	$(BIN)/python -m docs.site.offline docs/_build/html

# The site in a browser, Chromium.
test-docs: docs
	$(BIN)/pytest -m site tests/site

# Beside Loo.py: see docs/benchmarks.md.
bench: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[benchmarks]'
	POLYGEN_NO_CACHE=1 $(BIN)/python benchmarks/code_generation.py
	POLYGEN_NO_CACHE=1 $(BIN)/python benchmarks/linearity.py
	POLYGEN_NO_CACHE=1 $(BIN)/python benchmarks/long_recipes.py
	$(BIN)/python benchmarks/call_overhead.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/lanes.py
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/c_loops.py
	OMP_NUM_THREADS=1 $(BIN)/python -m benchmarks.tiles
	$(BIN)/python benchmarks/import_time.py

# Long runs, and those that need more tools.  Of the answers that are kept, one in fifty is found
# again.
test-deep: export POLYGEN_RECOMPUTE = 0.02
test-deep: $(READY)
	POCL_EXTRA_BUILD_FLAGS= $(BIN)/pytest -m "deep and not gpu"
	POCL_EXTRA_BUILD_FLAGS= $(BIN)/pytest --numprocesses 2 --dist loadfile
	$(BIN)/python -m tests.deep.mutate --count 40 --needed 60

# On a machine with an NVIDIA GPU: CUDA and NVIDIA's OpenCL each in a process of its own.
test-gpu: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cuda]' torch
	$(BIN)/pytest -m gpu tests/gpu --ignore=tests/gpu/test_opencl.py
	$(BIN)/pytest -m gpu tests/gpu/test_opencl.py

fmt: $(READY)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean:
	rm -rf $(VENV) build dist docs/_build docs/reference/api docs/*.markdown .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Made last, so that an interrupted installation is done again.
$(READY): pyproject.toml
	$(NEW_VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(READY_FOR_DEMO)

# A part of it, in a fraction of the time: what is never imported is not compiled.
$(READY_FOR_DEMO): pyproject.toml
	$(NEW_VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[demo]'
	@touch $@

define NEW_VENV
@command -v $(PYTHON) >/dev/null || { \
  echo "polygen needs Python 3.11 or later, and there is no '$(PYTHON)' here." \
    "Name one: make PYTHON=/path/to/python3" >&2; exit 1; }
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
  echo "polygen needs Python 3.11 or later; '$(PYTHON)' is $$($(PYTHON) -V)." \
    "Name a newer one: make PYTHON=/path/to/python3" >&2; exit 1; }
@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
  echo "'$(PYTHON)' cannot make virtual environments: its modules venv and ensurepip" \
    "are missing. Debian and Ubuntu have them in a package of their own:" \
    "apt install python3-venv" >&2; exit 1; }
$(PYTHON) -m venv $(VENV)
endef
