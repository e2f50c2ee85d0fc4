# make demo      train an adder and see it calculate
# make test      the quick tests; ISA=SSE4_2, or AVX2, with the kernels of an older processor
# make test-all  the tests marked slow: pages in Chromium, exports, benchmarks, long trainings, and
#                the wheel and the site in environments of their own
# make kept      writes anew what tests/golden.json and tests/snapshots hold: look at the difference
# make lint      style and types
# make bench     the benchmarks; writes docs/results/benchmarks.json and benchmarks/RESULTS.md
# make pictures  the pictures of README and docs; writes docs/images
# make results   what the tables need and docs/results has not kept yet; goes on where it stopped
# make results-NAME   that of one study, NAME.py in docs: programs, controls, adderboard, phases,
#                exhaustive, scaling, ladder (a day), findings, grokking, price, looped,
#                encoder, spaced, components, announced, sizes, operations (hours each),
#                profiling, better, install;
#                python -m docs.NAME --again measures what is kept, too
# make faults    kill, damage and confuse runs by the thousand; writes docs/results/faults.json
# make tables    all tables of the pages, of docs/results and the source; measures nothing
# make docs      the documentation site; writes build/site
# make dist      a wheel and a source distribution; writes dist
# make clean     remove the environment

VENV ?= .venv
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
DIST ?= dist
SITE ?= build/site
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PARTS = pyproject.toml constraints.txt

.PHONY: demo test test-all kept lint bench pictures results faults tables docs dist clean

demo: $(VENV)/base
	$(BIN)/curta train

test: $(VENV)/test
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m 'not slow'

test-all: $(VENV)/dev
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m slow

kept: $(VENV)/dev
	UPDATE=1 $(BIN)/python -m pytest tests/test_golden.py tests/test_snapshots.py

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/bench
	$(BIN)/python -m benchmarks
	$(BIN)/python -m docs.tables

pictures: $(VENV)/dev
	$(BIN)/python -m docs.pictures

results: $(VENV)/dev
	$(BIN)/python -m docs
	$(BIN)/python -m docs.tables

results-%: $(VENV)/dev
	$(BIN)/python -m docs.$*
	$(BIN)/python -m docs.tables

faults: $(VENV)/dev
	$(BIN)/python -m tests.faults
	$(BIN)/python -m docs.tables

tables: $(VENV)/base
	$(BIN)/python -m docs.tables

docs: $(VENV)/docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env --quiet -c docs . $(SITE)

dist: $(VENV)/dist
	rm -rf $(DIST)
	$(BIN)/python -m build --outdir $(DIST)
	$(BIN)/python -m twine check --strict $(DIST)/*

clean:
	rm -rf $(VENV)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Curta needs Python 3.11 or newer on the path"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/base: $(BIN)/python $(PARTS)
	$(PIP) --editable .
	@touch $@

$(VENV)/test: $(VENV)/base
	$(PIP) --editable '.[test,data,serve]'
	@touch $@

$(VENV)/dev: $(VENV)/base
	$(PIP) --editable '.[test,lint,data,serve,tensorboard,trackio,wandb,huggingface,lens,trl,onnx,cluster]'
	@touch $@

$(VENV)/docs: $(VENV)/base
	$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/dist: $(BIN)/python
	$(PIP) build twine
	@touch $@

$(VENV)/bench: $(VENV)/base
	$(PIP) --editable '.[bench]'
	@touch $@
