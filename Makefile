# Everything is set up in .venv by the first target that needs it.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
BIN := .venv/bin

.PHONY: setup demo test lint browser test-browser test-presidio test-stories bench bench-100m bench-billion trials clean

setup: .venv/ready

.venv/ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

demo: setup
	rm -rf demo
	$(BIN)/leakscope demo --out demo

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# One torch thread for each of the two test processes, so that they do not fight over the cores.
test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadgroup -m "not slow and not presidio and not stories" --ignore=tests/browser

browser: setup
	$(BIN)/pip install --quiet --editable '.[dev,browser]'

# Needs a system Chromium (Debian: apt-get install chromium).
test-browser: browser
	$(BIN)/pytest -m browser tests/browser

# Apart from the others, since presidio brings spaCy along.
test-presidio: setup
	$(BIN)/pip install --quiet --editable '.[dev,presidio]'
	$(BIN)/pytest -m presidio tests/corpus

# A real model: LEAKSCOPE_STORIES260K names a directory of stories260K in Hugging Face format.
test-stories: setup
	$(BIN)/pytest -m stories tests/auditing/test_stories.py

# Ratios measured in one run, with their bars; benchmarks/results/bench.json has them too.
bench: setup
	$(BIN)/pip install --quiet --editable '.[dev,bench]'
	$(BIN)/python -m benchmarks

bench-100m: setup
	$(BIN)/pip install --quiet --editable '.[dev,bench]'
	$(BIN)/python -m benchmarks hundred

# Under a limit of 4 GB that the system enforces; needs the right to make control groups.
bench-billion: setup
	$(BIN)/pip install --quiet --editable '.[dev,bench]'
	$(BIN)/python -m benchmarks billion

# Odd rows, odd files, kills and flipped bits, counted; trials/results has them as JSON.
trials: setup
	$(BIN)/python -m trials

clean:
	rm -rf .venv demo .mypy_cache .ruff_cache .pytest_cache .hypothesis
