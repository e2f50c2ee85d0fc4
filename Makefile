# make demo      train an adder and see it calculate
# make test      the quick tests; ISA=SSE4_2, or AVX2, with the kernels of an older processor
# make test-all  the tests marked slow: pages in Chromium, exports, benchmarks, long trainings, and
#                every extra in an environment of its own
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
# make clean     remove the environment

VENV ?= .venv
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PARTS = pyproject.toml constraints.txt

.PHONY: demo test test-all kept lint bench pictures results faults tables clean

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

$(VENV)/bench: $(VENV)/base
	$(PIP) --editable '.[bench]'
	@touch $@
