# Every target sets up what it needs in .venv and works on a fresh machine
# that has Python >= 3.11, make and a network.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: help demo test check packages bench bench-peers reproduce docs format clean

help:  ## show this list
	@grep -E '^[a-z%-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 18

demo: $(VENV)/.installed  ## a cross-encoder's matrix from a few of its pairs, beside the truth
	$(BIN)/fewpairs demo

# One BLAS thread and no spinning of OpenMP's, else the workers wait for each other. Bytecode
# is kept, whatever the environment says, else every command that a test starts compiles us.
# A worker takes files as a whole while it can: what their tests share is made once.
test: $(VENV)/.installed-test $(VENV)/.browser  ## run the tests
	OPENBLAS_NUM_THREADS=1 OMP_WAIT_POLICY=PASSIVE PYTHONDONTWRITEBYTECODE= \
	$(BIN)/python -m pytest -n 2 --dist worksteal

check: $(VENV)/.installed-check  ## lint, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.installed-test  ## measure speed and memory, as ratios in one run
	$(BIN)/python -m benchmarks

packages:  ## wheel and sdist in empty environments, oldest and newest dependencies
	PYTHON=$(PYTHON) .ci/packages

docs: $(VENV)/.installed-docs  ## build the site into build/site
	$(BIN)/python -m sphinx -W --keep-going -q -c docs/site docs build/site

bench-peers: $(VENV)/.installed-experiments $(VENV)/peers/.installed  ## other libraries on the same tasks, into docs/peers.md and docs/linking.md
	$(BIN)/python -m experiments.peers
	$(BIN)/python -m benchmarks linking

reproduce: $(VENV)/.installed-experiments  ## the paper's tables and figures, into docs/lab/reproduction.md
	$(BIN)/python -m experiments

reproduce-%: $(VENV)/.installed-experiments  ## one of them, such as reproduce-glue
	$(BIN)/python -m experiments $*

format: $(VENV)/.installed-check  ## rewrite the code in the project's format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove everything the other targets made
	rm -rf $(VENV) build .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "fewpairs needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(PIP) install -e .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed constraints.txt
	$(PIP) install -e '.[test,torch,handover]' -c constraints.txt
	@touch $@

# A browser for the tests of the report; without one they are skipped, with a reason.
$(VENV)/.browser: $(VENV)/.installed-test
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null \
	|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	     && apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } \
	|| $(BIN)/playwright install chromium \
	|| echo "no Chromium to be had: the tests of the report will be skipped"
	@touch $@

$(VENV)/.installed-experiments: $(VENV)/.installed constraints.txt
	$(PIP) install -e '.[experiments]' -c constraints.txt
	@touch $@

# Libraries for linking, apart from ours: they need an older pandas.
$(VENV)/peers/.installed: benchmarks/linking/requirements.txt $(BIN)/python
	$(BIN)/python -m venv $(VENV)/peers
	$(VENV)/peers/bin/python -m pip --disable-pip-version-check --quiet install -r $<
	@touch $@

$(VENV)/.installed-%: $(VENV)/.installed
	$(PIP) install -e '.[$*]'
	@touch $@
