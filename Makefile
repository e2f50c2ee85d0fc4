# make demo      train an adder and see it calculate
# make test      the quick tests
# make test-all  the tests marked slow: pages in Chromium, exports, benchmarks, long trainings, and
#                every extra in an environment of its own
# make lint      style and types
# make bench     the benchmarks; writes benchmarks/RESULTS.md
# make pictures  the pictures of README and docs; writes docs/images
# make results   train and certify every program, and the controls; writes docs/results
# make scaling   measure what runs cost on this machine; writes docs/results and docs/scaling.md
# make faults    kill, damage and confuse runs by the thousand; writes docs/results/faults.json
# make clean     remove the environment

VENV ?= .venv
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
PARTS = pyproject.toml constraints.txt

.PHONY: demo test test-all lint bench pictures results scaling faults clean

demo: $(VENV)/base
	$(BIN)/curta demo

test: $(VENV)/dev
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m 'not slow'

test-all: $(VENV)/dev
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal -m slow

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/bench
	$(BIN)/python -m benchmarks

pictures: $(VENV)/dev
	$(BIN)/python docs/pictures.py

results: $(VENV)/base
	$(BIN)/python docs/programs.py
	$(BIN)/python docs/controls.py
	$(BIN)/python docs/adderboard.py

scaling: $(VENV)/dev
	$(BIN)/curta bench --device --out docs/results/scaling.json
	$(BIN)/python -m benchmarks.accelerators
	$(BIN)/python docs/scaling.py

faults: $(VENV)/dev
	$(BIN)/python -m tests.faults

clean:
	rm -rf $(VENV)

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Curta needs Python 3.11 or newer on the path"; exit 2; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/base: $(BIN)/python $(PARTS)
	$(PIP) --editable .
	@touch $@

$(VENV)/dev: $(VENV)/base
	$(PIP) --editable '.[test,lint,data,serve,tensorboard,trackio,wandb,huggingface,trl,onnx,cluster]'
	@touch $@

$(VENV)/bench: $(VENV)/base
	$(PIP) --editable '.[bench]'
	@touch $@
