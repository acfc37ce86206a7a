# .ci/run runs demo, lint, docs, test and slow. All targets are idempotent and fast the second time.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

.PHONY: demo test slow lint docs pages lowest bench calibrate clean

# A stamp per set of extras: pip runs again only when the project's own files changed.
$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[report]'
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[test]'
	@touch $@ $(VENV)/.core

$(VENV)/.dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.test $(VENV)/.core

demo: $(VENV)/.core  ## the main job on the bundled data: no network, no torch
	$(BIN)/radii demo

test: $(VENV)/.test  ## the whole default suite, doctests included
	$(BIN)/python -m pytest -q

slow: $(VENV)/.test  ## the runs that take minutes: real collections, embedded and audited
	$(BIN)/python -m pytest -q -m slow

lint: $(VENV)/.dev  ## style, types, and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[docs]'
	@touch $@ $(VENV)/.core

docs: $(VENV)/.docs  ## the site, strictly: a broken link or reference fails
	$(BIN)/mkdocs build --strict

pages: $(VENV)/.test  ## run every page's commands and paste what they print; make the generated pages
	$(BIN)/python -m scripts.refresh_pages

lowest:  ## the oldest versions that pyproject.toml allows, in a venv of their own; minutes
	PYTHON=$(PYTHON) scripts/lowest.sh

$(VENV)/.bench: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(PIP) -e '.[bench]'
	@touch $@ $(VENV)/.test $(VENV)/.core

bench: $(VENV)/.bench  ## the performance claims, as ratios; fails when one does not hold
	$(BIN)/python benchmarks/exponent_path.py
	$(BIN)/python benchmarks/simulate.py
	$(BIN)/python benchmarks/audit.py
	$(BIN)/python benchmarks/probe.py
	$(BIN)/python benchmarks/monitor.py
	$(BIN)/python benchmarks/export.py
	$(BIN)/python benchmarks/shards.py
	$(BIN)/python benchmarks/parquet.py

calibrate: $(VENV)/.test  ## how often the evidence is right about planted truths; half an hour on two cores
	$(BIN)/python benchmarks/calibration.py

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache radii-demo site .lowest
